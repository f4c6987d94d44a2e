import { MessageChannel, threadId } from 'node:worker_threads';
import { ForgetfulMap } from '../protocol/forgetful-map.ts';
import { KeptCopies } from './kept-copies.ts';
import type { AskAnswer, RunControlMessage, RunNumber, RunReport, ThreadHello, ThreadMessage } from './run-port.ts';

/** A run of this thread, as messages reach it. */
export interface RunListener {
  receive(message: RunControlMessage): void;
  answer(answer: AskAnswer): void;
}

/** The thread's end of its port. */
export interface ThreadSide {
  readonly copies: KeptCopies;
  /** @throws DataCloneError for a report that cannot be cloned */
  post(report: RunReport): void;
  /** What comes for a run that does not listen is dropped. */
  listen(run: RunNumber, listener: RunListener): void;
  unlisten(run: RunNumber): void;
}

/** @param onOpen sends the other end to the main thread */
export function openThreadSide(onOpen: (hello: ThreadHello) => void): ThreadSide {
  const { port1: port, port2 } = new MessageChannel();
  const listeners = new ForgetfulMap<RunNumber, RunListener>();

  port.on('message', ([run, message]: ThreadMessage) => {
    if (run !== null) listeners.get(run)?.receive(message);
    else for (const answer of message) listeners.get(answer[0])?.answer(answer);
  });
  port.unref(); // the pool's own port keeps the thread
  onOpen({ runThread: threadId, port: port2 });

  return {
    copies: new KeptCopies(),
    post: (report) => port.postMessage(report),
    listen: (run, listener) => listeners.set(run, listener),
    unlisten: (run) => listeners.delete(run),
  };
}
