import { type Remote, wrap } from 'comlink';
import { MessageChannel, threadId } from 'node:worker_threads';
import type { ToolAnswer } from '../agent/ports.ts';
import { ForgetfulMap } from '../protocol/forgetful-map.ts';
import { toEndpoint } from './port-endpoint.ts';
import {
  isOutsideCalls,
  type RunControlMessage,
  type RunNumber,
  type RunReport,
  type ThreadHello,
  type ThreadMessage,
  type ThreadPort,
} from './run-port.ts';
import { KeptCopies } from './kept-copies.ts';

/** A run of this thread, as messages reach it. */
export interface RunEar {
  receive(message: RunControlMessage): void;
  answer(call: number, answer: ToolAnswer): void;
}

/** The thread's end of its port. */
export interface ThreadSide {
  readonly copies: KeptCopies;
  readonly remote: Remote<ThreadPort>;
  post(report: RunReport): void;
  /** What comes for a run that does not listen is dropped. */
  listen(run: RunNumber, ear: RunEar): void;
  unlisten(run: RunNumber): void;
}

/** @param greet sends the other end to the main thread */
export function openThreadSide(greet: (hello: ThreadHello) => void): ThreadSide {
  const { port1: port, port2 } = new MessageChannel();
  const ears = new ForgetfulMap<RunNumber, RunEar>();

  port.on('message', (data: unknown) => {
    if (!isOutsideCalls(data)) return;
    const [run, message] = data as ThreadMessage;
    if (run !== null) ears.get(run)?.receive(message);
    else for (const [asker, call, answer] of message) ears.get(asker)?.answer(call, answer);
  });
  const remote = wrap<ThreadPort>(toEndpoint(port));
  port.unref(); // the pool's own port keeps the thread
  greet({ thread: threadId, port: port2 });

  return {
    copies: new KeptCopies(),
    remote,
    post: (report) => port.postMessage(report),
    listen: (run, ear) => ears.set(run, ear),
    unlisten: (run) => ears.delete(run),
  };
}
