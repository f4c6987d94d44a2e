import type { BeforeToolCall } from '../protocol/hook.ts';
import { ownValue } from '../protocol/json.ts';
import { openCommandArgument } from './rule-command.ts';
import { openDataArgument } from './rule-data.ts';
import type { JudgedArgument } from './rule-judgement.ts';
import { openPathArgument } from './rule-path.ts';
import { openUrlArgument } from './rule-url.ts';

type Open = (text: string, call: BeforeToolCall) => JudgedArgument;

interface ArgumentKind {
  /** The property that is judged. */
  readonly key: string;
  /** Its value when the call leaves it out. */
  readonly usual?: string;
  readonly open: Open;
}

const walkers: Pick<ArgumentKind, 'key' | 'usual'> = { key: 'path', usual: '.' };

/** Tools whose argument is more than data. Others are judged by their whole input. */
const kinds: ReadonlyMap<string, ArgumentKind> = new Map<string, ArgumentKind>([
  ['bash', { key: 'command', open: openCommandArgument }],
  ['read_file', { key: 'path', open: (path, call) => openPathArgument(path, call, 'one') }],
  ['write_file', { key: 'path', open: (path, call) => openPathArgument(path, call, 'one') }],
  ['edit_file', { key: 'path', open: (path, call) => openPathArgument(path, call, 'one') }],
  ['list_dir', { ...walkers, open: (path, call) => openPathArgument(path, call, 'below') }],
  ['glob', { ...walkers, open: (path, call) => openPathArgument(path, call, 'below') }],
  ['grep', { ...walkers, open: (path, call) => openPathArgument(path, call, 'below') }],
  ['web_fetch', { key: 'url', open: openUrlArgument }],
]);

/** The argument of a call by the kind of its tool. A call without the expected text is judged as data. */
export function openArgument(call: BeforeToolCall): JudgedArgument {
  const kind = kinds.get(call.tool);
  const value = kind === undefined ? undefined : (ownValue(call.input, kind.key) ?? kind.usual);
  return kind === undefined || typeof value !== 'string' ? openDataArgument(call.input) : kind.open(value, call);
}
