import type { Clock, Logger } from '../protocol/deps.ts';
import { type EngineError, toEngineError } from '../protocol/error.ts';
import { isJsonObject, ownValue } from '../protocol/json.ts';
import type { McpServerRecord, McpSource, McpTestResult } from '../protocol/mcp.ts';
import { childSignal, untilAborted } from '../protocol/signal.ts';
import { announcement } from '../transport/sandbox.ts';
import type { McpConnection } from './connection.ts';
import { connectError, toSeconds } from './errors.ts';
import { createGate } from './gate.ts';
import { requireServerRecord } from './record.ts';

/** Limit of one test in all, and of tests at the same time (mcp-host section 11). */
const maxTestMs = 45_000;
const maxTests = 4;

export interface ServerTester {
  /** Tries a record that need not be saved. Never rejects; no process of the server is left when it settles. */
  test(record: unknown, source: McpSource): Promise<McpTestResult>;
  /** Ends the tests that are running. */
  stop(): Promise<void>;
}

export interface ServerTesterOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** A fresh connection: no running one is touched, nothing is remembered. */
  readonly open: (record: McpServerRecord, source: McpSource, signal: AbortSignal) => Promise<McpConnection>;
}

export function createServerTester(options: ServerTesterOptions): ServerTester {
  const { clock, logger } = options;
  const gate = createGate<symbol>(maxTests);
  const end = childSignal(undefined);
  const running = new Set<Promise<McpTestResult>>();

  async function run(raw: unknown, source: McpSource): Promise<McpTestResult> {
    const key = Symbol('test');
    await gate.enter(key);
    const started = clock.elapsed();
    const elapsed = (): number => Math.round(clock.elapsed() - started);
    const given = isJsonObject(raw) ? ownValue(raw, 'name') : undefined;
    const server_name = typeof given === 'string' ? given.slice(0, 64) : '';
    logger.info('mcp.server.test.start', { server_name });
    try {
      const result = await testWithin(raw, source, elapsed);
      if (result.ok) {
        logger.info('mcp.server.test.ok', {
          server_name,
          tool_count: result.tools.length,
          elapsed_ms: result.elapsed_ms,
        });
      } else {
        logger.warn('mcp.server.test.failed', { server_name, elapsed_ms: result.elapsed_ms, error_code: result.code });
      }
      return result;
    } finally {
      gate.leave(key);
    }
  }

  async function testWithin(raw: unknown, source: McpSource, elapsed: () => number): Promise<McpTestResult> {
    using limit = childSignal(end.signal, maxTestMs);
    let connection: McpConnection | undefined;
    let stage: 'connect' | 'list_tools' = 'connect';
    try {
      const opened = await options.open(requireServerRecord(raw), source, limit.signal);
      connection = opened;
      stage = 'list_tools';
      const list = await untilAborted(opened.listTools({ refresh: true }), limit.signal);
      return {
        ok: true,
        era: opened.era,
        protocol_version: opened.protocol_version,
        server: opened.server,
        tools: list.tools.map(({ definition }) => ({
          name: definition.name,
          description: definition.description ?? '',
        })),
        rejected: list.rejected.length,
        sandbox: opened.sandbox,
        elapsed_ms: elapsed(),
      };
    } catch (error) {
      const cause = limit.timedOut
        ? connectError('connect_timeout', `no answer within ${toSeconds(maxTestMs)} s.`, { cause: error })
        : toEngineError(error, 'plugin');
      return toFailure(stage, cause, connection, elapsed());
    } finally {
      await connection?.stop();
    }
  }

  return {
    async test(record, source) {
      const work = run(record, source);
      running.add(work);
      try {
        return await work;
      } finally {
        running.delete(work);
      }
    },
    async stop() {
      end.abort(connectError('closed', 'the engine is closing.'));
      await Promise.allSettled(running);
    },
  };
}

const prefixes = { connect: 'Connect failed: ', list_tools: 'list_tools failed: ' } as const;

function toFailure(
  reached: 'connect' | 'list_tools',
  error: EngineError,
  connection: McpConnection | undefined,
  elapsed_ms: number,
): McpTestResult {
  // why: an invalid handshake is told as a failed listing (mcp-host section 15), wherever it was noticed
  const stage = error.message.startsWith(prefixes.list_tools) ? 'list_tools' : reached;
  const text = error.message.startsWith(prefixes.connect)
    ? error.message.slice(prefixes.connect.length)
    : error.message;
  const message = error.message.startsWith(prefixes[stage]) ? error.message : `${prefixes[stage]}${text}`;
  return {
    ok: false,
    stage,
    code: error.code,
    message,
    // why: not a word of the server's
    stderr_tail: (connection?.stderrTail() ?? tailOf(error)).filter((line) => line !== announcement),
    elapsed_ms,
  };
}

function tailOf(error: EngineError): readonly string[] {
  const tail = isJsonObject(error.data) ? ownValue(error.data, 'stderr_tail') : undefined;
  return Array.isArray(tail) ? tail.filter((line) => typeof line === 'string') : [];
}
