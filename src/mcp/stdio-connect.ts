import { type EngineError, isEngineError } from '../protocol/error.ts';
import type { McpExit } from '../protocol/mcp.ts';
import { toChildEnvironment } from '../transport/environment.ts';
import { resolveCommand } from './command.ts';
import type { Connected, ConnectStart, Link } from './connect-deps.ts';
import { connectError } from './errors.ts';
import { findEra, shakeHands } from './handshake.ts';
import type { Negotiated } from './negotiate.ts';
import { confine, type ConfinedCommand, runUnconfined } from './sandbox.ts';
import { openStdioTransport } from './stdio-transport.ts';
import { createMcpTransport } from './transport.ts';

/**
 * Connects to a program: probe and handshake on the same process, unless the probe ended it (mcp-host 4.2).
 * @throws EngineError; no process is left then
 */
export async function connectStdio(start: ConnectStart): Promise<Connected> {
  const { record, deps, secrets } = start;
  const env = toChildEnvironment({ policy: 'minimal', host: deps.env, declared: record.env });
  const command = await resolveCommand(record, deps.folder, env);
  const confined = await confine(record, command, deps);
  try {
    return await connectCommand(start, confined);
  } catch (error) {
    const exit = exitOf(error);
    if (exit === undefined || command === confined.command || deps.sandbox?.failedToStart(exit) !== true) throw error;
    // why: the confinement itself broke before the server ran, so nothing of the server has happened yet
    return await connectCommand(start, runUnconfined(record, command, 'start_failed', deps.logger));
  }

  async function connectCommand(begin: ConnectStart, chosen: ConfinedCommand): Promise<Connected> {
    const remembered = record.protocol === 'auto' && (await deps.eraMemory?.isLegacy(record)) === true;
    let link = await openLink(begin, chosen, secrets);
    try {
      let negotiated: Negotiated = { verdict: { kind: 'legacy' }, restart: false, cause: 'answer' };
      if (record.protocol !== 'legacy' && !remembered) {
        negotiated = await findEra(link, begin, 'stdio');
        if ('restart' in negotiated && negotiated.restart) {
          await link.carrier.stop();
          link = await openLink(begin, chosen, secrets);
        }
      }
      const client = await shakeHands(link, negotiated.verdict, begin);
      if ('cause' in negotiated && negotiated.cause !== 'answer') await deps.eraMemory?.rememberLegacy(record);
      return { client, carrier: link.carrier };
    } catch (error) {
      const exit = await link.carrier.stop();
      throw isEngineError(error) && error.code === 'closed' ? endedEarly(error, exit, chosen) : error;
    }
  }
}

async function openLink(start: ConnectStart, chosen: ConfinedCommand, secrets: readonly string[]): Promise<Link> {
  const { record, timeouts, input, deps } = start;
  const marker = deps.newMarker();
  const inner = await openStdioTransport({
    server: record.name,
    ...chosen.command,
    marker,
    secrets,
    logger: deps.logger,
    clock: deps.clock,
    noiseLimits: deps.noiseLimits,
    onOversized: (id) => transport.dropOversized(id),
  });
  deps.ledger?.add(inner.pid, marker);
  // why: `exited` never rejects
  void inner.exited.then(() => deps.ledger?.remove(inner.pid));
  const transport = createMcpTransport({
    server: record.name,
    kind: 'stdio',
    inner,
    client: deps.identity,
    input,
    clock: deps.clock,
    taskMaxMs: timeouts.task_max_ms,
    closedError: inner.closedError,
  });
  return {
    transport,
    closedError: inner.closedError,
    carrier: {
      kind: 'stdio',
      sandbox: chosen.state,
      pid: inner.pid,
      exited: inner.exited,
      stop: inner.stop,
      stderrTail: inner.stderrTail,
      noise: inner.noise,
    },
  };
}

/** A process that ended while it was being connected: said so, with what it left on stderr. */
function endedEarly(error: EngineError, exit: McpExit, chosen: ConfinedCommand): EngineError {
  const how = exit.signal ?? (exit.exit_code === null ? '' : `exit code ${exit.exit_code}`);
  return connectError(
    'connect_failed',
    `the program ended${how === '' ? '' : ` (${how})`}. The program ended or refused before speaking MCP.${hintFor(chosen)}`,
    { cause: error, data: { exit_code: exit.exit_code, signal: exit.signal, stderr_tail: exit.stderr_tail } },
  );
}

/** A confined program often ends because it does not find a file (mcp-host 13.5). */
function hintFor(chosen: ConfinedCommand): string {
  if (chosen.state !== 'bwrap' && chosen.state !== 'sandbox-exec') return '';
  return ' It runs confined: files it needs belong into sandbox.read or sandbox.write of its record; VIBE_MCP_SANDBOX=0 switches confinement off.';
}

function exitOf(error: unknown): { exit_code: number | null; stderr_tail: readonly string[] } | undefined {
  const data = isEngineError(error) && error.code === 'connect_failed' ? error.data : undefined;
  if (typeof data !== 'object' || data === null || !('stderr_tail' in data) || !('exit_code' in data)) return undefined;
  const { exit_code, stderr_tail } = data;
  return (typeof exit_code === 'number' || exit_code === null) && Array.isArray(stderr_tail)
    ? { exit_code, stderr_tail: stderr_tail.filter((line) => typeof line === 'string') }
    : undefined;
}
