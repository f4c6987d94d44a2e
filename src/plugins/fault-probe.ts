import { messageOf } from '../protocol/error.ts';
import { parseMessage, rpcCodes, type RpcErrorObject, type RpcId, type RpcMessage } from '../protocol/jsonrpc.ts';
import { createLineReader, toLine } from '../protocol/lines.ts';
import { vppMethods } from '../protocol/vpp.ts';
import type { ChildExit } from '../transport/child.ts';
import { formatSeconds } from '../transport/duration.ts';
import type { PipedProgram } from '../transport/memory-child.ts';

/** What a plugin did wrong, in words for its author. */
export class Fault extends Error {
  override readonly name = 'Fault';
}

export interface ProbeAnswer {
  readonly result: unknown;
  readonly error: RpcErrorObject | undefined;
}

/** One process of a plugin under test: sends it anything, and keeps the books on what comes back. */
export interface FaultProbe {
  /** Raw bytes, in as many pieces as are given. @throws Fault when the plugin does not read them */
  write(...pieces: readonly (string | Uint8Array)[]): Promise<void>;
  /** Sends one request as a line of its own; `limitMs` instead of the usual time limit. @throws Fault without an answer */
  ask(method: string, params?: unknown, limitMs?: number): Promise<ProbeAnswer>;
  /** Waits for the answer to a request that `write` sends; `most` answers are allowed. @throws Fault without one */
  expect(id: RpcId, what: string, how?: { readonly most?: number; readonly limitMs?: number }): Promise<ProbeAnswer>;
  /** From now on an answer to this id is neither wanted nor wrong. */
  tolerate(id: RpcId): void;
  /** Errors with `id: null` that may come for lines that are no requests. */
  allowRefusals(count: number): void;
  /** Stops and resumes reading what the plugin writes. */
  pause(): void;
  resume(): void;
  /** The plugin still answers. @throws Fault when it does not, or did something wrong before */
  checkAlive(after: string): Promise<void>;
  /** The plugin ends by itself. @throws Fault when it does not, or did something wrong before */
  checkEnd(after: string): Promise<ChildExit>;
  /** Closes what the plugin writes to. */
  closeOutput(): void;
  endInput(): void;
}

interface Expected {
  readonly what: string;
  left: number;
  settle: (answer: ProbeAnswer | Fault) => void;
}

