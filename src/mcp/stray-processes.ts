import { readdir, readFile } from 'node:fs/promises';

/** The variable every process of a server inherits; its value is unique per start (mcp-host 13.1). */
export const markerName = 'VIBE_MCP_RUN';

/**
 * Kills every process that carries the marker in its environment: descendants that left the group of their server. Linux
 * only; elsewhere there is no way to read another process's environment, and nothing is done.
 * @returns how many were killed
 */
export async function killStrays(marker: string, platform: NodeJS.Platform = process.platform): Promise<number> {
  if (platform !== 'linux') return 0;
  let killed = 0;
  // why: a process may fork between the reading and the kill; each pass finds what the last one missed
  for (let pass = 0; pass < 5; pass += 1) {
    const found = await findMarked(marker);
    if (found.length === 0) break;
    killed += found.filter(killQuietly).length;
  }
  return killed;
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
        return environment.includes(wanted) && !(await isZombie(name)) ? [Number(name)] : [];
      }),
  );
  return marked.flat();
}

async function isZombie(name: string): Promise<boolean> {
  const stat = await readFile(`/proc/${name}/stat`, 'latin1').catch(() => '');
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z');
}

function killQuietly(pid: number): boolean {
  try {
    process.kill(pid, 'SIGKILL');
    return true;
  } catch {
    return false; // gone in the meantime
  }
}
