import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

export type GroupSignal = 'SIGTERM' | 'SIGKILL';

/**
 * Signals every process of a group led by `pid`; on Windows, which has no groups, ends the process tree. A group that is
 * gone (or was never ours) is no error: the only thing wanted is its absence.
 */
export function signalGroup(pid: number, signal: GroupSignal): void {
  if (process.platform === 'win32') {
    endTree(pid);
    return;
  }
  try {
    process.kill(-pid, signal);
  } catch {
    // ESRCH: nothing left. EPERM: only processes that changed their user are left; they cannot be signalled by anyone here.
  }
}

/**
 * Whether a process of the group is still running. One that has ended but was not yet collected by its parent does not
 * count (an init that collects late would hold up every stop). Always false on Windows.
 */
export function isGroupAlive(pid: number): boolean {
  if (process.platform === 'win32') return false;
  try {
    process.kill(-pid, 0);
  } catch {
    return false;
  }
  return existsSync('/proc/self/stat') ? hasRunningMember(pid) : true;
}

/** Synchronous: a few milliseconds on a rare path, against seconds of small reads on a busy thread pool. */
function hasRunningMember(group: number): boolean {
  for (const name of readdirSync('/proc')) {
    if (!/^[0-9]+$/.test(name)) continue;
    const stat = readStat(name);
    // why: the command name stands in parentheses and may itself hold spaces and parentheses
    const [state, , groupId] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (groupId === String(group) && state !== 'Z' && state !== 'X') return true;
  }
  return false;
}

function readStat(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return ''; // it ended meanwhile
  }
}

function endTree(pid: number): void {
  const killer = spawn('taskkill', ['/T', '/F', '/PID', String(pid)], { stdio: 'ignore', windowsHide: true });
  killer.on('error', () => {
    // why: without taskkill the leader is the most that can be ended
    try {
      process.kill(pid);
    } catch {
      // already gone
    }
  });
  killer.unref();
}
