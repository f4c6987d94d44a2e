import { realpath } from 'node:fs/promises';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { type AgentInput, type AgentSpec, defineAgent } from '../protocol/agent.ts';
import { messageOf } from '../protocol/error.ts';
import { isJsonObject, type Json, type JsonObject, ownValue } from '../protocol/json.ts';
import { rpcCodes } from '../protocol/jsonrpc.ts';
import { describeIssue, isStandardSchema, jsonSchemaOf, type StandardSchema } from '../protocol/standard-schema.ts';
import type { ToolProgress } from '../protocol/tool.ts';
import { type PluginCallContext, type PluginLogLevel, vppMethods } from '../protocol/vpp.ts';
import { type RpcCall, RpcFailure, type RpcServer, serveRpc } from '../transport/rpc-server.ts';
import { takeOverStdout } from '../transport/stdout-guard.ts';

/** A validator (zod, or any other Standard Schema) or a JSON Schema of an object. */
export type PluginInput = StandardSchema | JsonObject;

/** What a handler gets: the validator's output, or the arguments as they came (`null` when there were none). */
export type PluginInputOf<Input extends PluginInput> = Input extends StandardSchema<infer Output> ? Output : Json;

export interface PluginToolDefinition<Input extends PluginInput> {
  readonly name: string;
  readonly description?: string;
  /** Default: any object. A JSON Schema is shown to the model but not checked; a validator is both. */
  readonly input?: Input;
  /** The JSON Schema shown to the model, when `input` is a validator that cannot export one. */
  readonly input_schema?: JsonObject;
  /** False: the call changes nothing and may run beside others. Left out, hosts assume that it does. */
  readonly mutating?: boolean;
  /**
   * Does the work. A string is the answer; an object with `content` (and `is_error`) too; nothing is an empty answer, other
   * JSON is sent as its text. What it throws, or an Error it returns, becomes a failed result with its message.
   */
  execute(input: PluginInputOf<Input>, call: PluginCall): unknown;
}

/** One tool call, as the handler sees it. */
export interface PluginCall {
  /** Who calls, from where and with which permissions; absent when the host sent no usable context. */
  readonly context: PluginCallContext | undefined;
  /** Aborts when the host gives the call up or the plugin must end. */
  readonly signal: AbortSignal;
  /** Tells the host how far the call is; false when it was not sent. */
  progress(report: ToolProgress): boolean;
  /** Writes to the host's log; false when it was not sent. */
  log(level: PluginLogLevel, message: string): boolean;
  /**
   * A path inside the workspace, absolute, links followed. The file need not exist.
   * @throws Error when it leads outside, or there is no workspace
   */
  resolvePath(file: string): Promise<string>;
}

export interface PluginHookCall {
  readonly tool: string;
  /** What the model sent, before any check. */
  readonly input: Json;
  readonly signal: AbortSignal;
}

/** Nothing lets the call pass, `abort` refuses it with a reason for the model. Throwing refuses it too. */
export type PluginHookAnswer = void | undefined | null | { readonly abort: string };
export type PluginHook = (call: PluginHookCall) => PluginHookAnswer | Promise<PluginHookAnswer>;

export interface PluginOptions {
  readonly name: string;
  /** Default `0.0.0`. */
  readonly version?: string;
  /** How long calls in flight may go on after `shutdown` or the end of the input, in milliseconds. Default 1 000. */
  readonly drainMs?: number;
}

export interface ServeOptions {
  /** Default: stdin and stdout; then anything else written to stdout goes to stderr while serving. */
  readonly input?: Readable;
  readonly output?: Writable;
  /** End the process when serving ends, whatever timers or sockets it still holds. Default: on stdin and stdout. */
  readonly exit?: boolean;
}

/** A plugin under construction. Registering a tool or agent again replaces it in its place. */
export interface Plugin {
  tool<Input extends PluginInput = JsonObject>(definition: PluginToolDefinition<Input>): Plugin;
  agent(spec: AgentInput): Plugin;
  /** Asked before every tool call of the host; several are asked in order, the first refusal counts. */
  beforeTool(hook: PluginHook): Plugin;
  /** False before and after serving, or while the host reads too slowly. */
  log(level: PluginLogLevel, message: string): boolean;
  /** Answers one request without streams, for tests. @throws RpcFailure the JSON-RPC error it would answer */
  handle(method: string, params?: Json, signal?: AbortSignal): Promise<unknown>;
  /** Serves until `shutdown` or the end of the input. @throws Error when the streams fail */
  serve(options?: ServeOptions): Promise<void>;
}

