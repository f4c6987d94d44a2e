// The file a tool thread runs: it connects the thread's own functions to its port and to errors nobody caught.
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { type ToolThreadCommand, toolThreadFlags, type ToolThreadReport } from '../protocol/thread.ts';
import { createToolLoader } from './tool-module.ts';
import { createToolThread } from './tool-thread.ts';

const { flags } = workerData as { readonly flags: Int32Array };

if (parentPort !== null) serve(parentPort);

/** Calls taken without a turn of the event loop in between. */
const maxInRow = 64;

function serve(port: MessagePort): void {
  const post = (report: ToolThreadReport, transfer: readonly ArrayBuffer[]): void => port.postMessage(report, transfer);
  const thread = createToolThread({ flags, load: createToolLoader(), post, onIdle: waitBriefly });

  // why: by default an error left behind by a call that is over would end the thread, and the call that runs there now
  process.on('uncaughtException', (error) => thread.onUncaught(error));
  process.on('unhandledRejection', (error) => thread.onUncaught(error));

  const exit = process.exit.bind(process);
  process.exit = (code) => {
    if (thread.isLate()) throw new Error('process.exit was called by a tool call that is over');
    return exit(code);
  };

  // why: a thread's console ends up in the host's own output, which belongs to the embedding program
  for (const stream of [process.stdout, process.stderr]) {
    stream.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
      thread.onOutput(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8'));
      const done = rest.at(-1);
      if (typeof done === 'function') done();
      return true;
    };
  }

  let inRow = 0;
  /** What came in while the event loop is about to turn; the pool sends no second call before the first has ended. */
  let held: ToolThreadCommand[] | undefined;

  function takeNext(): boolean {
    const next = receiveMessageOnPort(port);
    if (next !== undefined) thread.receive(next.message);
    return next !== undefined;
  }

  // why: calls of one step follow each other at once, and waking a thread's event loop costs more than such a call. But
  // timers and sockets that calls of this thread left open stand still meanwhile, so it waits a millisecond at most, and
  // lets the event loop turn every so many calls
  function waitBriefly(): void {
    inRow += 1;
    if (inRow < maxInRow) {
      const seen = Atomics.load(flags, toolThreadFlags.posted);
      if (takeNext()) return;
      Atomics.wait(flags, toolThreadFlags.posted, seen, 1);
      if (takeNext()) return;
    }
    // why: not by returning alone, after which the port goes on with a message that has come meanwhile
    held = [];
    setImmediate(takeHeld);
  }

  function takeHeld(): void {
    const commands = held ?? [];
    held = undefined;
    inRow = 0;
    for (const command of commands) thread.receive(command);
  }

  port.on('message', (command: ToolThreadCommand) => {
    if (held === undefined) thread.receive(command);
    else held.push(command);
  });
  post({ type: 'ready' }, []);
}
