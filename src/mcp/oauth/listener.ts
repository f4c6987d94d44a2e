import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { toEngineError } from '../../protocol/error.ts';
import { isLoopbackHost } from '../server-url.ts';
import { type CallbackAnswer, readCallback } from './answer.ts';
import { oauthError, portInUse } from './errors.ts';

/** Who waits for an answer with its state. @throws EngineError `oauth_state_mismatch` when the state is not of it */
export type AnswerTaker = (answer: CallbackAnswer) => Promise<void>;

/** Waits for browsers on this machine, only while a flow does (OA8). Flows with the same redirect URI share a port. */
export interface CallbackListener {
  /**
   * Listens for a flow, unless its redirect URI is one of another machine.
   * @returns ends the waiting
   * @throws EngineError `oauth_port_in_use`
   */
  wait(redirectUri: string, state: string, take: AnswerTaker): Promise<() => Promise<void>>;
}

const pages = {
  done: 'Authorization finished. You may close this page.',
  failed: 'Authorization failed. The program that asked for it says why.',
  unknown: 'This answer does not belong to a waiting authorization. Begin again from the program.',
} as const;

export function createCallbackListener(): CallbackListener {
  const open = new Map<string, Door>();

  return {
    async wait(redirectUri, state, take) {
      const url = new URL(redirectUri);
      if (url.protocol !== 'http:' || !isLoopbackHost(url.hostname)) return async () => {};
      const door = open.get(url.href) ?? createDoor(url);
      open.set(url.href, door);
      door.takers.set(state, take);
      const leave = async (): Promise<void> => {
        if (!door.takers.delete(state) || door.takers.size > 0) return;
        open.delete(url.href);
        await door.close();
      };
      try {
        await door.opened;
      } catch (error) {
        await leave();
        throw error;
      }
      return leave;
    },
  };
}

interface Door {
  readonly takers: Map<string, AnswerTaker>;
  readonly opened: Promise<void>;
  close(): Promise<void>;
}

function createDoor(url: URL): Door {
  const takers = new Map<string, AnswerTaker>();
  const port = Number(url.port === '' ? 80 : url.port);
  const servers = ['127.0.0.1', '::1'].map((host) => {
    const server = createServer({ maxHeaderSize: 16_384, headersTimeout: 10_000 }, (request, response) => {
      void receive(request, response);
    });
    return { host, server };
  });

  /** Answers with fixed text only; never rejects. */
  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.headers.host !== url.host) return send(response, 403, '');
    const target = new URL(`${url.origin}${request.url ?? '/'}`);
    if (request.method !== 'GET' || target.pathname !== url.pathname) return send(response, 404, '');
    try {
      const answer = readCallback(target.searchParams);
      const take = takers.get(answer.state ?? '');
      if (take === undefined) throw oauthError('oauth_state_mismatch');
      await take(answer);
      send(response, 200, pages.done);
    } catch (error) {
      const isOther = toEngineError(error).code === 'oauth_state_mismatch';
      send(response, 400, isOther ? pages.unknown : pages.failed);
    }
  }

  return {
    takers,
    opened: Promise.all(servers.map(({ server, host }) => listen(server, port, host))).then(() => {}),
    async close() {
      await Promise.all(servers.map(({ server }) => closeServer(server)));
    },
  };
}

function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'",
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    connection: 'close',
  });
  response.end(text === '' ? '' : `<!doctype html><title>vibe-bus</title><p>${text}</p>`);
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      // why: a machine without IPv6 has no such address, and its browser will not ask there
      if (host === '::1' && (error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT')) resolve();
      else reject(portInUse(port));
    });
    server.listen(port, host, resolve);
  });
}

/** Waits for answers on their way: the browser is still to be told. */
function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    if (!server.listening) return resolve();
    server.close(() => resolve());
    server.closeIdleConnections();
  });
}
