import type { MessagePort } from 'node:worker_threads';
import { EngineError, messageOf, toWireError } from '../protocol/error.ts';
import { ForgetfulMap } from '../protocol/forgetful-map.ts';
import type { RunChannel, RunLink } from './run-link.ts';
import type { AskAnswer, RunControlMessage, RunNumber, RunReport, ThreadHello, ThreadMessage } from './run-port.ts';

/** The runs that are in threads, and the main thread's end of each thread's port. */
export class RunChannels {
  readonly #links = new ForgetfulMap<RunNumber, RunLink>();
  readonly #channels = new Set<ThreadChannel>();
  #lastNumber = 0;

  nextNumber(): RunNumber {
    this.#lastNumber += 1;
    return this.#lastNumber;
  }

  /** While there are runs, the process waits for what they say. */
  add(link: RunLink): void {
    this.#links.set(link.number, link);
    if (this.#links.size === 1) for (const channel of this.#channels) channel.ref();
  }

  remove(link: RunLink): void {
    this.#links.delete(link.number);
    if (this.#links.size === 0) for (const channel of this.#channels) channel.unref();
  }

  links(): readonly RunLink[] {
    return this.#links.values();
  }

  /** A thread has started. */
  open(hello: ThreadHello): void {
    if (this.has(hello.runThread)) return;
    const channel = new ThreadChannel(hello, this.#links, () => {
      this.#channels.delete(channel);
      for (const link of this.links()) if (link.thread === channel.thread) link.onGone();
    });
    this.#channels.add(channel);
    if (this.#links.size === 0) channel.unref();
  }

  /** Whether a thread has said hello and still lives. */
  has(thread: number): boolean {
    return [...this.#channels].some((channel) => channel.thread === thread);
  }

  /** Nobody says anything any more. */
  close(): void {
    for (const channel of this.#channels) channel.close();
    for (const link of this.links()) link.onGone();
  }
}

/** One port for all runs of a thread: each port costs a run memory, and the event loop a look whenever it wakes. */
class ThreadChannel implements RunChannel {
  readonly thread: number;
  readonly #port: MessagePort;
  #answers: AskAnswer[] = [];

  constructor(
    { runThread, port }: ThreadHello,
    links: Pick<ForgetfulMap<RunNumber, RunLink>, 'get'>,
    onClose: () => void,
  ) {
    this.thread = runThread;
    this.#port = port;
    port.on('message', (report: RunReport) => links.get(report[0])?.receive(this, report));
    port.on('close', onClose);
  }

  ref(): void {
    this.#port.ref();
  }

  unref(): void {
    this.#port.unref();
  }

  send(run: RunNumber, message: RunControlMessage): void {
    this.#post([run, message]);
  }

  answer(answer: AskAnswer): void {
    // why: calls that end in one turn of the loop are answered in one message
    if (this.#answers.length === 0) setImmediate(() => this.#sendAnswers());
    this.#answers.push(answer);
  }

  close(): void {
    this.#port.close();
  }

  #sendAnswers(): void {
    const answers = this.#answers;
    this.#answers = [];
    try {
      this.#post([null, answers]);
    } catch {
      for (const answer of answers) this.#sendAlone(answer); // one of them cannot be cloned
    }
  }

  #sendAlone(answer: AskAnswer): void {
    try {
      this.#post([null, [answer]]);
    } catch (cause) {
      const message = `an answer cannot be sent between threads: ${messageOf(cause)}`;
      const error = new EngineError('invalid_request', message, { code: 'uncloneable', cause });
      this.#post([null, [[answer[0], answer[1], undefined, toWireError(error)]]]);
    }
  }

  #post(message: ThreadMessage): void {
    this.#port.postMessage(message);
  }
}
