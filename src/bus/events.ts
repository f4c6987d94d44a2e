import { z } from 'zod';
import type { CallId, RunId } from '../protocol/ids.ts';
import { isJsonObject, type Json, type JsonObject } from '../protocol/json.ts';

const runId = z.custom<RunId>((value) => typeof value === 'string' && value !== '');
const callId = z.custom<CallId>(isCallId);
const text = z.string();
const count = z.int().nonnegative();
const level = z.enum(['info', 'warn', 'error']);
const subtask = text.nullable();
const jsonObject = z.custom<JsonObject>(isJsonObject);
const usage = z.strictObject({
  input_tokens: count,
  output_tokens: count,
  cache_read_tokens: count,
  cache_write_tokens: count,
});
/** Pipeline events belong to the embedding program: same envelope, its own fields. */
const pipeline = z.looseObject({ run: runId }).catchall(z.custom<Json>());

const share = z.number().nonnegative();
const engineStats = {
  runs: z.strictObject({
    /** Executing; child runs included. */
    active: count,
    /** Waiting for a turn. */
    queued: count,
    /** Of the active ones: on the main thread. */
    inline: count,
    /** Since the engine opened. */
    started: count,
  }),
  actors: z.strictObject({ living: count, waiting_commands: count, deepest_mailbox: count, dead_letters: count }),
  run_pool: z.strictObject({
    running: count,
    queued: count,
    threads: z.array(z.strictObject({ thread: count, runs: count, utilization: share })),
  }),
  /** Null before the first tool that runs in a thread. */
  tool_pool: z
    .strictObject({
      threads: count,
      /** Of each thread. */
      utilization: z.array(share),
      busy: count,
      queued: count,
      completed: count,
      lost: count,
    })
    .nullable(),
  /** Of the main thread, since the last figures. */
  loop: z.strictObject({ p50_ms: share, p99_ms: share, max_ms: share, utilization: share }),
  events: z.strictObject({
    published: count,
    per_second: share,
    /** Lost by slow readers so far. */
    lagged: count,
    /** Waiting for the slowest reader. */
    backlog: count,
    listeners: count,
    listener_errors: count,
  }),
  memory: z.strictObject({ rss_bytes: count, heap_used_bytes: count }),
};

/**
 * The only list of event types. A type is snake_case, subject then past participle. Sources: agent-runtime 8 and 18,
 * plugin-protocol 16.16, mcp-host 12.3; actor and engine events are ours.
 */
