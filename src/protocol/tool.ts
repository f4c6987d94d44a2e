import type { CallId, RunId } from './ids.ts';
import type { Json, JsonObject } from './json.ts';

/** What a tool may do to the machine. Data that crosses to plugins and threads, so the wire's spelling. */
export interface Permissions {
  readonly read: boolean;
  readonly write: boolean;
  readonly execute: boolean;
  readonly network: boolean;
  /** Absolute folders outside the workspace that may be read. Never sent to plugins. */
  readonly extra_read_paths?: readonly string[];
}

/** Everything on the machine, no network. */
export const defaultPermissions: Permissions = { read: true, write: true, execute: true, network: false };

/** A tool as it is offered to a model. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly input_schema: JsonObject;
}

/** The part of a call's context that is plain data: it crosses to worker threads and plugin processes. */
export interface ToolContextData {
  /** The folder the tool works in, as configured. */
  readonly workspace_root: string;
  readonly permissions: Permissions;
  readonly task_id?: string | undefined;
  /** Role of the calling agent; `anonymous` outside a run. */
  readonly agent: string;
  readonly call: CallId;
  readonly run?: RunId;
}

export interface ToolContext extends ToolContextData {
  /** Aborts when the run is cancelled, the call times out or the engine closes. */
  readonly signal: AbortSignal;
  /** Reports progress of a long call; shown as an event, never to the model. */
  readonly onProgress?: (progress: ToolProgress) => void;
  /** Called when a call that had to wait for a thread begins; its time limit counts from then (reliability WK11). */
  readonly onStarted?: (() => void) | undefined;
  /** How long a call may go on after its signal aborted before it is ended by force. Default 1 000. */
  readonly graceMs?: number;
  /** Throws the signal's reason once it aborted; in a worker thread also in the middle of a busy loop. */
  readonly throwIfCancelled?: () => void;
}

export interface ToolProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** What a call gives back. A failure is an output with `is_error`, not an exception. */
export interface ToolOutput {
  readonly content: string;
  readonly is_error: boolean;
  /** For observers only, never shown to the model. */
  readonly metadata?: { readonly [key: string]: Json | undefined };
}

/**
 * A tool of the registry.
 *
 * `call` may return an output, a string, nothing, or any JSON value (agent-runtime 5.2), and may throw; dispatch turns
 * all of these into one output.
 */
export interface Tool {
  /** Unique in the registry; snake_case. */
  readonly name: string;
  readonly description: string;
  readonly input_schema: JsonObject;
  /** A mutating call runs alone; others of one step run side by side. Default false. */
  readonly is_mutating?: boolean;
  /** Limit of one call in milliseconds; 0 = none (the tool keeps its own). Default: the run's `toolTimeoutMs`. */
  readonly timeout_ms?: number;
  /** Ask the approver before each call. */
  readonly needs_approval?: boolean;
  /** Who contributed it: a plugin or MCP server name; absent for the embedder's and built-in tools. */
  readonly owner?: string;
  /** Where the call executes, for display: default `main`. */
  readonly runs_in?: 'main' | 'thread' | 'process';
  /** Where a worker thread finds the tool; only non-mutating tools that have it run on the pool (agent-runtime 18.4). */
  readonly worker?: ToolWorker;
  /**
   * Checks permission and input in front of the handler: the problem, or the value to hand to `call`. Without it `call`
   * gets the input as it is.
   */
  readonly validate?: (input: JsonObject, context: ToolContextData) => InputCheck | Promise<InputCheck>;
  call(input: JsonObject, context: ToolContext): unknown;
}

export interface ToolWorker {
  /** File URL of the module. */
  readonly module: string;
  /** Its export: a tool, or the handler itself. Default: the export that holds a tool of this name. */
  readonly export?: string;
  /** Ends a call that stops showing signs of life (`throwIfCancelled`) for this long, with this error result. */
  readonly stall?: { readonly after_ms: number; readonly content: string };
  /** Calls of this tool on threads at once, of all runs together. Default: no limit but the threads. */
  readonly max_at_once?: number;
  /**
   * Shares one call out over threads; runs on the main thread.
   * @param call runs the export with an input of its own on a thread
   * @param input what the validator let through
   * @param threads how many there are
   */
  readonly spread?: (call: (input: unknown) => Promise<unknown>, input: unknown, threads: number) => Promise<unknown>;
}

export type InputCheck =
  | { readonly ok: true; readonly value: unknown }
  /** `detail` reads `<path>: <message>`, several joined with `; `. */
  | { readonly ok: false; readonly detail: string }
  /** A refusal with a text of its own, such as a missing permission. */
  | { readonly ok: false; readonly output: ToolOutput };

export function toToolSpec(tool: ToolSpec): ToolSpec {
  return { name: tool.name, description: tool.description, input_schema: tool.input_schema };
}

export function errorOutput(content: string, metadata?: ToolOutput['metadata']): ToolOutput {
  return metadata === undefined ? { content, is_error: true } : { content, is_error: true, metadata };
}

export function okOutput(content: string, metadata?: ToolOutput['metadata']): ToolOutput {
  return metadata === undefined ? { content, is_error: false } : { content, is_error: false, metadata };
}
