import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/**
 * Ends every process this one started, and what those started, at once and without waiting: the last resort of a user who
 * presses Ctrl-C a third time.
 */
export function killDescendants(): void {
  if (process.platform === 'win32') {
    // the tree includes this process, which is about to end anyway
    tryTo(() => execFileSync('taskkill', ['/T', '/F', '/PID', String(process.pid)], { stdio: 'ignore' }));
    return;
  }
  for (const pid of listDescendants()) {
    // a child that leads a group takes along what has lost its parent
    tryTo(() => process.kill(-pid, 'SIGKILL'));
    tryTo(() => process.kill(pid, 'SIGKILL'));
  }
}

/** The pids of everything this process started, directly or not, and that still runs; none on Windows. */
export function listDescendants(): readonly number[] {
  const parents = process.platform === 'linux' ? readProc() : readPs();
  const root = process.pid;
  const found = new Set([root]);
  for (let size = 0; size !== found.size;) {
    size = found.size;
    for (const [pid, parent] of parents) if (found.has(parent)) found.add(pid);
  }
  found.delete(root);
  return [...found];
}

/** Parent by process. */
function readProc(): ReadonlyMap<number, number> {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^[0-9]+$/.test(name)) continue;
    tryTo(() => {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      // a zombie has ended
      if (state !== 'Z') parents.set(Number(name), Number(parent));
    });
  }
  return parents;
}

function readPs(): ReadonlyMap<number, number> {
  const parents = new Map<number, number>();
  if (process.platform === 'win32') return parents;
  tryTo(() => {
    const listing = execFileSync('/bin/ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8', timeout: 2_000 });
    for (const line of listing.split('\n')) {
      const [pid, parent] = line.trim().split(/\s+/).map(Number);
      if (pid !== undefined && parent !== undefined) parents.set(pid, parent);
    }
  });
  return parents;
}

/** A process that ended in the meantime is what was wanted. */
function tryTo(work: () => void): void {
  try {
    work();
  } catch {
    // see above
  }
}
