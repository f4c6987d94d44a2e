import { getSystemErrorMap } from 'node:util';
import { messageOf } from '../protocol/error.ts';

/** Why a program did not start: the system's text with its code, such as `no such file or directory (ENOENT)`. */
export function describeSpawnFailure(cause: unknown): string {
  if (!(cause instanceof Error)) return messageOf(cause);
  const errno = 'errno' in cause && typeof cause.errno === 'number' ? cause.errno : undefined;
  const known = errno === undefined ? undefined : getSystemErrorMap().get(errno);
  if (known !== undefined) return `${known[1]} (${known[0]})`;
  const code = 'code' in cause && typeof cause.code === 'string' ? ` (${cause.code})` : '';
  return `${cause.message}${code}`;
}
