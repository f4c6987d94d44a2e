import { childSignal } from '../protocol/signal.ts';
import { connectClient, type EraVerdict, type McpClient } from './client.ts';
import type { ConnectStart, Link } from './connect-deps.ts';
import { connectError, toSeconds } from './errors.ts';
import { type Negotiated, negotiate } from './negotiate.ts';

/** The era of the server behind a link. @throws EngineError */
export async function findEra(link: Link, start: ConnectStart, via: 'stdio' | 'http'): Promise<Negotiated> {
  const { record, timeouts } = start;
  const { prior } = start.deps;
  await link.transport.start();
  if (prior?.kind === 'modern') return { verdict: prior };
  if (prior?.kind === 'legacy') return { verdict: prior, restart: false, cause: 'answer' };
  using limit = childSignal(start.deps.signal);
  return await negotiate({ record, transport: link.transport, via, probeMs: timeouts.probe_ms, signal: limit.signal });
}

/** The handshake, or the adoption of what the probe found, within the start limit. @throws EngineError */
export async function shakeHands(link: Link, verdict: EraVerdict, start: ConnectStart): Promise<McpClient> {
  const { record, timeouts, input, deps } = start;
  using limit = childSignal(deps.signal, timeouts.start_ms);
  try {
    return await connectClient({
      server: record.name,
      transport: link.transport,
      verdict,
      identity: deps.identity,
      input,
      mirrorsHeaders: link.carrier.kind === 'http' && verdict.kind === 'modern',
      signal: limit.signal,
      closedError: link.closedError,
    });
  } catch (cause) {
    if (!limit.timedOut) throw cause;
    throw connectError('connect_timeout', `no answer within ${toSeconds(timeouts.start_ms)} s.`, { cause });
  }
}
