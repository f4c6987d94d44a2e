import { spawn } from 'node:child_process';

export interface RawPeer {
  request(method: string, params: object): Promise<unknown>;
  close(): Promise<void>;
}

/**
 * JSON lines to a process and back, with ids and nothing else: no limits, no timeouts, no checks. A lone request is written
 * at once, what joins it in the same turn goes out in one write.
 */
export async function openRawPeer(command: readonly [string, ...string[]]): Promise<RawPeer> {
  const [program, ...args] = command;
  // why: a process group of its own, which every plugin must have, is scheduled as a group of its own on Linux; that is the
  // system's price and shall weigh alike
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
  const closed = new Promise<void>((resolve) => child.on('close', () => resolve()));
  const pending = new Map<number, (result: unknown) => void>();
  let lastId = 0;
  let rest = '';
  let waiting = '';

  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const { id, result } = JSON.parse(line) as { readonly id: number; readonly result: unknown };
      const settle = pending.get(id);
      pending.delete(id);
      settle?.(result);
    }
  });

  function write(line: string): void {
    waiting += line;
    if (waiting.length === line.length) queueMicrotask(flush);
  }

  function flush(): void {
    child.stdin.write(waiting);
    waiting = '';
  }

  const peer: RawPeer = {
    request(method, params) {
      return new Promise((resolve) => {
        lastId += 1;
        pending.set(lastId, resolve);
        write(`${JSON.stringify({ jsonrpc: '2.0', id: lastId, method, params })}\n`);
      });
    },
    close() {
      child.stdin.end();
      return closed;
    },
  };
  await peer.request('initialize', {});
  return peer;
}