/** @param timeoutMs for each answer, and for the end */
export function createFaultProbe(child: PipedProgram, timeoutMs: number): FaultProbe {
  const expected = new Map<string, Expected>();
  const limit = `${formatSeconds(timeoutMs)}s`;
  let refusals = 0;
  let lastId = 0;
  let fault: Fault | undefined;
  const reader = createLineReader({
    onLine,
    onBrokenText: () => note('wrote a line to stdout that is not UTF-8'),
    onTooLong: () => note('wrote a line to stdout that is longer than 16 MiB'),
  });

  /** The first fault is the one that is told: later ones often follow from it. Nobody waits any longer then. */
  function note(text: string): void {
    fault ??= new Fault(text);
    for (const { settle } of expected.values()) settle(fault);
  }

  function onLine(text: string): void {
    if (text.trim() === '') return;
    const message = parseMessage(text);
    if (message.kind === 'request') answerOwn(message.id, message.method);
    else if (message.kind === 'response') onResponse(message);
    else if (message.kind === 'invalid') {
      note(`wrote a line to stdout that is no message (${message.detail}): ${shorten(text)}; logs belong on stderr`);
    }
  }

  function answerOwn(id: RpcId, method: string): void {
    const error = { code: rpcCodes.methodNotFound, message: `method not found: ${method}` };
    const outcome = method === vppMethods.ping ? { result: {} } : { error };
    child.stdin.write(`${toLine({ jsonrpc: '2.0', id, ...outcome })}\n`);
  }

  function onResponse(message: Extract<RpcMessage, { kind: 'response' }>): void {
    const { id, error } = message;
    if (id === null) {
      onRefusal(error);
      return;
    }
    const key = toKey(id);
    const entry = expected.get(key);
    if (entry === undefined) {
      note(`sent an answer with the id ${key}, which was not asked; an answer repeats the id with its type`);
      return;
    }
    if (entry.left === 0) {
      note(`answered ${entry.what} twice (id ${key})`);
      return;
    }
    entry.left -= 1;
    entry.settle({ result: error === undefined ? message.result : undefined, error });
  }

  function onRefusal(error: RpcErrorObject | undefined): void {
    refusals -= 1;
    if (error === undefined) note('sent a result with `id: null`; only errors about unreadable lines have no id');
    else if (refusals < 0) {
      note(`answered a line that wants no answer, or that it misread, with the error ${error.code}: ${error.message}`);
    }
  }

  function expect(
    id: RpcId,
    what: string,
    how: { readonly most?: number; readonly limitMs?: number } = {},
  ): Promise<ProbeAnswer> {
    const { most = 1, limitMs = timeoutMs } = how;
    const answer = new Promise<ProbeAnswer>((resolve, reject) => {
      const settle = (answer: ProbeAnswer | Fault): void => {
        clearTimeout(timer);
        if (answer instanceof Fault) reject(fault ?? answer);
        else resolve(answer);
      };
      const late = `did not answer ${what} within ${formatSeconds(limitMs)}s`;
      const timer = setTimeout(() => settle(new Fault(late)), limitMs);
      expected.set(toKey(id), { what, left: most, settle });
    });
    // why: it may fail while its line is still being written, before anybody waits for it
    answer.catch(() => {});
    return answer;
  }

  function ask(method: string, params?: unknown, limitMs = timeoutMs): Promise<ProbeAnswer> {
    lastId += 1;
    const id = `probe-${lastId}`;
    const answer = expect(id, `\`${method}\``, { limitMs });
    const line = toLine(params === undefined ? { jsonrpc: '2.0', id, method } : { jsonrpc: '2.0', id, method, params });
    // why: a plugin that does not read shows in the missing answer, and that is the better message
    write(`${line}\n`).catch(() => {});
    return answer;
  }

  async function write(...pieces: readonly (string | Uint8Array)[]): Promise<void> {
    for (const piece of pieces) {
      await within(
        new Promise<void>((resolve, reject) => {
          child.stdin.write(piece, (error) =>
            error === null || error === undefined
              ? resolve()
              : reject(new Fault(`cannot be written to: ${error.message}`)),
          );
        }),
        () => new Fault(`does not read its stdin: a write was stuck for ${limit}`),
      );
    }
  }

  async function within<T>(work: Promise<T>, toFault: () => Fault): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(toFault()), timeoutMs);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  function describeEnd(exit: ChildExit): string {
    const how = exit.signal === null ? `exit code ${exit.code}` : `signal ${exit.signal}`;
    const last = child.stderrTail().at(-1);
    return last === undefined ? how : `${how}; it last said: ${shorten(last)}`;
  }

  async function checkAlive(after: string): Promise<void> {
    try {
      await ask(vppMethods.ping);
    } catch (error) {
      throw fault ?? new Fault(`after ${after}: ${messageOf(error)}`);
    }
    if (fault !== undefined) throw fault;
  }

  async function checkEnd(after: string): Promise<ChildExit> {
    const exit = await within(child.exited, () => new Fault(`still runs ${limit} after ${after}`));
    if (fault !== undefined) throw fault;
    return exit;
  }

  child.stdout.on('data', reader.push);
  child.stdout.on('error', () => {}); // the exit tells
  child.stdout.once('end', () => reader.end());
  void child.closed.then((exit) => {
    for (const { what, settle } of expected.values()) {
      settle(new Fault(`ended instead of answering ${what} (${describeEnd(exit)})`));
    }
  });

  return {
    write,
    ask,
    expect,
    tolerate: (id) => void expected.set(toKey(id), { what: 'a cancelled request', left: 1, settle: () => {} }),
    allowRefusals: (count) => void (refusals += count),
    pause: () => void child.stdout.pause(),
    resume: () => void child.stdout.resume(),
    checkAlive,
    checkEnd,
    closeOutput: () => void child.stdout.destroy(),
    endInput: () => void child.stdin.end(),
  };
}

/** `3` and `"3"` are two ids. */
function toKey(id: RpcId): string {
  return JSON.stringify(id);
}

function shorten(text: string): string {
  return text.length > 120 ? `${text.slice(0, 120)} …` : text;
}
