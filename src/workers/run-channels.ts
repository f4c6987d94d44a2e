import { expose } from 'comlink';
import type { MessagePort } from 'node:worker_threads';
import type { ToolAnswer } from '../agent/ports.ts';
import { EngineError } from '../protocol/error.ts';
import { ForgetfulMap } from '../protocol/forgetful-map.ts';
import { toEndpoint } from './port-endpoint.ts';
import type { RunChannel, RunLink } from './run-link.ts';
import {
  type CallAnswer,
  isOutsideCalls,
  type RunControlMessage,
  type RunNumber,
  type RunReport,
  type ThreadHello,
  type ThreadMessage,
  type ThreadPort,
} from './run-port.ts';

/** The runs that are in threads, and the main thread's end of each thread's port. */
export class RunChannels {
  readonly #links = new ForgetfulMap<RunNumber, RunLink>();
  readonly #channels = new Set<ThreadChannel>();
  #lastNumber = 0;

  nextNumber(): RunNumber {
    this.#lastNumber += 1;
    return this.#lastNumber;
  }

  add(link: RunLink): void {
    this.#links.set(link.number, link);
  }

  remove(link: RunLink): void {
    this.#links.delete(link.number);
  }

  links(): readonly RunLink[] {
    return this.#links.values();
  }

  /** A thread has started. */
  open(hello: ThreadHello): void {
    const channel = new ThreadChannel(hello, this.#links, () => {
      this.#channels.delete(channel);
      for (const link of this.links()) if (link.thread === channel.thread) link.onGone();
    });
    this.#channels.add(channel);
  }

  close(): void {
    for (const channel of this.#channels) channel.close();
  }
}

/** One port for all runs of a thread: each port costs a run memory, and the event loop a look whenever it wakes. */
class ThreadChannel implements RunChannel {
  readonly thread: number;
  readonly #port: MessagePort;
  #answers: CallAnswer[] = [];

  constructor(
    { thread, port }: ThreadHello,
    links: Pick<ForgetfulMap<RunNumber, RunLink>, 'get'>,
    onClose: () => void,
  ) {
    this.thread = thread;
    this.#port = port;
    port.on('message', (data: unknown) => {
      if (!isOutsideCalls(data)) return;
      const report = data as RunReport;
      links.get(report[0])?.receive(this, report);
    });
    port.on('close', onClose);
    expose(toThreadPort(links), toEndpoint(port));
    port.unref(); // a thread with runs is kept by the pool
  }

  send(run: RunNumber, message: RunControlMessage): void {
    this.#post([run, message]);
  }

  answer(run: RunNumber, call: number, answer: ToolAnswer): void {
    // why: calls that end in one turn of the loop are answered in one message
    if (this.#answers.length === 0) setImmediate(() => this.#sendAnswers());
    this.#answers.push([run, call, answer]);
  }

  close(): void {
    this.#port.close();
  }

  #sendAnswers(): void {
    const answers = this.#answers;
    this.#answers = [];
    this.#post([null, answers]);
  }

  #post(message: ThreadMessage): void {
    this.#port.postMessage(message);
  }
}

function toThreadPort(links: Pick<ForgetfulMap<RunNumber, RunLink>, 'get'>): ThreadPort {
  const linkOf = (run: RunNumber): RunLink => {
    const link = links.get(run);
    if (link === undefined) throw new EngineError('other', 'the run has ended', { code: 'not_found' });
    return link;
  };
  return {
    augmentPrompt: (run, role, task) => linkOf(run).augmentPrompt(role, task),
    checkDocument: (run, document) => linkOf(run).checkDocument(document),
    observeRequest: (run, request) => linkOf(run).observeRequest(request),
  };
}
