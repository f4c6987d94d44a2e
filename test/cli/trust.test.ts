import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { hasTerminals, runInTerminal } from './terminal.ts';
import { useStage } from './stage.ts';

const stage = useStage();

beforeEach(async () => {
  await stage.write('.vibe/config.toml', '[[plugins]]\nname = "todo\\u001b[2J"\ncommand = ["todo"]\n');
});

test('without a terminal a question is refused, and the way to answer it is named', async () => {
  const { code, out, err } = await stage.run(['trust']);

  expect(code).toBe(2);
  expect(out).toBe('This project is not trusted yet. It brings:\n  plugin `todo\\x1b[2J`\n');
  expect(err).toContain('add --yes');
});

test('trust is given, shown, lost with a change, and taken back', async () => {
  const given = await stage.run(['trust', '--yes']);
  const shown = await stage.run(['trust', '--show', '--json']);
  await stage.write('.vibe/mcp.json', '{"mcpServers": {"github": {"command": "x"}}}');
  const changed = await stage.run(['trust', '--show']);
  const revoked = await stage.run(['trust', '--revoke']);

  expect([given.code, shown.code, changed.code, revoked.code]).toEqual([0, 0, 0, 0]);
  expect(JSON.parse(shown.out)).toMatchObject({ root: stage.root, state: 'granted' });
  expect(changed.out).toContain('changed since (.vibe/mcp.json)');
  expect(changed.out).toContain('MCP server `github`');
  expect(revoked.out).toBe('This project is no longer trusted.\n');
});

test.skipIf(!hasTerminals)('on a terminal it asks, and only yes is yes', async () => {
  const refused = await runInTerminal(stage, ['trust'], 'n\n');
  const granted = await runInTerminal(stage, ['trust'], 'y\n');

  expect(refused.code).toBe(1);
  expect(refused.out).toContain('Nothing was changed.');
  expect(granted.code).toBe(0);
  expect(await readFile(path.join(stage.configDir, 'trust.json'), 'utf8')).toContain(stage.root);
});
