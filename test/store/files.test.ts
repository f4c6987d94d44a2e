import { chmod, lstat, mkdtemp, readdir, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { writeFileAtomic } from '../../src/store/atomic-file.ts';
import { parseJsonText, readJsonFile, updateJsonFile } from '../../src/store/json-file.ts';
import { findJsonError } from '../../src/store/json-position.ts';

let folder: string;
const numbers = z.record(z.string(), z.number());
const posix = test.skipIf(process.platform === 'win32');

beforeEach(async () => {
  folder = await realpath(await mkdtemp(path.join(tmpdir(), 'store-')));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

posix('a new file is 0600 in a 0700 folder and nothing else is left beside it', async () => {
  const file = path.join(folder, 'deep', 'a.txt');

  await writeFileAtomic(file, 'hello');

  expect(await readFile(file, 'utf8')).toBe('hello');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(path.dirname(file))).mode & 0o777).toBe(0o700);
  expect(await readdir(path.dirname(file))).toEqual(['a.txt']);
});

posix('a replaced file keeps its permission bits unless others are asked for', async () => {
  const file = path.join(folder, 'a.txt');
  await writeFile(file, 'old');
  await chmod(file, 0o640);

  await writeFileAtomic(file, 'kept');
  const kept = (await stat(file)).mode & 0o777;
  await writeFileAtomic(file, 'wide', { mode: 0o644 });

  expect(kept).toBe(0o640);
  expect((await stat(file)).mode & 0o777).toBe(0o644);
});

posix('a symbolic link is refused and what it points to stays as it is', async () => {
  const outside = path.join(folder, 'outside.txt');
  const link = path.join(folder, 'link.txt');
  await writeFile(outside, 'untouched');
  await symlink(outside, link);

  const attempt = writeFileAtomic(link, 'planted');

  await expect(attempt).rejects.toMatchObject({ kind: 'storage' });
  expect(await readFile(outside, 'utf8')).toBe('untouched');
  expect((await lstat(link)).isSymbolicLink()).toBe(true);
});

test('a write that fails leaves no temporary file', async () => {
  const target = path.join(folder, 'taken');
  await writeFileAtomic(path.join(target, 'inner.txt'), 'x');

  await expect(writeFileAtomic(target, 'cannot replace a folder')).rejects.toMatchObject({ kind: 'storage' });

  expect(await readdir(folder)).toEqual(['taken']);
});

test('a missing JSON file reads as undefined', async () => {
  expect(await readJsonFile(path.join(folder, 'none.json'), numbers)).toBeUndefined();
});

test.each([
  ['{"a": 1,}', 1, 9],
  ['{\n  // why\n  "a": 1\n}', 2, 3],
  ['{"a": 1', 1, 8],
  ['abc', 1, 1],
  ['[1, 2] x', 1, 8],
  ['{"a" 1}', 1, 2],
  ['["\n"]', 1, 2],
  ['', 1, 1],
])('the place where %j stops being JSON is found', (text, line, column) => {
  expect(findJsonError(text)).toEqual({ line, column });
  expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
});

test.each(['{}', '[]', ' {"a": [1, -2.5e3, true, null, {"b": "\\u00e9\\n"}], "c": {}} ', '"x"', '0'])(
  '%j is JSON from end to end',
  (text) => {
    expect(findJsonError(text)).toBeUndefined();
  },
);

test('an error names file, line and column and quotes nothing of the file', () => {
  const read = (): unknown => parseJsonText('{"token": "sk-secret-1234567" oops}', '/c/mcp.json', numbers);

  expect(read).toThrow('/c/mcp.json:1:31: this is not valid JSON');
  expect(read).not.toThrow(/sk-secret/);
});

test('hostile nesting is refused by name instead of overflowing the stack', () => {
  const text = '['.repeat(90_000) + ']'.repeat(90_000);

  expect(() => parseJsonText(text, 'deep.json', z.unknown())).toThrow('deep.json: nested deeper than 256 levels');
});

test('an unparsable file is never replaced (DU3)', async () => {
  const file = path.join(folder, 'a.json');
  await writeFile(file, '{"a": 1');

  await expect(updateJsonFile(file, numbers, () => ({ a: 2 }))).rejects.toMatchObject({ kind: 'config' });

  expect(await readFile(file, 'utf8')).toBe('{"a": 1');
});

test('emptying a filled file needs an explicit request (DU3)', async () => {
  const file = path.join(folder, 'a.json');
  await updateJsonFile(file, numbers, () => ({ a: 1 }));

  await expect(updateJsonFile(file, numbers, () => ({}))).rejects.toThrow('refusing to replace a filled file');
  await updateJsonFile(file, numbers, () => ({}), { mayEmpty: true });

  expect(await readFile(file, 'utf8')).toBe('{}\n');
});
