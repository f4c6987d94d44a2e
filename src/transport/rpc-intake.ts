import type { Logger } from '../protocol/deps.ts';
import { parseMessage, type RpcErrorObject, type RpcId } from '../protocol/jsonrpc.ts';
import { createLineReader, type LineReader } from '../protocol/lines.ts';
import { createWindowGate } from './flood-gate.ts';

export interface RpcIntakeOptions {
  readonly limits: {
    readonly maxLineBytes: number;
    readonly invalidLinesPerMinute: number;
    readonly ignoredPerMinute: number;
  };
  readonly logger: Logger;
  readonly elapsed: () => number;
  /** False when nothing waits for this answer. */
  onAnswer(id: number, error: RpcErrorObject | undefined, result: unknown): boolean;
  /** An answer whose content is no message. */
  onBrokenAnswer(id: number, detail: string): void;
  /** An answer over the line limit, as far as its beginning shows. */
  onTooLongAnswer(id: number): void;
  onRequest(id: RpcId, method: string): void;
  onNotification(method: string, params: unknown): void;
}

export interface RpcIntake {
  readonly reader: LineReader;
  /** Lines that were no messages, so far. */
  readonly invalidLines: number;
}

/** The receiving half of a connection: bytes to messages, with a bounded log of what is none (plugin-protocol 1, 2, 16). */
export function createRpcIntake(options: RpcIntakeOptions): RpcIntake {
  const { limits, logger, elapsed } = options;
  const reader = createLineReader({ onLine, onBrokenText, onTooLong }, limits.maxLineBytes);
  const invalidGate = createWindowGate(limits.invalidLinesPerMinute, 60_000, elapsed);
  const unmatchedGate = createWindowGate(limits.ignoredPerMinute, 60_000, elapsed);
  let invalidLines = 0;

  function onLine(text: string): void {
    if (text === '') return;
    const message = parseMessage(text);
    switch (message.kind) {
      case 'response':
        onResponse(message.id, message.error, message.error === undefined ? message.result : undefined);
        return;
      case 'notification':
        options.onNotification(message.method, message.params);
        return;
      case 'request':
        options.onRequest(message.id, message.method);
        return;
      case 'invalid':
        if (message.reason === 'no JSON' && isBlank(text)) return;
        logInvalid(message.detail);
        if (message.isAnswer && typeof message.id === 'number') options.onBrokenAnswer(message.id, message.detail);
    }
  }

  function onResponse(id: RpcId | null, error: RpcErrorObject | undefined, result: unknown): void {
    if (typeof id !== 'number') {
      if (unmatchedGate.admit()) logger.warn(`response with unexpected id: ${JSON.stringify(id)}`);
      return;
    }
    if (options.onAnswer(id, error, result)) return;
    if (unmatchedGate.admit()) logger.debug(`late or unknown response ${id}`);
  }

  function onBrokenText(): void {
    logInvalid('not valid UTF-8');
  }

  function onTooLong(head: string): void {
    logInvalid(`line longer than ${limits.maxLineBytes} bytes`);
    const id = answerHead.exec(head)?.[1];
    if (id !== undefined) options.onTooLongAnswer(Number(id));
  }

  function logInvalid(detail: string): void {
    invalidLines += 1;
    if (!invalidGate.admit()) return;
    const suppressed = invalidGate.takeSuppressed();
    const text = `ignoring invalid line from plugin: ${detail}`;
    if (suppressed === 0) logger.warn(text);
    else logger.warn(text, { suppressed });
  }

  return {
    reader,
    get invalidLines() {
      return invalidLines;
    },
  };
}

/** White space only, as text; a byte order mark is none. */
function isBlank(text: string): boolean {
  return text.trim() === '' && !text.includes('\ufeff');
}

/** An answer, judged by the beginning of its line. */
const answerHead =
  /^\s*\{\s*(?:"jsonrpc"\s*:\s*"[^"\\]*"\s*,\s*)?"id"\s*:\s*(\d{1,16})\s*,\s*(?:"jsonrpc"\s*:\s*"[^"\\]*"\s*,\s*)?"(?:result|error)"\s*:/;
