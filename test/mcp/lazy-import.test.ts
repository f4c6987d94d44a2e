import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { tempFolder } from './support.ts';

const root = path.join(import.meta.dirname, '..', '..');

/** The modules a fresh process asks for while it runs `code`. */
function modulesOf(code: string): string {
  const folder = tempFolder();
  const log = path.join(folder, 'modules.txt');
  const loader = path.join(folder, 'loader.mjs');
  const main = path.join(folder, 'main.mjs');
  writeFileSync(log, '');
  writeFileSync(
    loader,
    `import { appendFileSync } from 'node:fs';
     export async function resolve(specifier, context, next) {
       const found = await next(specifier, context);
       appendFileSync(${JSON.stringify(log)}, found.url + '\\n');
       return found;
     }`,
  );
  writeFileSync(main, code);
  const register = `import { register } from 'node:module'; register(${JSON.stringify(`file://${loader}`)});`;
  execFileSync(
    process.execPath,
    ['--import', 'tsx', '--import', `data:text/javascript,${encodeURIComponent(register)}`, main],
    { cwd: root, stdio: 'pipe' },
  );
  return readFileSync(log, 'utf8');
}

const host = JSON.stringify(path.join(root, 'src', 'mcp', 'host.ts'));
const clock = JSON.stringify(path.join(root, 'src', 'protocol', 'signal.ts'));
const log = 'const logger = { trace() {}, debug() {}, info() {}, warn() {}, error() {} };';
const create = `
  import { createMcpHost } from ${host};
  import { systemClock } from ${clock};
  ${log}
  const registry = { registerTool: () => ({ replaced: false }), removeTool() {}, registerAgent() {}, registerHooks() {}, registerProvider() {} };
  const host = createMcpHost({ registry, publish() {}, logger, clock: systemClock, version: '0', projectRoot: process.cwd(), trusted: true,
    records: [{ name: 's', command: process.execPath, args: ['-e', ''], tools: { eager: EAGER } }] });
  await host.start();
  await host.ready();
  await host.stop();
`;

test('a host whose servers nobody uses loads neither the SDK nor the process package', () => {
  const modules = modulesOf(create.replace('EAGER', '[]'));

  expect(modules).toContain('/src/mcp/host.ts');
  expect(modules).not.toContain('@modelcontextprotocol');
  expect(modules).not.toContain('/execa/');
});

test('the first use loads the SDK', () => {
  expect(modulesOf(create.replace('EAGER', "['*']"))).toContain('@modelcontextprotocol/client');
});

test('importing the package and running an engine without servers does not load the SDK', () => {
  const index = JSON.stringify(path.join(root, 'src', 'index.ts'));
  const testing = JSON.stringify(path.join(root, 'src', 'testing.ts'));
  const modules = modulesOf(`
    import { createEngine } from ${index};
    import { createScriptedProvider } from ${testing};
    const engine = await createEngine({ bare: true, provider: createScriptedProvider({ script: [{ text: 'done' }] }) });
    await engine.run({ role: 'worker', system_prompt: 'Work.' }, 'go').outcome;
    await engine.close();
  `);

  expect(modules).toContain('/src/engine.ts');
  expect(modules).not.toContain('@modelcontextprotocol');
});
