import type { BusEvent } from '../bus/events.ts';
import type { Hooks } from '../bus/hooks.ts';
import type { Clock, Logger } from '../protocol/deps.ts';
import { isEngineError, messageOf } from '../protocol/error.ts';
import type { BeforeToolCall } from '../protocol/hook.ts';
import type { CallId, NewId } from '../protocol/ids.ts';
import type { JsonObject } from '../protocol/json.ts';
import { hasRawArguments, type ToolUseBlock } from '../protocol/message.ts';
import { errorOutput, type Permissions, type Tool, type ToolContext, type ToolOutput } from '../protocol/tool.ts';
import { type CallGateSettings, cancelledOutput, createCallGate } from './call-gate.ts';
import { CallLimit, type LimitedContext, limitOf, withSignal } from './call-limit.ts';
import {
  charactersOf,
  copyInput,
  previewOf,
  toFailure,
  toOutput,
  type ToolTrace,
  truncate,
  writeTrace,
} from './output.ts';

const invalidArguments =
  'the arguments of this call were not valid JSON (possibly truncated); repeat the call with complete JSON arguments';

/** Hears of calls whose code runs on this thread. */
export interface CallWatch {
  /** Its handler is about to run. */
  enter(call: BeforeToolCall): void;
  /** The handler gave the thread back: it is done, or waits. */
  leave(call: BeforeToolCall, isWaiting: boolean): void;
  /** A call that waited is over. */
  end(call: BeforeToolCall): void;
}

export interface DispatchDeps {
  readonly hooks: Hooks;
  readonly watch?: CallWatch | undefined;
  readonly clock: Pick<Clock, 'elapsed'>;
  readonly newId: NewId;
  readonly logger: Logger;
  publish(event: BusEvent): void;
}

/** What the calls of one run have in common. */
export interface DispatchSettings extends CallGateSettings {
  /** The offered tools by name, in offer order. */
  readonly tools: Pick<ReadonlyMap<string, Tool>, 'get' | 'keys'>;
  readonly workspaceRoot: string;
  readonly permissions: Permissions;
  readonly taskId?: string | undefined;
  readonly maxOutputChars: number;
  readonly trace?: ToolTrace | undefined;
  /** 0 = none. */
  readonly toolTimeoutMs: number;
  readonly cancelGraceMs: number;
}

/** One call from `tool_called` to `tool_returned`; never rejects. */
export type CallTool = (
  call: Pick<ToolUseBlock, 'name' | 'input'>,
) => Promise<{ readonly content: string; readonly is_error: boolean }>;

