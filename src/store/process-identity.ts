import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';

/**
 * A text that tells one process from a later one with the same pid: its start time, on Linux together with the boot it
 * belongs to. Undefined when there is no such process or the system does not say (then only the pid can be judged).
 */
export async function processStartTime(pid: number, platform: NodeJS.Platform): Promise<string | undefined> {
  if (platform === 'linux') return await linuxStartTime(pid);
  if (platform === 'win32') return undefined;
  return await listedStartTime(pid);
}

/** Whether a process with this pid exists, whoever owns it. */
export function isPidAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

async function linuxStartTime(pid: number): Promise<string | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // why: the second field is the program's name and may itself hold blanks and parentheses
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const state = fields[0];
    const ticks = fields[19];
    // a zombie has ended; only its parent has not looked yet
    if (ticks === undefined || state === 'Z' || state === 'X') return undefined;
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
    return `${boot.slice(0, 8)}-${ticks}`;
  } catch {
    // no such process, or no /proc here
    return undefined;
  }
}

function listedStartTime(pid: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile('/bin/ps', ['-o', 'lstart=', '-p', String(pid)], { timeout: 5_000 }, (error, stdout) => {
      const text = stdout.trim().replace(/[^A-Za-z0-9]+/g, '-');
      resolve(error !== null || text === '' ? undefined : text);
    });
  });
}