interface RegisteredTool {
  readonly descriptor: JsonObject;
  run(args: Json, call: PluginCall): unknown;
}

/** Makes a plugin for any host of the Vibe Plugin Protocol. */
export function createPlugin(options: PluginOptions): Plugin {
  const tools = new Map<string, RegisteredTool>();
  const agents = new Map<string, AgentSpec>();
  const hooks: PluginHook[] = [];
  let serving: RpcServer | undefined;

  const log = (level: PluginLogLevel, message: string): boolean =>
    serving?.notify(vppMethods.log, { level, message }) ?? false;

  function answer(method: string, params: unknown, call: RpcCall): unknown {
    switch (method) {
      case vppMethods.initialize: {
        const capabilities = { tools: tools.size > 0, agents: agents.size > 0, hooks: hooks.length > 0 };
        return { name: options.name, version: options.version ?? '0.0.0', capabilities };
      }
      case vppMethods.listTools:
        return { tools: [...tools.values()].map((tool) => tool.descriptor) };
      case vppMethods.callTool:
        return callTool(params, call);
      case vppMethods.listAgents:
        return { agents: [...agents.values()] };
      case vppMethods.beforeTool:
        return askHooks(params, call);
      case vppMethods.ping:
      case vppMethods.shutdown:
        return {};
      default:
        throw new RpcFailure(rpcCodes.methodNotFound, `method not found: ${method}`);
    }
  }

  function callTool(params: unknown, call: RpcCall): unknown {
    const given = toParams(params);
    const name = textOf(given, 'name');
    const tool = tools.get(name);
    if (tool === undefined) throw new RpcFailure(rpcCodes.invalidParams, `unknown tool \`${name}\``);
    const meta = ownValue(given, '_meta');
    const token = isJsonObject(meta) ? ownValue(meta, 'progressToken') : undefined;
    const context = isJsonObject(meta) ? readContext(ownValue(meta, 'vibe')) : undefined;
    const args = (ownValue(given, 'arguments') ?? null) as Json;
    try {
      const result = tool.run(args, {
        context,
        get signal() {
          return call.signal;
        },
        log,
        progress: (report) =>
          token !== undefined && (serving?.notify(vppMethods.progress, { progressToken: token, ...report }) ?? false),
        resolvePath: (file) => resolveInside(context?.workspace_root, file),
      });
      return result instanceof Promise ? result.then(toToolResult, toToolFailure) : toToolResult(result);
    } catch (error) {
      return toToolFailure(error);
    }
  }

  function askHooks(params: unknown, call: RpcCall): unknown {
    const given = toParams(params);
    const tool = textOf(given, 'tool');
    if (hooks.length === 0) return { decision: 'continue' };
    return decide({ tool, input: (ownValue(given, 'input') ?? null) as Json, signal: call.signal });
  }

  async function decide(asked: PluginHookCall): Promise<object> {
    for (const hook of hooks) {
      const said = await hook(asked);
      if (said === undefined || said === null) continue;
      if (typeof said === 'object' && typeof said.abort === 'string') return { decision: 'abort', reason: said.abort };
      throw new RpcFailure(rpcCodes.internalError, 'the hook must return nothing or { abort: reason }');
    }
    return { decision: 'continue' };
  }

  async function serve(where: ServeOptions = {}): Promise<void> {
    const isOnStdio = where.output === undefined;
    const stdout = isOnStdio ? takeOverStdout() : undefined;
    const server = serveRpc({
      input: where.input ?? process.stdin,
      output: where.output ?? stdout?.stream ?? process.stdout,
      drainMs: options.drainMs ?? 1_000,
      lastMethod: vppMethods.shutdown,
      handle: answer,
    });
    serving = server;
    let code = 0;
    try {
      await server.ended;
    } catch (error) {
      code = 1;
      throw error;
    } finally {
      serving = undefined;
      stdout?.release();
      // why: a timer or a socket of the author must not outlive the host (reliability PL2)
      if (where.exit ?? isOnStdio) process.exit(code);
    }
  }

  const plugin: Plugin = {
    tool(definition) {
      tools.set(definition.name, toRegistered(definition));
      return plugin;
    },
    agent(spec) {
      agents.set(spec.role, defineAgent(spec));
      return plugin;
    },
    beforeTool(hook) {
      hooks.push(hook);
      return plugin;
    },
    log,
    handle: async (method, params, signal) =>
      await answer(method, params, { signal: signal ?? new AbortController().signal }),
    serve,
  };
  return plugin;
}

