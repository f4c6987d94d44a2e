import type { Clock } from '../protocol/deps.ts';
import { isJsonObject, type JsonObject, ownValue } from '../protocol/json.ts';
import type { RpcErrorObject } from '../protocol/jsonrpc.ts';
import { childSignal, untilAborted } from '../protocol/signal.ts';
import { callTimeout, invalidResult, mcpError } from './errors.ts';
import { type InputPolicy, maxInputRounds, roundsExceeded } from './input-policy.ts';

/** What an own request came back with; losing the connection rejects instead. */
export type Answer =
  | { readonly kind: 'result'; readonly result: unknown }
  | { readonly kind: 'error'; readonly error: RpcErrorObject }
  | { readonly kind: 'malformed' };

export interface TaskDeps {
  readonly request: (method: string, params: JsonObject, signal: AbortSignal) => Promise<Answer>;
  readonly input: InputPolicy;
  readonly clock: Clock;
  /** The call's cancellation. */
  readonly signal: AbortSignal;
  /** Limit of the whole task in milliseconds. */
  readonly maxMs: number;
  /** Told for every new status or status message. */
  readonly onStatus: (status: string, message: string | undefined) => void;
}

export type TaskEnd =
  | { readonly kind: 'result'; readonly result: JsonObject }
  | { readonly kind: 'error'; readonly error: RpcErrorObject };

interface TaskState {
  readonly taskId: string;
  readonly status: string;
  readonly message: string | undefined;
  readonly ttlMs: number | undefined;
  readonly pollMs: number;
  readonly fields: JsonObject;
}

/** How long a task that is no longer wanted may take to be told so, in milliseconds. */
const cancelMs = 5_000;

/**
 * Follows a task to its end (mcp-host 5.5, extension `io.modelcontextprotocol/tasks`): polls, answers new input requests
 * once each, and returns the final result or the error of the task.
 * @throws EngineError `call_cancelled`, `call_timeout`, `input_unsupported`, `input_rounds_exceeded`, `result_invalid`,
 * or whatever the connection fails with; whenever it gives up, the server is told with `tasks/cancel`
 */
export async function driveTask(created: JsonObject, deps: TaskDeps): Promise<TaskEnd> {
  const { clock } = deps;
  let task = readTask(created);
  if (task === undefined) throw invalidResult('tools/call');
  const started = clock.elapsed();
  using limit = childSignal(deps.signal);
  using deadline = createDeadline(limit, started, clock);
  const answered = new Set<string>();
  let rounds = 0;
  let told = '';
  try {
    for (;;) {
      deadline.set(Math.min(deps.maxMs, task.ttlMs ?? Infinity));
      const said = `${task.status} ${task.message ?? ''}`;
      if (said !== told) deps.onStatus(task.status, task.message);
      told = said;
      const end = endOf(task);
      if (end !== undefined) return end;
      const asked = newQuestions(task, answered);
      if (asked.length > 0) {
        rounds += 1;
        if (rounds > maxInputRounds) throw roundsExceeded();
        await answerQuestions(task.taskId, asked, deps, limit.signal);
        for (const [key] of asked) answered.add(key);
      }
      await clock.sleep(task.pollMs, limit.signal);
      task = await poll(task, deps, limit.signal);
    }
  } catch (error) {
    if (!finalStatuses.has(task.status)) await cancelTask(task.taskId, deps);
    throw deadline.isPast ? callTimeout(Math.round(clock.elapsed() - started), error) : error;
  }
}

const finalStatuses: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

function endOf(task: TaskState): TaskEnd | undefined {
  switch (task.status) {
    case 'completed': {
      const result = ownValue(task.fields, 'result');
      if (!isJsonObject(result)) throw invalidResult('tasks/get');
      return { kind: 'result', result };
    }
    case 'failed': {
      const error = ownValue(task.fields, 'error');
      const code = isJsonObject(error) ? ownValue(error, 'code') : undefined;
      const message = isJsonObject(error) ? ownValue(error, 'message') : undefined;
      return {
        kind: 'error',
        error: {
          code: typeof code === 'number' && Number.isSafeInteger(code) ? code : -32_603,
          message: typeof message === 'string' ? message : (task.message ?? 'the task failed'),
        },
      };
    }
    case 'cancelled':
      throw mcpError('call_cancelled', 'cancelled by the server');
    default:
      return undefined;
  }
}

