import { signalSource, withLazySignal } from '../protocol/cancellation.ts';
import type { BeforeToolCall } from '../protocol/hook.ts';
import type { CallId, RunId } from '../protocol/ids.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { Permissions, Tool, ToolContext } from '../protocol/tool.ts';
import type { CallLimit } from './call-limit.ts';
import type { OpenCall } from './call-return.ts';

// why: classes, where literals would do. When most of what a literal made in the warm-up of a process is still alive at a
// collection, V8 makes its objects in the old generation from then on: each call would stay until the next full collection,
// with all it leads to (docs/adr/0024)

/** What the calls of one run tell their tools alike. */
export interface ContextSettings {
  readonly run: RunId;
  readonly role: string;
  readonly workspaceRoot: string;
  readonly permissions: Permissions;
  readonly taskId?: string | undefined;
  readonly cancelGraceMs: number;
}

/** Its `signal` is made when somebody looks at it. */
class CallContext implements Omit<ToolContext, 'signal'> {
  readonly workspace_root: string;
  readonly permissions: Permissions;
  readonly task_id: string | undefined;
  readonly agent: string;
  readonly call: CallId;
  readonly run: RunId;
  readonly graceMs: number;
  readonly throwIfCancelled: () => void;
  readonly onStarted: (() => void) | undefined;
  readonly [signalSource]: CallLimit;

  constructor(settings: ContextSettings, call: CallId, limit: CallLimit, runsInThread: boolean) {
    this.workspace_root = settings.workspaceRoot;
    this.permissions = settings.permissions;
    this.task_id = settings.taskId;
    this.agent = settings.role;
    this.call = call;
    this.run = settings.run;
    this.graceMs = settings.cancelGraceMs;
    // A tool on this thread may be in a loop that lets no timer fire.
    this.throwIfCancelled = runsInThread ? () => limit.throwIfCancelled() : () => limit.throwIfOver();
    this.onStarted = runsInThread ? () => limit.startClock() : undefined;
    this[signalSource] = limit;
  }
}

/** What hooks and rules are asked about. */
class Asked implements BeforeToolCall {
  readonly tool: string;
  readonly input: JsonObject;
  readonly context: ToolContext;

  constructor(tool: string, input: JsonObject, context: ToolContext) {
    this.tool = tool;
    this.input = input;
    this.context = context;
  }
}

/** A call that reached its tool. */
export class AdmittedCall implements OpenCall {
  readonly tool: string;
  readonly id: CallId;
  readonly startedAt: number;
  readonly asked: BeforeToolCall;
  readonly limit: CallLimit;
  /** Among the calls whose code runs on this thread. */
  place = -1;

  constructor(open: OpenCall, tool: Tool, input: JsonObject, limit: CallLimit, settings: ContextSettings) {
    this.tool = open.tool;
    this.id = open.id;
    this.startedAt = open.startedAt;
    this.limit = limit;
    const context = withLazySignal(new CallContext(settings, open.id, limit, tool.runs_in === 'thread'));
    this.asked = new Asked(open.tool, input, context);
  }
}
