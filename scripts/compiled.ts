import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..');

/**
 * Compiles the product together with programs around it as a release is compiled: the source loader wraps every function it
 * meets, and gives every thread a compiler of its own.
 * @param name of the folder below `node_modules/.cache`
 * @param project the TypeScript project; it writes there
 * @param copied what the programs find beside themselves, relative to the repository
 * @returns the folder, undefined when it does not compile
 */
export function compileAround(name: string, project: string, copied: readonly string[] = []): string | undefined {
  const built = path.join(root, 'node_modules', '.cache', name);
  rmSync(built, { recursive: true, force: true });
  mkdirSync(built, { recursive: true });
  // why: the product reads its version and prompts beside its folder
  for (const file of ['package.json', ...copied]) cpSync(path.join(root, file), path.join(built, file));
  symlinkSync(path.join(root, 'prompts'), path.join(built, 'prompts'));
  const tsc = path.join(root, 'node_modules', '.bin', 'tsc');
  const { status } = spawnSync(tsc, ['-p', project], { stdio: ['ignore', 2, 2] });
  return status === 0 ? built : undefined;
}
