import { readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { formatServerFile, parseServerFile, readServerFile, updateServerFile } from '../../src/mcp/server-file.ts';
import { loadServers } from '../../src/mcp/servers.ts';
import { failureOf, tempFolder } from './support.ts';

const list = '[{"name":"fs","command":"mcp-fs","args":["--root","/w"],"env":{"MCP_LOG_LEVEL":"info"}}]';
const object = '{"mcpServers":{"fs":{"command":"mcp-fs","args":["--root","/w"],"env":{"MCP_LOG_LEVEL":"info"}}}}';

function write(text: string): string {
  const file = path.join(tempFolder(), 'mcp.json');
  writeFileSync(file, text);
  return file;
}

describe('shapes (mcp-host 3.1, 18)', () => {
  test('a list and an object say the same, and each is written back as it was', async () => {
    const records = await Promise.all(
      [list, object].map(async (text) => (await loadServers({ userFile: write(text), trusted: false })).entries),
    );

    expect(records[0]).toEqual(records[1]);
    expect(JSON.parse(formatServerFile(parseServerFile(list, 'f')))).toEqual(JSON.parse(list));
    expect(JSON.parse(formatServerFile(parseServerFile(object, 'f')))).toEqual(JSON.parse(object));
  });

  test.each(['', '  \n', '[]', '{}', '{"mcpServers":{}}', '{"servers":{}}'])('%j holds no server', (text) => {
    expect(parseServerFile(text, 'f').servers).toEqual([]);
  });

  test('the `servers` key works and other top-level members stay', () => {
    const file = parseServerFile('{"inputs":[1],"servers":{"a":{"command":"x"}}}', 'f');

    expect(file.servers).toEqual([{ name: 'a', value: { command: 'x' } }]);
    expect(JSON.parse(formatServerFile(file))).toEqual({ inputs: [1], servers: { a: { command: 'x' } } });
  });

  test.each([
    ['{"mcpServers":{},"servers":{}}', 'both'],
    ['{"other":1}', 'expected a list'],
    ['"text"', 'expected a list'],
    ['{"servers":[]}', 'must be an object'],
  ])('%s is refused', async (text, problem) => {
    const failure = await failureOf(readServerFile(write(text)));

    expect(failure).toMatchObject({ code: 'config_invalid' });
    expect(failure.message).toContain(problem);
  });

  test('comments are an error with line and column, and the text is not repeated', async () => {
    const file = write('{\n  // hush-hush\n  "mcpServers": {}\n}');

    const failure = await failureOf(readServerFile(file));

    expect(failure.message).toBe(`${file}:2:3: this is not valid JSON`);
  });

  test('a missing file holds no server', async () => {
    expect((await readServerFile(path.join(tempFolder(), 'none.json'))).servers).toEqual([]);
  });
});

describe('writing', () => {
  test('keeps unknown fields, the shape, two spaces, a newline, and 0600', async () => {
    const file = write('{"$schema":"x","mcpServers":{"fs":{"command":"old","icon":"disk","args":["a"]}}}');

    await updateServerFile(file, () => [{ name: 'fs', value: { name: 'fs', command: 'new' } }], { mode: 0o600 });

    expect(readFileSync(file, 'utf8')).toBe(
      '{\n  "$schema": "x",\n  "mcpServers": {\n    "fs": {\n      "command": "new",\n      "icon": "disk"\n    }\n  }\n}\n',
    );
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('a list keeps the names inside its records', async () => {
    const file = write(list);

    await updateServerFile(file, (servers) => [...servers, { name: 'web', value: { url: 'https://example.org' } }]);

    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual([
      ...(JSON.parse(list) as unknown[]),
      { name: 'web', url: 'https://example.org' },
    ]);
  });

  test('a file that does not parse is never replaced', async () => {
    const file = write('{ broken');

    await failureOf(updateServerFile(file, () => []));

    expect(readFileSync(file, 'utf8')).toBe('{ broken');
  });

  test('changes at the same time are all there afterwards', async () => {
    const file = path.join(tempFolder(), 'mcp.json');

    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        updateServerFile(file, (servers) => [...servers, { name: `s${index}`, value: { command: 'x' } }]),
      ),
    );

    expect((await readServerFile(file)).servers).toHaveLength(20);
  });
});

describe('both files together (mcp-host 3.3)', () => {
  test('the first record of a name wins, without regard to case; an invalid one hides nothing', async () => {
    const userFile = write('[{"name":"GitHub","command":"a"},{"name":"b"},{"name":"github","command":"twice"}]');
    const projectFile = write(
      '{"mcpServers":{"github":{"command":"c"},"b":{"command":"d"},"off":{"command":"e","disabled":true}}}',
    );

    const { entries } = await loadServers({ userFile, projectFile, trusted: true });

    expect(entries.map(({ name, source, state }) => [name, source, state])).toEqual([
      ['GitHub', 'user', 'ready'],
      ['b', 'user', 'invalid'],
      ['github', 'user', 'invalid'],
      ['github', 'project', 'shadowed'],
      ['b', 'project', 'ready'],
      ['off', 'project', 'disabled'],
    ]);
  });

  test('a project that is not trusted shows its servers and uses none (PD7)', async () => {
    const projectFile = write('{"mcpServers":{"evil":{"command":"rm"}}}');

    const { entries } = await loadServers({ projectFile, trusted: false });

    expect(entries).toEqual([
      { name: 'evil', source: 'project', state: 'needs_trust', problem: "This project's servers are not trusted yet." },
    ]);
  });

  test('a broken file is a problem of its own and the other one still counts', async () => {
    const userFile = write('{ broken');
    const projectFile = write('{"mcpServers":{"fs":{"command":"x"}}}');

    const { entries, problems } = await loadServers({ userFile, projectFile, trusted: true });

    expect(entries.map((entry) => entry.name)).toEqual(['fs']);
    expect(problems).toMatchObject([{ file: userFile }]);
  });

  test('keys such as __proto__ are plain names', async () => {
    const userFile = write('{"mcpServers":{"__proto__":{"command":"x"},"constructor":{"command":"y"}}}');

    const { entries } = await loadServers({ userFile, trusted: false });

    expect(entries.map(({ name, state }) => [name, state])).toEqual([
      ['__proto__', 'invalid'],
      ['constructor', 'ready'],
    ]);
    expect(({} as { command?: string }).command).toBeUndefined();
  });
});
