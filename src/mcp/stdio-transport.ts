import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import type { Clock, Logger } from '../protocol/deps.ts';
import { type EngineError, isEngineError, messageOf } from '../protocol/error.ts';
import { parseMessage, type RpcId } from '../protocol/jsonrpc.ts';
import { createLineReader, defaultMaxLineBytes, toJsonText } from '../protocol/lines.ts';
import type { McpExit } from '../protocol/mcp.ts';
import { type Child, openChild } from '../transport/child.ts';
import { createLineWriter, toOutgoing } from '../transport/line-writer.ts';
import { connectError, listError, mcpError } from './errors.ts';
import { createRedactor, toPrintable } from './log-text.ts';
import { createNoiseMeter, type Noise, type NoiseLimits } from './noise-meter.ts';
import { killStrays, markerName } from './stray-processes.ts';
import type { ClassifyingTransport } from './transport.ts';

export interface StdioOptions {
  readonly server: string;
  /** Absolute path, or a bare name for the PATH of `env`. */
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment, without the marker. */
  readonly env: Readonly<Record<string, string>>;
  /** Unique per start. */
  readonly marker: string;
  /** Texts that no log or error may show. */
  readonly secrets: readonly string[];
  readonly logger: Logger;
  readonly clock: Clock;
  readonly noiseLimits?: NoiseLimits | undefined;
  /** Default 16 MiB (FR3). */
  readonly maxLineBytes?: number;
  /** An answer over the line limit; its id where the beginning of the line tells. */
  readonly onOversized?: (id: RpcId | undefined) => void;
}

/** One server process as the SDK's transport. */
export interface StdioTransport extends ClassifyingTransport {
  readonly pid: number;
  /** Its presence tells the SDK that this is a process, not a web server. */
  readonly stderr: undefined;
  /** Settles when the process, its group and what left the group are gone. Never rejects. */
  readonly exited: Promise<McpExit>;
  /** Ends the process: stdin, 2 s, SIGTERM, 2 s, SIGKILL (mcp-host 13.2). A second call joins the first. */
  stop(): Promise<McpExit>;
  /** Why calls fail now that the process is gone. */
  closedError(): EngineError;
  stderrTail(): readonly string[];
  noise(): Noise;
}

const exitGraceMs = 2_000;
const termGraceMs = 2_000;
/** How long answers may still arrive after the exit before everything pending fails, in milliseconds (FR8: within 100). */
const lastAnswersMs = 60;
/** How long a process may live on after it closed its output, in milliseconds: one that ends closes it too. */
const lastBreathMs = 500;
/** Unsent bytes, and the age of the oldest unsent write, at which a peer that stopped reading is given up (PL6). */
const maxQueuedBytes = 64 * 1024 * 1024;
const stallMs = 60_000;

/**
 * Starts a server process in its own group and speaks lines of JSON-RPC with it.
 * @throws EngineError `command_not_found` | `spawn_failed`
 */
export async function openStdioTransport(options: StdioOptions): Promise<StdioTransport> {
  const redact = createRedactor(options.secrets);
  const child = await startChild(options, redact);
  return attach(child, options, redact);
}

async function startChild(options: StdioOptions, redact: (text: string) => string): Promise<Child> {
  try {
    return await openChild({
      program: options.program,
      args: options.args,
      cwd: options.cwd,
      env: { ...options.env, [markerName]: options.marker },
      stderr: { tailLines: 200, tailBytes: 65_536 },
      onStderrLine: (line) =>
        options.logger.debug('mcp.server.stderr', { server_name: options.server, line: toPrintable(redact(line)) }),
    });
  } catch (cause) {
    const reason = messageOf(cause);
    if (reason.includes('ENOENT')) {
      const text = `\`${options.program}\` was not found on the daemon's PATH. Use an absolute path.`;
      throw connectError('command_not_found', text, { cause });
    }
    const text = `${isEngineError(cause) ? reason : 'the program did not start'}. The program ended or refused before speaking MCP.`;
    throw connectError('spawn_failed', text, { cause });
  }
}