function toRegistered<Input extends PluginInput>(definition: PluginToolDefinition<Input>): RegisteredTool {
  const { name, description = '', input, mutating } = definition;
  const validator = isStandardSchema(input) ? input : undefined;
  const exported = validator === undefined ? input : jsonSchemaOf(validator);
  const schema = definition.input_schema ?? exported ?? { type: 'object' };
  return {
    // why: only the protocol's own spelling; hosts may refuse a message that has both
    descriptor: {
      name,
      description,
      input_schema: schema as JsonObject,
      ...(mutating === undefined ? {} : { mutating }),
    },
    run(args, call) {
      // `execute` gets what the validator let through, or plain JSON, which is what its type says.
      if (validator === undefined) return definition.execute(args as PluginInputOf<Input>, call);
      return runChecked(validator, args, (value) => definition.execute(value as PluginInputOf<Input>, call));
    },
  };
}

async function runChecked(validator: StandardSchema, args: Json, run: (value: unknown) => unknown): Promise<unknown> {
  const checked = await validator['~standard'].validate(args ?? {});
  if (checked.issues === undefined) return await run(checked.value);
  throw new Error(`invalid arguments: ${checked.issues.map(describeIssue).join('; ')}`);
}

function toToolResult(value: unknown): object {
  if (value instanceof Error) return toToolFailure(value);
  if (isJsonObject(value) && 'content' in value) {
    const { content, is_error } = value;
    if (Array.isArray(content)) return { content, is_error: is_error === true };
    if (typeof content === 'string') return toTextResult(content, is_error === true);
  }
  if (typeof value === 'string') return toTextResult(value, false);
  return toTextResult(value === undefined ? '' : (JSON.stringify(value) ?? ''), false);
}

function toToolFailure(error: unknown): object {
  return toTextResult(messageOf(error), true);
}

function toTextResult(text: string, isError: boolean): object {
  return { content: [{ type: 'text', text }], is_error: isError };
}

function toParams(params: unknown): JsonObject {
  if (!isJsonObject(params)) throw new RpcFailure(rpcCodes.invalidParams, 'params must be an object');
  return params;
}

function textOf(params: JsonObject, key: string): string {
  const value = ownValue(params, key);
  if (typeof value !== 'string') throw new RpcFailure(rpcCodes.invalidParams, `\`${key}\` must be a string`);
  return value;
}

function readContext(vibe: unknown): PluginCallContext | undefined {
  if (!isJsonObject(vibe)) return undefined;
  const root = ownValue(vibe, 'workspace_root');
  const task = ownValue(vibe, 'task_id') ?? undefined;
  const agent = ownValue(vibe, 'agent') ?? '';
  const granted = ownValue(vibe, 'permissions') ?? {};
  const isUsable = typeof root === 'string' && typeof agent === 'string' && isJsonObject(granted);
  if (!isUsable || (task !== undefined && typeof task !== 'string')) return undefined;
  const has = (name: string): boolean => ownValue(granted, name) === true;
  const permissions = { read: has('read'), write: has('write'), execute: has('execute'), network: has('network') };
  return { workspace_root: root, ...(task === undefined ? {} : { task_id: task }), agent, permissions };
}

async function resolveInside(root: string | undefined, file: string): Promise<string> {
  if (root === undefined) throw new Error('this call came without a workspace');
  const base = await realpath(root);
  const target = await realpathOfExisting(path.resolve(base, file));
  const relative = path.relative(base, target);
  const isInside = relative !== '..' && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative);
  if (!isInside) throw new Error(`\`${file}\` is outside the workspace`);
  return target;
}

/** Follows the links of the part that exists and keeps the rest, so that a file can be checked before it is made. */
async function realpathOfExisting(file: string): Promise<string> {
  try {
    return await realpath(file);
  } catch (error) {
    const parent = path.dirname(file);
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (!isMissing || parent === file) throw error;
    return path.join(await realpathOfExisting(parent), path.basename(file));
  }
}
