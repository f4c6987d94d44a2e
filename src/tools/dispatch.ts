import type { BusEvent } from '../bus/events.ts';
import type { Hooks } from '../bus/hooks.ts';
import type { Clock, Logger } from '../protocol/deps.ts';
import { isEngineError, messageOf } from '../protocol/error.ts';
import type { BeforeToolCall } from '../protocol/hook.ts';
import type { CallId, NewId, RunId } from '../protocol/ids.ts';
import type { JsonObject } from '../protocol/json.ts';
import { hasRawArguments, type ToolUseBlock } from '../protocol/message.ts';
import { type ChildSignal, childSignal } from '../protocol/signal.ts';
import { errorOutput, type Permissions, type Tool, type ToolContext, type ToolOutput } from '../protocol/tool.ts';
import type { Approvals } from './approvals.ts';
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

export interface DispatchDeps {
  readonly hooks: Hooks;
  readonly clock: Pick<Clock, 'elapsed'>;
  readonly newId: NewId;
  readonly logger: Logger;
  publish(event: BusEvent): void;
}

/** What the calls of one run have in common. */
export interface DispatchSettings {
  readonly run: RunId;
  readonly role: string;
  readonly subtask: string | null;
  /** The offered tools by name, in offer order. */
  readonly tools: ReadonlyMap<string, Tool>;
  readonly workspaceRoot: string;
  readonly permissions: Permissions;
  readonly taskId?: string | undefined;
  readonly maxOutputChars: number;
  readonly trace?: ToolTrace | undefined;
  /** 0 = none. */
  readonly toolTimeoutMs: number;
  readonly cancelGraceMs: number;
  readonly approvals: Approvals;
  readonly signal: AbortSignal;
}

/** One call from `tool_called` to `tool_returned`; never rejects. */
export type CallTool = (
  call: Pick<ToolUseBlock, 'name' | 'input'>,
) => Promise<{ readonly content: string; readonly is_error: boolean }>;

/** Tool execution of agent-runtime section 5 with the extensions 18.1, 18.2, 18.6 and 18.12. */
export function createToolDispatch(settings: DispatchSettings, deps: DispatchDeps): CallTool {
  const { run, role, subtask, signal } = settings;

  return async ({ name: tool, input }) => {
    const call = deps.newId.call();
    deps.publish({ type: 'tool_called', run, role, tool, input, call, subtask });
    const startedAt = deps.clock.elapsed();

    const output = await produce(tool, input, call);

    const durationMs = Math.max(0, Math.round(deps.clock.elapsed() - startedAt));
    const characters = charactersOf(output.content);
    const outputFile = await trace(call, output.content, characters);
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
    using limit = childSignal(signal);
    const context: ToolContext = {
      workspace_root: settings.workspaceRoot,
      permissions: settings.permissions,
      ...(settings.taskId === undefined ? {} : { task_id: settings.taskId }),
      agent: role,
      call,
      run,
      signal: limit.signal,
    };
    const asked: BeforeToolCall = { tool: name, input, context };
    const refusal = await refuse(tool, asked);
    if (refusal !== undefined) return refusal;
    const output = await execute(tool, input, context, limit);
    await deps.hooks.runAfterTool(asked, output);
    return output;
  }

  /** Hooks first, then the approver; nothing when the call may go on. */
  async function refuse(tool: Tool, asked: BeforeToolCall): Promise<ToolOutput | undefined> {
    const { name } = tool;
    const running = deps.hooks.runBeforeTool(asked);
    const decision = running instanceof Promise ? await running : running;
    if (signal.aborted) return cancelled(name);
    if (decision.kind === 'abort') {
      const reason = `${decision.hook}: ${decision.reason}`;
      return errorOutput(
        `The call to \`${name}\` was blocked by a policy hook: ${reason}. Do not repeat this call; choose another approach.`,
      );
    }
    if (decision.kind === 'continue' && tool.needs_approval !== true) return undefined;
    const reason = decision.kind === 'ask' ? decision.reason : null;
    const request = { run, call: asked.context.call, role, tool: name, input: asked.input, reason };
    try {
      const { approved, comment } = await settings.approvals.ask(request, subtask, signal);
      if (approved) return undefined;
      return errorOutput(
        `The call to \`${name}\` was not approved: ${comment ?? 'refused'}. Do not repeat this call; choose another approach.`,
      );
    } catch {
      return cancelled(name); // the run ended while it waited
    }
  }

  async function execute(tool: Tool, input: JsonObject, context: ToolContext, limit: ChildSignal): Promise<ToolOutput> {
    try {
      const checked = tool.validate === undefined ? undefined : await tool.validate(input, context);
      if (checked !== undefined && !checked.ok) {
        if ('output' in checked) return checked.output;
        return errorOutput(`Invalid input for \`${tool.name}\`: ${checked.detail}.`);
      }
      const handed = checked === undefined ? copyInput(input) : checked.value;
      const running = tool.call(handed as JsonObject, context);
      return isThenable(running) ? await settle(tool, running, limit) : toChecked(tool.name, running);
    } catch (error) {
      return limit.signal.aborted && isAbort(error, limit.signal) ? cancelled(tool.name) : toFailure(tool.name, error);
    }
  }

  /** Waits for a call within its time; a call that ignores the end of it is abandoned after the grace. */
  function settle(tool: Tool, running: PromiseLike<unknown>, limit: ChildSignal): Promise<ToolOutput> {
    const timeoutMs = tool.timeout_ms ?? settings.toolTimeoutMs;
    return new Promise<ToolOutput>((resolve) => {
      let hasTimedOut = false;
      let graceTimer: NodeJS.Timeout | undefined;
      const stopped = (): ToolOutput => (hasTimedOut ? timedOut(tool.name, timeoutMs) : cancelled(tool.name));
      const onAbort = (): void => {
        graceTimer = setTimeout(() => finish(stopped()), settings.cancelGraceMs);
      };
      const timer =
        timeoutMs <= 0
          ? undefined
          : setTimeout(() => {
              hasTimedOut = true;
              limit.abort(new DOMException(`timed out after ${timeoutMs} ms`, 'AbortError'));
            }, timeoutMs);
      const finish = (output: ToolOutput): void => {
        clearTimeout(timer);
        clearTimeout(graceTimer);
        limit.signal.removeEventListener('abort', onAbort);
        resolve(output);
      };
      if (limit.signal.aborted) onAbort();
      else limit.signal.addEventListener('abort', onAbort, { once: true });
      running.then(
        (value) => finish(toChecked(tool.name, value)),
        (error: unknown) =>
          finish(limit.signal.aborted && isAbort(error, limit.signal) ? stopped() : toFailure(tool.name, error)),
      );
    });
  }

  async function trace(call: CallId, content: string, characters: number): Promise<string | null> {
    if (settings.trace === undefined) return null;
    try {
      return await writeTrace(call, content, characters, settings.trace);
    } catch (error) {
      deps.logger.warn(`cannot write the trace of a call: ${messageOf(error)}`, { run, call });
      return null;
    }
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

function isAbort(error: unknown, signal: AbortSignal): boolean {
  if (error === signal.reason) return true;
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

function cancelled(tool: string): ToolOutput {
  return errorOutput(`Tool \`${tool}\` was cancelled.`);
}

function timedOut(tool: string, timeoutMs: number): ToolOutput {
  return errorOutput(`Tool \`${tool}\` timed out after ${timeoutMs} ms and was stopped.`, { timed_out: true });
}
