// The file a tool thread runs: it connects the thread's own functions to its port and to errors nobody caught.
import { parentPort, workerData } from 'node:worker_threads';
import type { ToolThreadCommand, ToolThreadReport } from '../protocol/thread.ts';
import { createToolLoader } from './tool-module.ts';
import { createToolThread } from './tool-thread.ts';

const port = parentPort;
const { flags } = workerData as { readonly flags: Int32Array };

if (port !== null) {
  const post = (report: ToolThreadReport, transfer: readonly ArrayBuffer[]): void => port.postMessage(report, transfer);
  const thread = createToolThread({ flags, load: createToolLoader(), post });

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

  port.on('message', (command: ToolThreadCommand) => thread.receive(command));
  post({ type: 'ready' }, []);
}
