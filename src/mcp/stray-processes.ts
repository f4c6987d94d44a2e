import { readdir, readFile } from 'node:fs/promises';

/** The variable every process of a server inherits; its value is unique per start (mcp-host 13.1). */
export const markerName = 'VIBE_MCP_RUN';

/** How long the sweep may take, in milliseconds: the stop as a whole has 5 s (PL1). */
const sweepMs = 900;

/**
 * Kills every process that carries the marker in its environment: descendants that left the group of their server. Linux
 * only; elsewhere there is no way to read another process's environment, and nothing is done.
 * @returns how many were killed
 */
export async function killStrays(marker: string, platform: NodeJS.Platform = process.platform): Promise<number> {
  if (platform !== 'linux') return 0;
  const killed = new Set<number>();
  const started = performance.now();
  // why: a process may fork between the reading and the kill, and a killed one takes a moment to go; so until none is left
  for (let waitMs = 1; performance.now() - started < sweepMs; waitMs = Math.min(waitMs * 2, 50)) {
    const found = await findMarked(marker);
    for (const pid of found) if (killQuietly(pid)) killed.add(pid);
    const leaving = await Promise.all([...killed].map((pid) => isRunning(String(pid))));
    if (found.length === 0 && !leaving.includes(true)) break;
    await new Promise((resolve) => {
      setTimeout(resolve, waitMs);
    });
  }
  return killed.size;
}

async function findMarked(marker: string): Promise<readonly number[]> {
  const wanted = Buffer.from(`${markerName}=${marker}\0`);
  const names = await readdir('/proc').catch(() => []);
  const marked = await Promise.all(
    names
      .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
      .map(async (name) => {
        // why: processes of others cannot be read, and any of them may end meanwhile; neither is ours
        const environment = await readFile(`/proc/${name}/environ`).catch(() => Buffer.alloc(0));
        return environment.includes(wanted) && (await isRunning(name)) ? [Number(name)] : [];
      }),
  );
  return marked.flat();
}

/** An ended process that nobody has collected yet is not running. */
async function isRunning(name: string): Promise<boolean> {
  const stat = await readFile(`/proc/${name}/stat`, 'latin1').catch(() => '');
  return stat !== '' && !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
}

function killQuietly(pid: number): boolean {
  try {
    process.kill(pid, 'SIGKILL');
    return true;
  } catch {
    return false; // gone in the meantime
  }
}
