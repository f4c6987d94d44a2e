import { setTimeout as sleep } from 'node:timers/promises';
import type { HookSet } from '../../src/protocol/hook.ts';
import { countCharacters, isJsonObject, type Json, type JsonObject } from '../../src/protocol/json.ts';
import type { Tool, ToolContext } from '../../src/protocol/tool.ts';
import { defineTool } from '../../src/tools/define.ts';

/** What the tools and hooks of one vector noticed. */
export interface ToolRecord {
  inFlight: number;
  maxInFlight: number;
  /** Names and call ids in the order handlers started. */
  readonly started: string[];
  readonly hookLog: Json[];
}

const toolKeys = [
  'name',
  'mutating',
  'description',
  'input_schema',
  'timeout_ms',
  'typed',
  'needs_approval',
  'behaviour',
];
const behaviourKeys = [
  'do',
  'content',
  'is_error',
  'metadata',
  'value',
  'text',
  'count',
  'message',
  'sync',
  'on_abort',
  'delay_ms',
  'delay_by_text',
  'cancel_run',
];

/** A vector's tool as a tool of the product. */
export function toTool(entry: JsonObject, record: ToolRecord, cancelRun: () => void): Tool {
  const behaviour = isJsonObject(entry['behaviour']) ? entry['behaviour'] : {};
  for (const key of Object.keys(entry)) if (!toolKeys.includes(key)) throw new Error(`unknown tool key \`${key}\``);
  for (const key of Object.keys(behaviour)) {
    if (!behaviourKeys.includes(key)) throw new Error(`unknown behaviour key \`${key}\``);
  }
  const call = (input: unknown, context: ToolContext): unknown => {
    record.started.push(context.call);
    record.inFlight += 1;
    record.maxInFlight = Math.max(record.maxInFlight, record.inFlight);
    const done = (): void => void (record.inFlight -= 1);
    if (behaviour['cancel_run'] === true) cancelRun();
    if (behaviour['do'] === 'throw' && behaviour['sync'] === true) {
      done();
      throw new Error(String(behaviour['message']));
    }
    return behave(behaviour, isJsonObject(input) ? input : {}, context).finally(done);
  };
  const shared = {
    name: String(entry['name']),
    description: typeof entry['description'] === 'string' ? entry['description'] : '',
    ...(typeof entry['timeout_ms'] === 'number' ? { timeout_ms: entry['timeout_ms'] } : {}),
    ...(entry['needs_approval'] === true ? { needs_approval: true } : {}),
  };
  const schema = isJsonObject(entry['input_schema']) ? entry['input_schema'] : { type: 'object' };
  if (entry['typed'] === true) {
    return defineTool({ ...shared, mutating: entry['mutating'] === true, input: schema, execute: call });
  }
  return { ...shared, is_mutating: entry['mutating'] === true, input_schema: schema, call };
}

async function behave(behaviour: JsonObject, input: JsonObject, context: ToolContext): Promise<unknown> {
  const byText = behaviour['delay_by_text'];
  const delays = isJsonObject(byText) && typeof input['text'] === 'string' ? byText[input['text']] : undefined;
  const delayMs = Number(delays ?? behaviour['delay_ms'] ?? 0);
  if (delayMs > 0) await sleep(delayMs);
  switch (behaviour['do'] ?? 'echo') {
    case 'echo':
      return typeof input['text'] === 'string' ? input['text'] : JSON.stringify(input);
    case 'return': {
      const { content, is_error, metadata } = behaviour;
      return { content, is_error: is_error === true, ...(metadata === undefined ? {} : { metadata }) };
    }
    case 'return_raw':
      return behaviour['value'];
    case 'repeat':
      return String(behaviour['text']).repeat(Number(behaviour['count']));
    case 'throw':
      throw new Error(String(behaviour['message']));
    case 'throw_value':
      // oxlint-disable-next-line no-throw-literal, typescript/only-throw-error -- the case under test
      throw behaviour['value'];
    case 'context':
      return JSON.stringify({ agent: context.agent, has_task_id: context.task_id !== undefined });
    case 'hang':
      return await hang(behaviour, context.signal);
    default:
      throw new Error(`unknown behaviour \`${JSON.stringify(behaviour['do'])}\``);
  }
}

function hang(behaviour: JsonObject, signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      if (behaviour['on_abort'] === 'reject') reject(new DOMException('aborted', 'AbortError'));
      else if (behaviour['on_abort'] === 'resolve') resolve(behaviour['content']);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}

/** A vector's hook as hooks of the product. */
export function toHooks(entry: JsonObject, record: ToolRecord): HookSet {
  const { name, before_tool, after_tool, augment_prompt, ...rest } = entry;
  if (Object.keys(rest).length > 0) throw new Error(`unknown hook keys ${Object.keys(rest).join(', ')}`);
  const hook = String(name);
  return {
    name: hook,
    ...(isJsonObject(before_tool)
      ? {
          beforeTool: ({ tool }) => {
            record.hookLog.push(['before', hook, tool]);
            if (typeof before_tool['throws'] === 'string') throw new Error(before_tool['throws']);
            const abort = before_tool['abort_tool'];
            return abort === '*' || abort === tool ? { abort: String(before_tool['reason']) } : undefined;
          },
        }
      : {}),
    ...(after_tool === undefined || after_tool === false
      ? {}
      : {
          afterTool: ({ tool, output }) => {
            const line = ['after', hook, tool, output.is_error];
            record.hookLog.push(after_tool === 'chars' ? [...line, countCharacters(output.content)] : line);
          },
        }),
    ...(augment_prompt === undefined
      ? {}
      : { augmentPrompt: () => (typeof augment_prompt === 'string' ? augment_prompt : null) }),
  };
}
