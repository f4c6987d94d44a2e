import { messageOf } from '../protocol/error.ts';
import { isJsonObject, ownValue } from '../protocol/json.ts';
import { Fault, type ProbeAnswer } from './fault-probe.ts';

/** Reads a result as hosts do. @throws Fault */
export function judged<T>(method: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Fault(`sent an invalid \`${method}\` result: ${messageOf(error)}`);
  }
}

/** @throws Fault when it is a result, or another error */
export function mustBeError({ error }: ProbeAnswer, asked: string, code: number): void {
  if (error === undefined) throw new Fault(`answered ${asked} with a result instead of the error ${code}`);
  if (error.code !== code) throw new Fault(`answered ${asked} with the code ${error.code} instead of ${code}`);
}

/** @throws Fault when it is an error, other than that the method is unknown */
export function mustBeResult({ error }: ProbeAnswer, asked: string): void {
  // why: hosts tolerate a server that does not know it
  if (error !== undefined && error.code !== -32601) {
    throw new Fault(`answered ${asked} with the error ${error.code}: ${error.message}`);
  }
}

/** It must be a JSON-RPC error or a failed tool result. @throws Fault */
export function mustFail({ result, error }: ProbeAnswer, asked: string): void {
  if (error !== undefined) return;
  const isFailed = isJsonObject(result) && (ownValue(result, 'is_error') ?? ownValue(result, 'isError')) === true;
  if (!isFailed) throw new Fault(`answered ${asked} as if all were well; it should be the error -32602`);
}

export function isAbort(result: unknown): boolean {
  return isJsonObject(result) && ownValue(result, 'decision') === 'abort';
}

export function show(value: unknown): string {
  return value === undefined ? 'left out' : JSON.stringify(value);
}
