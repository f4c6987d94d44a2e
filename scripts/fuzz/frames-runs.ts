import { PassThrough } from 'node:stream';
import { silentLogger } from '../../src/protocol/deps.ts';
import { createRpcPeer } from '../../src/transport/rpc-peer.ts';
import { serveRpc } from '../../src/transport/rpc-server.ts';
import { createRandom, type Random, randomText } from './random.ts';

export interface FrameFuzzReport {
  /** Calls made; each must get its own answer. */
  readonly calls: number;
  /** Frames between them that are damaged, half of them towards each side. */
  readonly frames: number;
  readonly violations: readonly string[];
}

const maxLineBytes = 4_096;
const limitMs = 20_000;

/**
 * F1 (reliability section 14): between the valid frames of a conversation, in both directions, come flipped, cut, doubled,
 * overlong, deeply nested and undecodable ones, in chunks of any size. Every call must get its own answer and no other.
 */
export async function fuzzFrames(options: { count: number; seed: number }): Promise<FrameFuzzReport> {
  const random = createRandom(options.seed);
  const violations: string[] = [];
  const toServer = new PassThrough({ highWaterMark: 1 << 24 });
  const toPeer = new PassThrough({ highWaterMark: 1 << 24 });
  const fromServer = new PassThrough({ highWaterMark: 1 << 24 });
  const fromPeer = new PassThrough({ highWaterMark: 1 << 24 });
  let frames = 0;

  const server = serveRpc({
    input: toServer,
    output: fromServer,
    drainMs: 1_000,
    lastMethod: 'shutdown',
    maxLineBytes,
    handle: (method, params) => (method === 'echo' ? params : Promise.reject(new Error('unknown'))),
  });
  const peer = createRpcPeer<never>({
    name: 'fuzz',
    input: fromPeer,
    output: toPeer,
    limits: {
      maxLineBytes,
      maxQueuedBytes: 64 * 1024 * 1024,
      stallMs: 60_000,
      maxQueuedAnswers: 64,
      invalidLinesPerMinute: 20,
      ignoredPerMinute: 20,
    },
    logger: silentLogger,
    elapsed: () => performance.now(),
    sendsCancellations: false,
    onNotification: () => {},
    onDisconnect: (reason) => violations.push(`disconnected: ${reason}`),
  });

  /** Passes whole lines on, with bad frames between them, in random chunks. */
  function meddle(from: PassThrough, to: PassThrough): void {
    let rest = '';
    from.setEncoding('utf8');
    from.on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      const parts: Buffer[] = [];
      for (const line of lines) {
        if (frames < options.count) {
          parts.push(badFrame(random));
          frames += 1;
        }
        parts.push(Buffer.from(`${line}\n`));
      }
      writeInPieces(Buffer.concat(parts), to, random);
    });
  }
  meddle(fromPeer, toServer);
  meddle(fromServer, toPeer);

  let calls = 0;
  while (frames < options.count) {
    const batch = Array.from({ length: 64 }, async () => {
      calls += 1;
      const payload = { call: calls, text: randomText(random, 40) };
      const read = (result: unknown): string => JSON.stringify(result);
      const answer = await peer.request('echo', payload, { timeoutMs: limitMs, read });
      if (answer !== JSON.stringify(payload)) violations.push(`call ${payload.call} got ${answer.slice(0, 200)}`);
    });
    for (const outcome of await Promise.allSettled(batch)) {
      if (outcome.status === 'rejected') violations.push(String(outcome.reason));
    }
    if (violations.length > 20) break;
  }
  await peer.endInput(1_000);
  toServer.end();
  await server.ended.catch((error: unknown) => violations.push(String(error)));
  peer.dispose();
  return { calls, frames, violations };
}

// No id of a bad frame can become the id of a call, whatever is flipped: sixteen digits, and no call has more than seven.
const foreign = '{"jsonrpc":"2.0","id":4111111111111111,"result":{"call":1,"text":"é你🚀"}}';

function badFrame(random: Random): Buffer {
  const at = (length: number): number => Math.floor(random() * length);
  const bytes = Buffer.from(foreign);
  switch (at(9)) {
    case 0: // a flipped bit; a newline may come of it, which cuts the frame in two
      bytes[at(bytes.length)]! ^= 1 << at(8);
      return line(isHarmless(bytes) ? bytes : Buffer.from('{'));
    case 1:
      return line(bytes.subarray(0, at(bytes.length)));
    case 2:
      return line(Buffer.concat([bytes, bytes.subarray(at(bytes.length))]));
    case 3:
      return line(Buffer.from(`{"jsonrpc":"2.0","id":${'9'.repeat(20 + at(300))},"result":1e${at(999)}}`));
    case 4:
      return line(Buffer.from(`${'['.repeat(300)}${']'.repeat(300)}`));
    case 5:
      return line(Buffer.from('{"jsonrpc":"2.0","jsonrpc":2,"id":"x","id":{},"result":1}'));
    case 6:
      return line(Buffer.from(Array.from({ length: 1 + at(60) }, () => 0x80 + at(0x80))));
    case 7:
      return line(Buffer.alloc(maxLineBytes + 1 + at(9_000), 0x78));
    default:
      return line(Buffer.from(['', ' \t\r', '\ufeff', 'Content-Length: 12', '[1]', 'null'][at(6)] ?? ''));
  }
}

/** A flip may leave a frame whole; one that would still reach a call or end the server is not used. */
function isHarmless(bytes: Buffer): boolean {
  const text = bytes.toString('latin1');
  return !/"id":\s*\d{1,7}[,}]/.test(text) && !text.includes('"method"');
}

function line(bytes: Uint8Array): Buffer {
  return Buffer.concat([bytes, Buffer.of(0x0a)]);
}

function writeInPieces(bytes: Buffer, to: PassThrough, random: Random): void {
  for (let at = 0; at < bytes.length;) {
    const size = 1 + Math.floor(random() ** 3 * bytes.length);
    to.write(bytes.subarray(at, at + size));
    at += size;
  }
}
