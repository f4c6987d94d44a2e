import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isJsonObject, type JsonObject } from '../../src/protocol/json.ts';
import {
  findTranscriptProblem,
  turnsOfAnthropicBody,
  turnsOfOpenaiBody,
} from '../../src/providers/transcript-check.ts';

export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: JsonObject;
}

export interface ModelServer extends AsyncDisposable {
  /** Without a trailing slash. */
  readonly url: string;
  readonly requests: readonly ReceivedRequest[];
  /** What the transcript check found in the bodies, one entry per bad body. */
  readonly problems: readonly string[];
}

export type Answer = (request: ReceivedRequest, response: ServerResponse) => void | Promise<void>;

/** A model server on this machine; the n-th request gets the n-th answer, later ones the last. */
export async function startModelServer(...answers: readonly Answer[]): Promise<ModelServer> {
  const requests: ReceivedRequest[] = [];
  const problems: string[] = [];
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      const parsed: unknown = text === '' ? {} : JSON.parse(text);
      const body = isJsonObject(parsed) ? parsed : {};
      const request = { path: incoming.url ?? '', headers: incoming.headers, body };
      requests.push(request);
      if (incoming.method === 'POST') {
        const turns = request.path.includes('/messages') ? turnsOfAnthropicBody(body) : turnsOfOpenaiBody(body);
        const problem = findTranscriptProblem(turns);
        if (problem !== undefined) problems.push(problem);
      }
      const answer = answers[Math.min(requests.length, answers.length) - 1];
      void Promise.resolve(answer?.(request, response));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    problems,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Answers with an event stream, sent in the given pieces. */
export function streamOf(...pieces: readonly (string | Uint8Array)[]): Answer {
  return async (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const piece of pieces) {
      await new Promise<void>((resolve) => response.write(piece, () => resolve()));
    }
    response.end();
  };
}

/** Starts an event stream and leaves it open. */
export function stalledStream(...pieces: readonly string[]): Answer {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    for (const piece of pieces) response.write(piece);
  };
}

export function jsonOf(data: object, status = 200, headers: Readonly<Record<string, string>> = {}): Answer {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(data));
  };
}
