import type { BusEvent } from '../bus/events.ts';
import type { Clock, Logger } from '../protocol/deps.ts';
import { messageOf } from '../protocol/error.ts';
import type { CallId, NewId, RunId } from '../protocol/ids.ts';
import type { ToolOutput } from '../protocol/tool.ts';
import type { MaybePromise } from './maybe-promise.ts';
import { charactersOf, previewOf, type ToolTrace, truncate, writeTrace } from './output.ts';

/** A call that was told to observers and not yet how it ended. */
export interface OpenCall {
  readonly tool: string;
  readonly id: CallId;
  readonly startedAt: number;
}

/** What the model sees of a call. */
export interface ToolAnswer {
  readonly content: string;
  readonly is_error: boolean;
}

export interface CallReturnSettings {
  readonly run: RunId;
  readonly role: string;
  readonly subtask: string | null;
  readonly workspaceRoot: string;
  /** Characters of an output that the model sees; what is longer goes to a file. */
  readonly maxOutputChars: number;
  readonly trace?: ToolTrace | undefined;
}

export interface CallReturnDeps {
  readonly clock: Pick<Clock, 'elapsed'>;
  readonly newId: NewId;
  readonly logger: Logger;
  publish(event: BusEvent): void;
}

/** What became of a call, told to everyone; kept whole where that was asked for, cut where it is too long. */
export function concludeCall(
  call: OpenCall,
  output: ToolOutput,
  settings: CallReturnSettings,
  deps: CallReturnDeps,
): MaybePromise<ToolAnswer> {
  const durationMs = Math.max(0, Math.round(deps.clock.elapsed() - call.startedAt));
  const { content } = output;
  const shown = { durationMs, content, characters: charactersOf(content), file: null };
  if (shown.characters <= settings.maxOutputChars && settings.trace === undefined) {
    return tell(call, output, shown, settings, deps);
  }
  return store(call, shown, settings, deps).then((stored) => tell(call, output, stored, settings, deps));
}

/** What events and the model see of an output. */
interface Shown {
  readonly durationMs: number;
  readonly content: string;
  /** Of the whole output. */
  readonly characters: number;
  /** Where the whole output is kept. */
  readonly file: string | null;
}

/** Writes the whole output to where it is wanted, and cuts what is shown of it. */
async function store(
  { id }: OpenCall,
  whole: Shown,
  { trace, maxOutputChars, workspaceRoot, run }: CallReturnSettings,
  { newId, logger }: CallReturnDeps,
): Promise<Shown> {
  const { content, characters } = whole;
  let file: string | null = null;
  try {
    if (trace !== undefined) file = await writeTrace(workspaceRoot, trace, { call: id, content, characters });
  } catch (error) {
    logger.warn(`cannot write the trace of a call: ${messageOf(error)}`, { run, call: id });
  }
  const options = { maxChars: maxOutputChars, workspaceRoot, newUuid: newId.uuid };
  return { ...whole, content: await truncate(content, characters, options), file };
}

function tell(
  { tool, id }: OpenCall,
  { is_error, metadata }: ToolOutput,
  { durationMs, content, characters, file }: Shown,
  { run, role, subtask }: CallReturnSettings,
  deps: CallReturnDeps,
): ToolAnswer {
  const exitCode = metadata?.['exit_code'];
  deps.publish({
    type: 'tool_returned',
    run,
    role,
    tool,
    is_error,
    duration_ms: durationMs,
    preview: previewOf(content),
    call: id,
    subtask,
    exit_code: typeof exitCode === 'number' && Number.isSafeInteger(exitCode) ? exitCode : null,
    timed_out: metadata?.['timed_out'] === true,
    output_chars: characters,
    output_file: file,
  });
  return { content, is_error };
}