/** Tool execution of agent-runtime section 5 with the extensions 18.1, 18.2, 18.6 and 18.12. */
export function createToolDispatch(settings: DispatchSettings, deps: DispatchDeps): CallTool {
  const { run, role, subtask, signal } = settings;
  const gate = createCallGate(settings, deps.hooks);

  return async ({ name: tool, input }) => {
    const call = deps.newId.call();
    deps.publish({ type: 'tool_called', run, role, tool, input, call, subtask });
    const startedAt = deps.clock.elapsed();

    const output = await produce(tool, input, call);

    const durationMs = Math.max(0, Math.round(deps.clock.elapsed() - startedAt));
    const characters = charactersOf(output.content);
    const outputFile =
      settings.trace === undefined ? null : await trace(settings.trace, call, output.content, characters);
    const content =
      characters <= settings.maxOutputChars
        ? output.content
        : await truncate(output.content, characters, {
            maxChars: settings.maxOutputChars,
            workspaceRoot: settings.workspaceRoot,
            newUuid: deps.newId.uuid,
          });
    const exitCode = output.metadata?.['exit_code'];
    deps.publish({
      type: 'tool_returned',
      run,
      role,
      tool,
      is_error: output.is_error,
      duration_ms: durationMs,
      preview: previewOf(content),
      call,
      subtask,
      exit_code: typeof exitCode === 'number' && Number.isSafeInteger(exitCode) ? exitCode : null,
      timed_out: output.metadata?.['timed_out'] === true,
      output_chars: characters,
      output_file: outputFile,
    });
    return { content, is_error: output.is_error };
  };

  async function produce(name: string, input: JsonObject, call: CallId): Promise<ToolOutput> {
    if (hasRawArguments(input)) return errorOutput(`Tool \`${name}\` was not executed: ${invalidArguments}.`);
    const tool = settings.tools.get(name);
    if (tool === undefined) {
      const names = [...settings.tools.keys()].join(', ');
      return errorOutput(`Unknown tool \`${name}\`. Available tools: ${names === '' ? 'none' : names}.`);
    }
    const limit = new CallLimit(signal, tool.timeout_ms ?? settings.toolTimeoutMs);
    try {
      const asked: BeforeToolCall = { tool: name, input, context: toContext(call, limit) };
      const refusal = gate(tool, asked);
      const refused = refusal instanceof Promise ? await refusal : refusal;
      if (refused !== undefined) return refused;
      const output = await execute(tool, asked, limit);
      const told = deps.hooks.runAfterTool(asked, output);
      if (told !== undefined) await told;
      return output;
    } finally {
      limit[Symbol.dispose](); // why: `using` compiles to several times the cost of this
    }
  }

  function toContext(call: CallId, limit: CallLimit): ToolContext {
    const context: LimitedContext = {
      workspace_root: settings.workspaceRoot,
      permissions: settings.permissions,
      agent: role,
      call,
      run,
      graceMs: settings.cancelGraceMs,
      throwIfCancelled: () => limit.throwIfAborted(),
      onStarted: () => limit.startClock(),
      [limitOf]: limit,
    };
    // why: not by spreading, which makes V8 give every context a shape of its own
    if (settings.taskId !== undefined) context.task_id = settings.taskId;
    return withSignal(context);
  }

  async function execute(tool: Tool, asked: BeforeToolCall, limit: CallLimit): Promise<ToolOutput> {
    const { input, context } = asked;
    try {
      const checking = tool.validate?.(input, context);
      const checked = isThenable(checking) ? await checking : checking;
      if (checked !== undefined && !checked.ok) {
        if ('output' in checked) return checked.output;
        return errorOutput(`Invalid input for \`${tool.name}\`: ${checked.detail}.`);
      }
      const handed = checked === undefined ? copyInput(input) : checked.value;
      const running = start(tool, handed as JsonObject, asked);
      return isThenable(running) ? await settle(tool, running, limit) : toChecked(tool.name, running);
    } catch (error) {
      return isAbort(error, limit) ? cancelledOutput(tool.name) : toFailure(tool.name, error);
    }
  }

  function start(tool: Tool, input: JsonObject, asked: BeforeToolCall): unknown {
    const { watch } = deps;
    if (watch === undefined || (tool.runs_in ?? 'main') !== 'main') return tool.call(input, asked.context);
    let running: unknown;
    watch.enter(asked);
    try {
      running = tool.call(input, asked.context);
    } finally {
      watch.leave(asked, isThenable(running));
    }
    return isThenable(running) ? endWatched(running, asked, watch) : running;
  }

  async function endWatched(running: PromiseLike<unknown>, asked: BeforeToolCall, watch: CallWatch): Promise<unknown> {
    try {
      return await running;
    } finally {
      watch.end(asked);
    }
  }

  /** Waits for a call within its time; a call that ignores the end of it is abandoned after the grace. */
  function settle(tool: Tool, running: PromiseLike<unknown>, limit: CallLimit): Promise<ToolOutput> {
    return new Promise<ToolOutput>((resolve) => {
      let graceTimer: NodeJS.Timeout | undefined;
      const stopped = (): ToolOutput =>
        limit.hasTimedOut ? timedOut(tool.name, tool.timeout_ms ?? settings.toolTimeoutMs) : cancelledOutput(tool.name);
      const finish = (output: ToolOutput): void => {
        clearTimeout(graceTimer);
        resolve(output);
      };
      // A call for a worker thread may wait for one first; that time is not its own (reliability WK11).
      if (tool.runs_in !== 'thread') limit.startClock();
      limit.whenAborted(() => {
        graceTimer = setTimeout(() => finish(stopped()), settings.cancelGraceMs);
      });
      running.then(
        (value) => finish(toChecked(tool.name, value)),
        (error: unknown) => finish(isAbort(error, limit) ? stopped() : toFailure(tool.name, error)),
      );
    });
  }

  async function trace(to: ToolTrace, call: CallId, content: string, characters: number): Promise<string | null> {
    try {
      return await writeTrace(call, content, characters, to);
    } catch (error) {
      deps.logger.warn(`cannot write the trace of a call: ${messageOf(error)}`, { run, call });
      return null;
    }
  }
}

function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

/** Whether a call failed because it was told to end. */
function isAbort(error: unknown, limit: CallLimit): boolean {
  if (!limit.isAborted) return false;
  if (error === limit.reason) return true;
  if (isEngineError(error)) return error.kind === 'cancelled';
  return error instanceof Error && error.name === 'AbortError';
}

function toChecked(tool: string, value: unknown): ToolOutput {
  try {
    return toOutput(value);
  } catch (error) {
    return errorOutput(`Tool \`${tool}\` crashed: ${messageOf(error)}`);
  }
}

function timedOut(tool: string, timeoutMs: number): ToolOutput {
  return errorOutput(`Tool \`${tool}\` timed out after ${timeoutMs} ms and was stopped.`, { timed_out: true });
}
