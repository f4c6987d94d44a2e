import { resumeMessages } from '../agent/transcript.ts';
import type { BusEvent } from '../bus/events.ts';
import { charactersOf } from '../tools/output.ts';
import { type Message, type TextBlock, type ToolResultBlock, type ToolUseBlock } from '../protocol/message.ts';

/**
 * The conversation of a run as its events tell it, for a run whose own transcript was lost with its thread. Texts and calls are
 * whole, calls bear the ids of their events; a result is what its event shows of it. What no event tells is missing: thinking,
 * and what the runner itself said.
 */
export function toSeenTranscript(opening: readonly Message[], message: string, seen: Iterable<BusEvent>): Message[] {
  const transcript = new SeenTranscript(opening, message);
  for (const event of seen) transcript.add(event);
  return transcript.end();
}

class SeenTranscript {
  readonly #opening: readonly Message[];
  readonly #message: string;
  #messages: readonly Message[] = [];
  #hasStarted = false;
  /** The answer of the model, its calls and what came back so far. */
  #answer: (TextBlock | ToolUseBlock)[] = [];
  readonly #results = new Map<string, ToolResultBlock>();
  #open = 0;
  /** Texts that join when the calls have returned. */
  #joining: string[] = [];

  constructor(opening: readonly Message[], message: string) {
    this.#opening = opening;
    this.#message = message;
  }

  add(event: BusEvent): void {
    if (event.type === 'run_followed_up') {
      // what came before is in the opening
      this.#closeTurn();
      this.#hasStarted = false;
    } else if (event.type === 'agent_started') {
      this.#closeTurn();
      this.#start();
    } else if (event.type === 'agent_text') {
      this.#closeTurn();
      this.#answer.push({ type: 'text', text: event.text });
    } else if (event.type === 'tool_called') {
      // a call beside others belongs to their turn, one that comes when all are back to the next
      if (this.#open === 0 && this.#results.size > 0) this.#closeTurn();
      this.#open += 1;
      this.#answer.push({ type: 'tool_use', id: event.call, name: event.tool, input: event.input });
    } else if (event.type === 'tool_returned') {
      this.#open -= 1;
      this.#results.set(event.call, toResult(event));
    } else if (event.type === 'run_steered') {
      this.#joining.push(event.text);
    }
  }

  end(): Message[] {
    this.#closeTurn();
    if (!this.#hasStarted) this.#start();
    return [...this.#messages];
  }

  /** A session after the first one begins with the message too, and with words that no event tells. */
  #start(): void {
    this.#messages = resumeMessages(this.#hasStarted ? this.#messages : this.#opening, this.#message);
    this.#hasStarted = true;
  }

  #closeTurn(): void {
    const calls = this.#answer.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
    if (this.#answer.length > 0) this.#push({ role: 'assistant', content: this.#answer });
    const results = calls.flatMap((id) => this.#results.get(id) ?? []);
    if (results.length > 0) this.#push({ role: 'user', content: results });
    for (const text of this.#joining) this.#messages = resumeMessages(this.#messages, text);
    this.#answer = [];
    this.#results.clear();
    this.#joining = [];
  }

  /** Two answers in a row are one: what stood between them is not known. */
  #push(message: Message): void {
    const last = this.#messages.at(-1);
    this.#messages =
      last?.role === message.role && message.role === 'assistant'
        ? [...this.#messages.slice(0, -1), { role: 'assistant', content: [...last.content, ...message.content] }]
        : [...this.#messages, message];
  }
}

function toResult(event: BusEvent<'tool_returned'>): ToolResultBlock {
  const { call, preview, is_error, output_chars, output_file } = event;
  const isWhole = output_chars <= charactersOf(preview);
  const where = output_file === null ? '' : `; all of it is in ${output_file}`;
  const content = isWhole
    ? preview
    : `${preview}\n[the first characters of ${output_chars}: the rest was lost with the thread of the run${where}]`;
  return { type: 'tool_result', tool_use_id: call, content, is_error };
}
