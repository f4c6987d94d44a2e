import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { withLock } from '../../src/store/lock.ts';

const root = path.join(import.meta.dirname, '..', '..');
const cache = path.join(root, 'node_modules', '.cache', 'vibe-bus');
const oneDayMs = 86_400_000;

let built: Promise<string> | undefined;

/**
 * The main file of the compiled command line. Compiled once per state of the sources, whoever asks first: a start from
 * source costs seconds of translation, and these tests start it many times.
 */
export function buildCommandLine(): Promise<string> {
  return (built ??= build());
}

async function build(): Promise<string> {
  const folder = path.join(cache, await digestSources());
  const main = path.join(folder, 'dist', 'cli', 'main.js');
  await withLock(folder, async () => ((await exists(main)) ? undefined : compile(folder)), { waitMs: 120_000 });
  return main;
}

async function compile(folder: string): Promise<void> {
  await removeOld();
  const unfinished = `${folder}.${process.pid}`;
  await mkdir(unfinished, { recursive: true });
  await cp(path.join(root, 'package.json'), path.join(unfinished, 'package.json'));
  for (const name of ['prompts', 'templates']) {
    await cp(path.join(root, name), path.join(unfinished, name), { recursive: true });
  }
  const project = path.join(root, 'tsconfig.build.json');
  const options = ['--outDir', path.join(unfinished, 'dist'), '--sourceMap', 'false', '--declaration', 'false'];
  const tsc = path.join(root, 'node_modules', '.bin', 'tsc');
  // types are checked elsewhere; what counts here is that everything was written
  await promisify(execFile)(process.execPath, [tsc, '-p', project, ...options]).catch(() => {});
  await stat(path.join(unfinished, 'dist', 'cli', 'main.js'));
  await rename(unfinished, folder);
}

async function digestSources(): Promise<string> {
  const digest = createHash('sha256');
  for (const folder of ['src', 'prompts', 'templates']) {
    const entries = await readdir(path.join(root, folder), { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
    for (const file of files.sort()) {
      const { mtimeMs, size } = await stat(file);
      digest.update(`${file} ${mtimeMs} ${size}\n`);
    }
  }
  return digest.digest('hex').slice(0, 16);
}

async function removeOld(): Promise<void> {
  for (const name of await readdir(cache).catch(() => [])) {
    const folder = path.join(cache, name);
    const { mtimeMs } = await stat(folder);
    if (Date.now() - mtimeMs > oneDayMs) await rm(folder, { recursive: true, force: true });
  }
}

async function exists(file: string): Promise<boolean> {
  return await stat(file).then(
    () => true,
    () => false,
  );
}
