import { readdir, readFile } from 'node:fs/promises';

/** A process that a command left behind outside of its group. */
export interface Stray {
  readonly pid: number;
  readonly name: string;
}

/** How often the list is read again while strays vanish, and the wait between, in milliseconds. */
const rounds = 20;
const waitMs = 25;

/**
 * Ends processes that left the process group of a command (`setsid`, daemons), found by a variable of their environment.
 * Linux only; elsewhere there is no list to read and nothing is found.
 * @param pid of the command: what it started has a higher one, so that the older rest of the machine is not looked at
 * @returns those that are still there
 */
export async function endStrays(variable: string, pid: number): Promise<readonly Stray[]> {
  if (process.platform !== 'linux') return [];
  let found: readonly Stray[] = [];
  for (let round = 0; round < rounds; round += 1) {
    found = await findStrays(variable, pid);
    if (found.length === 0) break;
    for (const stray of found) kill(stray.pid);
    await new Promise((resolve) => {
      setTimeout(resolve, waitMs);
    });
  }
  return found;
}

async function findStrays(variable: string, pid: number): Promise<readonly Stray[]> {
  const names = await readdir('/proc').catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  // why: ids start again from the bottom after the highest; then every process is a candidate
  const hasWrapped = pids.every((other) => other <= pid);
  const strays: Stray[] = [];
  for (const candidate of pids) {
    if (candidate === process.pid || (candidate <= pid && !hasWrapped)) continue;
    const environment = await readFile(`/proc/${candidate}/environ`, 'latin1').catch(() => '');
    if (!environment.split('\0').includes(variable)) continue;
    const name = await readFile(`/proc/${candidate}/comm`, 'utf8').catch(() => 'unknown\n');
    strays.push({ pid: candidate, name: name.trimEnd() });
  }
  return strays;
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // gone meanwhile, or of another user: then it is named in the result
  }
}
