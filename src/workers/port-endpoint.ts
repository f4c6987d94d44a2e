import type { Endpoint } from 'comlink';
import type { MessagePort } from 'node:worker_threads';
import { isOutsideCalls } from './run-port.ts';

/**
 * A port as comlink wants it. Calls and plain messages share one port, because two ports would not keep the order between
 * an event and the call that follows it. In a file of its own because comlink's types need the DOM library, which programs
 * that embed the engine do not have: no type of the public surface may lead here.
 */
export function toEndpoint(port: MessagePort): Endpoint {
  const listeners = new Map<unknown, (data: unknown) => void>();
  return {
    postMessage: (message: unknown, transfer?: readonly unknown[]) =>
      port.postMessage(message, (transfer ?? []) as never),
    addEventListener(_type, listener) {
      const receive = (data: unknown): void => {
        if (isOutsideCalls(data)) return;
        const event = { data } as MessageEvent;
        if (typeof listener === 'function') listener(event);
        else listener.handleEvent(event);
      };
      listeners.set(listener, receive);
      port.on('message', receive);
    },
    removeEventListener(_type, listener) {
      const receive = listeners.get(listener);
      if (receive !== undefined) port.off('message', receive);
      listeners.delete(listener);
    },
    start: () => port.start(),
  };
}