function newQuestions(task: TaskState, answered: ReadonlySet<string>): readonly [string, JsonObject][] {
  const asked = ownValue(task.fields, 'inputRequests');
  if (task.status !== 'input_required' || !isJsonObject(asked)) return [];
  return Object.entries(asked).flatMap(([key, value]) =>
    answered.has(key) || !isJsonObject(value) ? [] : [[key, value] as [string, JsonObject]],
  );
}

async function answerQuestions(
  taskId: string,
  asked: readonly [string, JsonObject][],
  deps: TaskDeps,
  signal: AbortSignal,
): Promise<void> {
  const answers = await untilAborted(
    Promise.all(
      asked.map(async ([key, question]) => {
        const method = ownValue(question, 'method');
        const params = ownValue(question, 'params');
        const answer = await deps.input.answer(
          typeof method === 'string' ? method : 'an unnamed request',
          isJsonObject(params) ? params : {},
          signal,
        );
        return [key, answer] as const;
      }),
    ),
    signal,
  );
  await deps.request('tasks/update', { taskId, inputResponses: Object.fromEntries(answers) }, signal);
}

async function poll(task: TaskState, deps: TaskDeps, signal: AbortSignal): Promise<TaskState> {
  const answer = await deps.request('tasks/get', { taskId: task.taskId }, signal);
  if (answer.kind === 'error') {
    return { ...task, status: 'failed', fields: { error: { code: answer.error.code, message: answer.error.message } } };
  }
  const next = answer.kind === 'result' ? readTask(answer.result) : undefined;
  if (next === undefined || next.taskId !== task.taskId) throw invalidResult('tasks/get');
  return next;
}

async function cancelTask(taskId: string, deps: TaskDeps): Promise<void> {
  using limit = childSignal(undefined, cancelMs);
  try {
    await deps.request('tasks/cancel', { taskId }, limit.signal);
  } catch {
    // why: the caller gets the reason it gave up for; a server that cannot be told changes nothing about that
  }
}

function readTask(value: unknown): TaskState | undefined {
  if (!isJsonObject(value)) return undefined;
  const taskId = ownValue(value, 'taskId');
  const status = ownValue(value, 'status');
  if (typeof taskId !== 'string' || taskId === '' || typeof status !== 'string') return undefined;
  const message = ownValue(value, 'statusMessage');
  const ttlMs = ownValue(value, 'ttlMs');
  return {
    taskId,
    status,
    message: typeof message === 'string' ? message : undefined,
    ttlMs: typeof ttlMs === 'number' && ttlMs >= 0 ? ttlMs : undefined,
    pollMs: pollInterval(ownValue(value, 'pollIntervalMs')),
    fields: value,
  };
}

/** 1 s when absent, never outside 250 ms … 30 s (mcp-host 5.5). */
function pollInterval(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? Math.min(30_000, Math.max(250, value)) : 1_000;
}

interface Deadline extends Disposable {
  readonly isPast: boolean;
  /** Moves it: a server may change the lifetime of a task. Counted from the start. */
  set(ms: number): void;
}

function createDeadline(limit: { abort(reason?: unknown): void }, started: number, clock: Clock): Deadline {
  let isPast = false;
  let current = Infinity;
  let wait = new AbortController();

  function expire(): void {
    isPast = true;
    limit.abort(mcpError('call_timeout', 'the task took too long'));
  }

  return {
    get isPast() {
      return isPast;
    },
    set(ms) {
      if (ms === current) return;
      current = ms;
      wait.abort();
      wait = new AbortController();
      if (ms !== Infinity) clock.sleep(Math.max(0, started + ms - clock.elapsed()), wait.signal).then(expire, () => {});
    },
    [Symbol.dispose]: () => wait.abort(),
  };
}