function attach(child: Child, options: StdioOptions, redact: (text: string) => string): StdioTransport {
  const { server, logger, clock } = options;
  let failure: EngineError | undefined;
  let isStopping = false;
  let stopping: Promise<McpExit> | undefined;
  const noise = createNoiseMeter({
    server,
    logger,
    clock,
    redact,
    limits: options.noiseLimits,
    onFlood: () => giveUp(listError('not_mcp', 'output is not MCP')),
  });
  const reader = createLineReader(
    { onLine: receiveLine, onBrokenText: () => noise.add('(not UTF-8)', 0), onTooLong: receiveTooLong },
    options.maxLineBytes ?? defaultMaxLineBytes,
  );
  const writer = createLineWriter({
    stream: child.stdin,
    maxQueuedBytes,
    stallMs,
    elapsed: clock.elapsed,
    onFailure: () => giveUp(mcpError('closed', 'connection ended: the server stopped reading')),
  });
  child.stdout.on('data', (chunk: Buffer) => reader.push(chunk));
  child.stdout.on('end', () => {
    reader.end();
    void endMute();
  });
  // why: a read error is the end of the output; the exit tells the rest
  child.stdout.on('error', () => {});

  const transport: StdioTransport = {
    pid: child.pid,
    stderr: undefined,
    onclassified: undefined,
    exited: watchExit(),
    start: async () => {},
    send,
    stop,
    close: async () => {
      await stop();
    },
    closedError,
    stderrTail,
    noise: noise.read,
  };
  return transport;

  async function send(message: JSONRPCMessage): Promise<void> {
    if (child.exit !== undefined || isStopping || failure !== undefined) throw closedError();
    writer.write(toOutgoing(toJsonText(message)));
  }

  function receiveLine(line: string): void {
    const text = line.endsWith('\r') ? line.slice(0, -1) : line;
    if (text.trim() === '') return;
    const message = parseMessage(text);
    if (message.kind === 'invalid' && message.id === undefined) {
      noise.add(text, Buffer.byteLength(text));
      return;
    }
    noise.valid();
    transport.onclassified?.(message);
  }

  function receiveTooLong(head: string): void {
    noise.add(head, Buffer.byteLength(head));
    options.onOversized?.(idIn(head));
  }

  /** A server that closed its output can answer nothing any more, also when its process goes on. */
  async function endMute(): Promise<void> {
    await settlesWithin(child.exited, lastBreathMs);
    if (child.exit === undefined && !isStopping)
      giveUp(mcpError('closed', 'connection ended: the server closed its output'));
  }

  function giveUp(error: EngineError): void {
    failure ??= error;
    child.kill();
  }

  async function stop(): Promise<McpExit> {
    isStopping = true;
    stopping ??= (async () => {
      await writer.finish(exitGraceMs);
      await child.stop({ exitGraceMs, termGraceMs });
      return await transport.exited;
    })();
    return await stopping;
  }

  async function watchExit(): Promise<McpExit> {
    const exit = await child.exited;
    await settlesWithin(outputEnd(child), lastAnswersMs);
    writer.dispose();
    transport.onclose?.();
    await child.closed;
    noise.report();
    return {
      exit_code: exit.code,
      signal: exit.signal,
      strays_killed: await killStrays(options.marker),
      stderr_tail: stderrTail(),
      expected: isStopping,
    };
  }

  function stderrTail(): readonly string[] {
    return shortTail(child.stderrTail()).map((line) => toPrintable(redact(line)));
  }

  function closedError(): EngineError {
    if (failure !== undefined) return failure;
    const exit = child.exit;
    const how = exit === undefined ? '' : exit.signal === null ? ` (exit code ${exit.code})` : ` (${exit.signal})`;
    return mcpError('closed', `connection ended${how}`, {
      data: { exit_code: exit?.code ?? null, signal: exit?.signal ?? null, stderr_tail: stderrTail() },
    });
  }
}

/** The last 6 non-empty lines of the last 8 KiB (mcp-host 4.7). */
function shortTail(lines: readonly string[]): readonly string[] {
  const kept: string[] = [];
  let bytes = 0;
  for (const line of lines.toReversed()) {
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > 8_192 || kept.length === 6) break;
    if (line.trim() !== '') kept.unshift(line);
  }
  return kept;
}

/** The id in the beginning of a line, when it stands there. */
function idIn(head: string): RpcId | undefined {
  const match = /"id"\s*:\s*(?:(\d{1,15})|"([^"\\]{1,64})")\s*[,}]/.exec(head);
  if (match === null) return undefined;
  return match[1] === undefined ? match[2] : Number(match[1]);
}

function outputEnd(child: Child): Promise<void> {
  if (child.stdout.readableEnded || child.stdout.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    child.stdout.once('close', () => resolve());
    child.stdout.once('end', () => resolve());
  });
}

async function settlesWithin(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([
    work,
    new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    }),
  ]);
  clearTimeout(timer);
}
