import type { TaskInfo } from '../protocol/agent.ts';
import type { Cancellation } from '../protocol/cancellation.ts';
import type { Logger } from '../protocol/deps.ts';
import { EngineError, messageOf } from '../protocol/error.ts';
import type {
  AfterToolHook,
  AugmentPromptHook,
  BeforeToolAnswer,
  BeforeToolCall,
  BeforeToolHook,
  HookDecision,
  HookSet,
} from '../protocol/hook.ts';
import { childSignal, untilAborted } from '../protocol/signal.ts';
import type { ToolOutput } from '../protocol/tool.ts';

/** Limit of one hook call (agent-runtime 18.13). */
export const defaultHookTimeoutMs = 60_000;

/**
 * The awaited decision points. Unlike observers, hooks are asked one after the other in registration order, and a hook that
 * fails refuses: a policy that cannot answer must not let the call through.
 */
export interface Hooks {
  /** @returns a function that takes the whole set out again */
  register(hooks: HookSet): () => void;
  beforeTool(name: string, hook: BeforeToolHook): () => void;
  afterTool(name: string, hook: AfterToolHook): () => void;
  augmentPrompt(name: string, hook: AugmentPromptHook): () => void;
  names(): readonly string[];
  /** The first abort ends the chain; an `ask` stands unless a later hook aborts. */
  runBeforeTool(call: BeforeToolCall): Promise<HookDecision> | HookDecision;
  /** Failures are logged and ignored: the call already happened. */
  runAfterTool(call: BeforeToolCall, output: ToolOutput): Promise<void> | void;
  /** The trimmed, non-empty additions in order. @throws EngineError `plugin` when a hook fails */
  runAugmentPrompt(
    role: string,
    task: TaskInfo,
    cancellation: Pick<Cancellation, 'signal'>,
  ): Promise<readonly string[]>;
}

const goOn: HookDecision = { kind: 'continue' };

export function createHooks(deps: { readonly logger: Logger; readonly timeoutMs?: number }): Hooks {
  let sets: readonly HookSet[] = [];
  // why: asked for at every call, changed hardly ever
  let askedSets: readonly HookSet[] = [];
  let toldSets: readonly HookSet[] = [];

  function change(changed: readonly HookSet[]): void {
    sets = changed;
    askedSets = sets.filter((hooks) => hooks.beforeTool !== undefined);
    toldSets = sets.filter((hooks) => hooks.afterTool !== undefined);
  }

  function register(hooks: HookSet): () => void {
    change([...sets, hooks]);
    return () => change(sets.filter((entry) => entry !== hooks));
  }

  function limitOf(hooks: HookSet): number {
    return hooks.timeoutMs ?? deps.timeoutMs ?? defaultHookTimeoutMs;
  }

  async function askAll(asked: readonly HookSet[], call: BeforeToolCall): Promise<HookDecision> {
    let pending: HookDecision = goOn;
    for (const hooks of asked) {
      const decision = await askOne(hooks, call);
      if (decision.kind === 'abort') return decision;
      if (decision.kind === 'ask' && pending.kind === 'continue') pending = decision;
    }
    return pending;
  }

  async function askOne(hooks: HookSet, call: BeforeToolCall): Promise<HookDecision> {
    try {
      const answer = await within(() => hooks.beforeTool?.(call), limitOf(hooks), call.context.signal);
      return toDecision(hooks.name, answer);
    } catch (error) {
      const reason = `hook failed: ${messageOf(error)}`;
      deps.logger.warn(`before_tool ${reason}`, { hook: hooks.name, tool: call.tool });
      return { kind: 'abort', hook: hooks.name, reason };
    }
  }

  async function tellAll(told: readonly HookSet[], call: BeforeToolCall, output: ToolOutput): Promise<void> {
    for (const hooks of told) {
      try {
        // why: no abort signal here, because after_tool also tells of calls that were cancelled
        await within(() => hooks.afterTool?.({ ...call, output }), limitOf(hooks), undefined);
      } catch (error) {
        deps.logger.warn(`after_tool hook failed: ${messageOf(error)}`, { hook: hooks.name, tool: call.tool });
      }
    }
  }

  return {
    register,
    beforeTool: (name, hook) => register({ name, beforeTool: hook }),
    afterTool: (name, hook) => register({ name, afterTool: hook }),
    augmentPrompt: (name, hook) => register({ name, augmentPrompt: hook }),
    names: () => sets.map((hooks) => hooks.name),
    runBeforeTool(call) {
      return askedSets.length === 0 ? goOn : askAll(askedSets, call);
    },
    runAfterTool(call, output) {
      return toldSets.length === 0 ? undefined : tellAll(toldSets, call, output);
    },
    async runAugmentPrompt(role, task, cancellation) {
      const additions: string[] = [];
      for (const hooks of sets) {
        if (hooks.augmentPrompt === undefined) continue;
        try {
          const addition = await within(() => hooks.augmentPrompt?.(role, task), limitOf(hooks), cancellation.signal);
          const text = typeof addition === 'string' ? addition.trim() : '';
          if (text !== '') additions.push(text);
        } catch (error) {
          const message = `augment_prompt of hook \`${hooks.name}\` failed: ${messageOf(error)}`;
          throw new EngineError('plugin', message, { cause: error });
        }
      }
      return additions;
    },
  };
}

function toDecision(hook: string, answer: BeforeToolAnswer): HookDecision {
  if (answer === undefined || answer === null) return goOn;
  if (typeof answer === 'object') {
    if ('abort' in answer && typeof answer.abort === 'string') return { kind: 'abort', hook, reason: answer.abort };
    if ('ask' in answer && typeof answer.ask === 'string') return { kind: 'ask', hook, reason: answer.ask };
  }
  throw new TypeError('the answer is neither nothing, `{abort: reason}` nor `{ask: reason}`');
}

async function within<T>(work: () => T | Promise<T>, limitMs: number, parent: AbortSignal | undefined): Promise<T> {
  const started = work();
  if (!(started instanceof Promise)) return started;
  if (limitMs <= 0 && parent === undefined) return await started;
  using limit = childSignal(parent, limitMs);
  try {
    return await untilAborted(started, limit.signal);
  } catch (error) {
    if (limit.timedOut)
      throw new EngineError('plugin', `no answer within ${limitMs} ms`, { code: 'timeout', cause: error });
    throw error;
  }
}