export const events = {
  agent_started: z.strictObject({
    run: runId,
    role: text,
    subtask,
    model: text,
    /** Only on child runs: the run and call that started it. */
    parent: z.strictObject({ run: runId, call: callId }).optional(),
  }),
  agent_delta: z.strictObject({
    run: runId,
    role: text,
    subtask,
    delta: z.strictObject({ kind: z.enum(['text', 'thinking']), text }),
  }),
  agent_text: z.strictObject({ run: runId, role: text, text }),
  tool_called: z.strictObject({ run: runId, role: text, tool: text, input: jsonObject, call: callId, subtask }),
  tool_returned: z.strictObject({
    run: runId,
    role: text,
    tool: text,
    is_error: z.boolean(),
    /** From just after `tool_called` to the output, in whole milliseconds. */
    duration_ms: count,
    /** First 200 characters of the output the model sees. */
    preview: text,
    call: callId,
    subtask,
    exit_code: z.int().nullable(),
    timed_out: z.boolean(),
    /** Characters of the complete output. */
    output_chars: count,
    output_file: text.nullable(),
  }),
  retrying: z.strictObject({ run: runId, what: text, attempt: z.int().positive(), delay_ms: count }),
  /** `stop` is the JSON text of the AgentStop. */
  agent_finished: z.strictObject({ run: runId, role: text, steps: count, usage, stop: text }),
  log: z.strictObject({ run: runId.nullable(), level, message: text }),

  context_compacted: z.strictObject({ run: runId, role: text, before_tokens: count, after_tokens: count }),
  tool_approval_requested: z.strictObject({
    run: runId,
    role: text,
    tool: text,
    input: jsonObject,
    call: callId,
    subtask,
    reason: text.nullable(),
  }),
  tool_approval_resolved: z.strictObject({ run: runId, call: callId, approved: z.boolean(), comment: text.nullable() }),
  /** The run waits for its turn: `position` among the waiting runs of its tenant, `queued` of all tenants. */
  run_queued: z.strictObject({
    run: runId,
    role: text,
    tenant: text.nullable(),
    priority: z.number(),
    position: count,
    queued: count,
  }),
  run_steered: z.strictObject({ run: runId, text }),
  run_followed_up: z.strictObject({ run: runId, text }),

  run_started: pipeline,
  phase_started: pipeline,
  phase_finished: pipeline,
  subtask_updated: pipeline,
  validation_finished: pipeline,
  subtask_integrated: pipeline,
  committed: pipeline,
  merged: pipeline,
  budget_updated: pipeline,
  artefact_written: pipeline,
  approval_requested: pipeline,
  approval_resolved: pipeline,
  paused: pipeline,
  run_finished: pipeline,

  plugin_started: z.strictObject({ plugin: text, version: text, tools: count, agents: count, hook: z.boolean() }),
  plugin_exited: z.strictObject({
    plugin: text,
    code: z.int().nullable(),
    signal: text.nullable(),
    stderr_tail: z.array(text),
  }),
  /** `restarts` counts since the plugin was last up for a minute. */
  plugin_restarted: z.strictObject({ plugin: text, restarts: count }),
  plugin_gave_up: z.strictObject({ plugin: text, restarts: count }),
  plugin_tools_changed: z.strictObject({ plugin: text, tools: z.array(text) }),
  plugin_progress: z.strictObject({
    plugin: text,
    run: runId.nullable(),
    call: callId.nullable(),
    tool: text,
    progress: z.number(),
    total: z.number().optional(),
    message: text.optional(),
  }),

  mcp_server_connected: z.strictObject({
    server_name: text,
    era: z.enum(['modern', 'legacy']),
    protocol_version: text,
    transport: text,
    sandbox: text,
    elapsed_ms: count,
  }),
  mcp_server_stopped: z.strictObject({ server_name: text, exit_code: z.int().nullable(), signal: text.nullable() }),
  mcp_server_failed: z.strictObject({ server_name: text, error_code: text, elapsed_ms: count }),
  mcp_tools_changed: z.strictObject({ server_name: text, tool_count: count }),
  mcp_tool_changed: z.strictObject({ server_name: text, tool_name: text }),
  mcp_tool_loaded: z.strictObject({ server_name: text, tool_name: text, elapsed_ms: count, size_kb: z.number() }),
  mcp_tool_unloaded: z.strictObject({ server_name: text, tool_name: text }),
  mcp_auth_needed: z.strictObject({ server_name: text, error_code: text }),

  /** Progress of `engine.map`: how many of its runs have ended, and how many of these did not complete. */
  map_progressed: z.strictObject({ map: text, role: text, done: count, failed: count, total: count }),
  /** Figures of the engine, every `statsIntervalMs`. Times are in milliseconds; shares are from 0 to 1. */
  engine_stats: z.strictObject(engineStats),
  /** The main thread stood still while these tools ran on it; one of them when it is known which. */
  loop_stalled: z.strictObject({
    stalled_ms: count,
    calls: z.array(z.strictObject({ run: runId.nullable(), call: callId, tool: text })),
  }),

  actor_started: z.strictObject({ actor: text, kind: text }),
  actor_stopped: z.strictObject({ actor: text, kind: text }),
  actor_failed: z.strictObject({ actor: text, kind: text, message: text }),
  actor_restarted: z.strictObject({ actor: text, kind: text, starts: count }),
  actor_gave_up: z.strictObject({ actor: text, kind: text, starts: count }),

  /** A tool replaced another of the same name: the later declaration wins. */
  tool_overridden: z.strictObject({ tool: text, owner: text.nullable(), previous_owner: text.nullable() }),
};

export type EventType = keyof typeof events;

/** The same schemas with `type` in them: what `publish` checks a whole event against. */
export type EventSchemas = ReadonlyMap<string, z.ZodType>;

export function createEventSchemas(): EventSchemas {
  return new Map(Object.entries(events).map(([type, schema]) => [type, schema.extend({ type: z.literal(type) })]));
}

type EventOf<T extends EventType> = T extends EventType
  ? { readonly type: T } & Readonly<z.infer<(typeof events)[T]>>
  : never;
// why: twice a tool call, where a regular expression costs more than the rest of the check
function isCallId(value: unknown): boolean {
  if (typeof value !== 'string' || value.length !== 12) return false;
  for (let index = 0; index < 12; index += 1) {
    const unit = value.charCodeAt(index);
    if (unit < 0x30 || (unit > 0x39 && unit < 0x61) || unit > 0x66) return false;
  }
  return true;
}

/** Any event of the catalogue; `BusEvent<'tool_called'>` is one type of it. */
export type BusEvent<T extends EventType = EventType> = EventOf<T>;

/** Events that only live in the moment: no `seq`, never logged, first to be dropped. */
export const ephemeralTypes: ReadonlySet<string> = new Set<EventType>([
  'agent_delta',
  'plugin_progress',
  'engine_stats',
]);

export function isEventType(type: string): type is EventType {
  return Object.hasOwn(events, type);
}

/** The JSON Schema of one event type, `type` included, for documentation and other languages. */
export function eventJsonSchema(type: EventType): JsonObject {
  const schema = z.toJSONSchema(events[type], { unrepresentable: 'any' }) as JsonObject;
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const required = Array.isArray(schema['required']) ? (schema['required'] as readonly Json[]) : [];
  return { ...schema, properties: { type: { const: type }, ...properties }, required: ['type', ...required] };
}
