import { lookup as lookupName } from 'node:dns';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { EngineError, messageOf } from '../protocol/error.ts';

export interface WebRequest {
  readonly url: URL;
  readonly accept: string;
  /** More of the body is not read, in bytes after decompression. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** Judges each address before it is connected to. */
  isAllowedAddress(address: string): boolean;
}

export interface WebResponse {
  readonly status: number;
  readonly statusText: string;
  /** Where a redirect leads; its body is not read. */
  readonly location: string | undefined;
  /** Lower case, without parameters. */
  readonly contentType: string;
  readonly charset: string | undefined;
  readonly body: Buffer;
  readonly isCut: boolean;
}

/**
 * One GET request; redirects are the caller's part. The name is resolved here and the connection goes to the very address
 * that was judged.
 * @throws EngineError `denied` for an address that is not allowed, `network` otherwise
 */
export async function requestWeb(request: WebRequest): Promise<WebResponse> {
  const { url, signal } = request;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  // why: an address needs no look-up, so the one below would never see it
  if (isIP(host) !== 0 && !request.isAllowedAddress(host)) throw notPublic(url.hostname);
  try {
    const response = await send(request);
    return await readResponse(response, request.maxBytes, signal);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof EngineError) throw error;
    throw new EngineError('network', messageOf(error), { cause: error });
  }
}

function notPublic(host: string): EngineError {
  return new EngineError('denied', `host \`${host}\` is not on the public internet`);
}

function send(request: WebRequest): Promise<IncomingMessage> {
  const { url, signal } = request;
  const start = url.protocol === 'https:' ? requestHttps : requestHttp;
  const headers = { accept: request.accept, 'accept-encoding': 'gzip, deflate, br', 'user-agent': 'vibe-bus' };
  return new Promise((resolve, reject) => {
    const sent = start(url, { agent: false, headers, lookup: createLookup(request), signal });
    sent.once('response', resolve);
    sent.once('error', reject);
    sent.end();
  });
}

/** A look-up that only ever gives addresses that are allowed. */
function createLookup(request: WebRequest): LookupFunction {
  return (host, options, done) => {
    lookupName(host, { ...options, all: true }, (error, found) => {
      if (error !== null) return done(error, '', 0);
      const allowed = found.filter(({ address }) => request.isAllowedAddress(address));
      const [first] = allowed;
      if (first === undefined) return done(notPublic(host), '', 0);
      if (options.all === true) return done(null, allowed);
      return done(null, first.address, first.family);
    });
  };
}

async function readResponse(response: IncomingMessage, maxBytes: number, signal: AbortSignal): Promise<WebResponse> {
  const { statusCode: status = 0, statusMessage: statusText = '', headers } = response;
  const type = headers['content-type'] ?? '';
  const location = redirects.has(status) ? headers.location : undefined;
  try {
    const body = location === undefined ? await readBody(response, maxBytes + 1, signal) : Buffer.alloc(0);
    return {
      status,
      statusText,
      location,
      contentType: type.split(';')[0]?.trim().toLowerCase() ?? '',
      charset: /charset\s*=\s*"?([^\s";]+)/i.exec(type)?.[1],
      body: body.subarray(0, maxBytes),
      isCut: body.length > maxBytes,
    };
  } finally {
    response.destroy(); // also what is not read to its end, or not at all
  }
}

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** The first `maxBytes` of a body, or a little more. */
async function readBody(response: IncomingMessage, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of decompress(response) as AsyncIterable<Buffer>) {
    signal.throwIfAborted();
    chunks.push(chunk);
    length += chunk.length;
    if (length >= maxBytes) break;
  }
  return Buffer.concat(chunks);
}

function decompress(response: IncomingMessage): Readable {
  const decoder = createDecoder(response.headers['content-encoding']);
  if (decoder === undefined) return response;
  response.on('error', (error) => decoder.destroy(error));
  return response.pipe(decoder);
}

function createDecoder(
  encoding: string | undefined,
): (NodeJS.ReadWriteStream & Readable & { destroy(error?: Error): void }) | undefined {
  switch (encoding?.trim().toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'br':
      return createBrotliDecompress();
    case 'deflate':
      return createInflate();
    case undefined:
    case '':
    case 'identity':
      return undefined;
    default:
      throw new EngineError('network', `the answer has the unknown encoding \`${encoding}\``);
  }
}
