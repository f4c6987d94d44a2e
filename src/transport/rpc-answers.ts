import type { Logger } from '../protocol/deps.ts';
import { describeError } from '../protocol/error.ts';
import { rpcCodes, type RpcId } from '../protocol/jsonrpc.ts';
import { toJsonText } from '../protocol/lines.ts';
import { createWindowGate } from './flood-gate.ts';
import { type LineWriter, toOutgoing } from './line-writer.ts';

export interface RpcAnswersOptions {
  readonly writer: LineWriter;
  readonly limits: { readonly maxQueuedAnswers: number; readonly ignoredPerMinute: number };
  readonly logger: Logger;
  readonly elapsed: () => number;
  isDead(): boolean;
  closedError(): Error;
}

/** Answers requests of the other side: `ping`, and that nothing else is known. More than may wait are dropped. */
export function createRpcAnswers(options: RpcAnswersOptions): (id: RpcId, method: string) => void {
  const { writer, limits, logger } = options;
  const droppedGate = createWindowGate(limits.ignoredPerMinute, 60_000, options.elapsed);
  let queued = 0;
  const onBegun = (): void => void (queued -= 1);

  return (id, method) => {
    if (options.isDead() || writer.isClosed) {
      if (droppedGate.admit()) logger.debug(`cannot answer plugin request: ${describeError(options.closedError())}`);
      return;
    }
    if (queued >= limits.maxQueuedAnswers) {
      if (droppedGate.admit()) logger.debug(`dropping request \`${method}\`: ${queued} answers are queued`);
      return;
    }
    queued += 1;
    const error = { code: rpcCodes.methodNotFound, message: `method not found: ${method}` };
    const outcome = method === 'ping' ? { result: {} } : { error };
    writer.write(toOutgoing(toJsonText({ jsonrpc: '2.0', id, ...outcome }), onBegun));
  };
}
