import { type AgentSpec, defineAgent, thinkingLevels, toolSelectionNames } from './agent.ts';
import { EngineError } from './error.ts';
import { ownValue } from './json.ts';
import type {
  HookAnswer,
  InitializeResult,
  PluginLogLevel,
  PluginProgress,
  PluginToolResult,
  ToolDescriptor,
  ToolsPage,
} from './vpp.ts';

// Readers of what a plugin answers (plugin-protocol section 5). Unknown members are ignored; arrays never pass for objects.
// All of them throw EngineError `plugin`, code `invalid_answer`, whose message names the member.

export function readInitialize(value: unknown): InitializeResult {
  const result = asObject(value, 'the result');
  const server = present(result, 'serverInfo');
  const info = server === undefined ? undefined : asObject(server, '`serverInfo`');
  const serverName = info === undefined ? undefined : asText(ownValue(info, 'name'), '`serverInfo.name`');
  const serverVersion = info === undefined ? undefined : optionalText(info, 'version', '`serverInfo.version`');
  const given = present(result, 'capabilities');
  const flags = given === undefined ? {} : asObject(given, '`capabilities`');
  return {
    name: optionalText(result, 'name') ?? serverName ?? '',
    version: optionalText(result, 'version') ?? serverVersion ?? '',
    capabilities: { tools: toFlag(flags, 'tools'), agents: toFlag(flags, 'agents'), hooks: toFlag(flags, 'hooks') },
  };
}

/** A boolean is itself, absent and `null` are false, any other value is true. */
function toFlag(flags: object, name: string): boolean {
  const value = ownValue(flags, name) ?? false;
  return typeof value === 'boolean' ? value : true;
}

export function readToolsPage(value: unknown): ToolsPage {
  const result = asObject(value, 'the result');
  const list = present(result, 'tools');
  const tools = list === undefined ? [] : asArray(list, '`tools`').map(readToolDescriptor);
  const cursor = optionalText(result, 'nextCursor') ?? '';
  return cursor === '' ? { tools } : { tools, nextCursor: cursor };
}

export function readToolDescriptor(value: unknown, index = 0): ToolDescriptor {
  const at = `\`tools[${index}]\``;
  const tool = asObject(value, at);
  const name = asText(ownValue(tool, 'name'), `\`tools[${index}].name\``);
  const given = present(tool, 'annotations');
  const annotations = given === undefined ? {} : asObject(given, `\`annotations\` of tool \`${name}\``);
  const hint =
    optionalFlag(annotations, 'read_only_hint', `\`readOnlyHint\` of tool \`${name}\``) ??
    optionalFlag(annotations, 'readOnlyHint', `\`readOnlyHint\` of tool \`${name}\``);
  return {
    name,
    description: optionalText(tool, 'description', `\`description\` of tool \`${name}\``) ?? '',
    input_schema: present(tool, 'input_schema') ?? present(tool, 'inputSchema') ?? { type: 'object' },
    mutating: optionalFlag(tool, 'mutating', `\`mutating\` of tool \`${name}\``) ?? hint !== true,
  };
}

export function readToolResult(value: unknown): PluginToolResult {
  const result = asObject(value, 'the result');
  const is_error = optionalFlag(result, 'is_error') ?? optionalFlag(result, 'isError') ?? false;
  const list = present(result, 'content');
  if (list === undefined) return { content: '', is_error };
  const blocks = asArray(list, '`content`');
  // why: one text block is by far the most common answer
  const content = blocks.length === 1 ? readBlock(blocks[0], 0) : blocks.map(readBlock).join('\n');
  return { content, is_error };
}

function readBlock(value: unknown, index: number): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(`\`content[${index}]\` must be an object`);
  }
  const type = ownValue(value, 'type');
  if (typeof type !== 'string') throw invalid(`\`content[${index}].type\` must be a string`);
  const text = ownValue(value, 'text') ?? undefined;
  if (text !== undefined && typeof text !== 'string') throw invalid(`\`content[${index}].text\` must be a string`);
  if (type !== 'text' || text === undefined) return `[${type.toWellFormed()} content omitted]`;
  return text.isWellFormed() ? text : text.toWellFormed();
}

export function readHookAnswer(value: unknown): HookAnswer {
  const result = asObject(value, 'the result');
  const decision = Object.hasOwn(result, 'decision') ? ownValue(result, 'decision') : 'continue';
  const reason = optionalText(result, 'reason');
  if (decision === 'continue') return { decision };
  if (decision === 'abort') return { decision, reason: reason ?? 'vetoed by plugin' };
  throw invalid('`decision` must be `continue` or `abort`');
}

export function readAgents(value: unknown): readonly AgentSpec[] {
  const list = ownValue(asObject(value, 'the result'), 'agents');
  return list === undefined ? [] : asArray(list, '`agents`').map(readAgentSpec);
}

/** The short forms of agent override files are not valid here, nor is `null` for any member. */
export function readAgentSpec(value: unknown, index = 0): AgentSpec {
  const spec = asObject(value, `\`agents[${index}]\``);
  const member = (key: string): unknown => ownValue(spec, key);
  const named = (key: string): string => `\`agents[${index}].${key}\``;
  const given = <T>(key: string, read: (value: unknown, name: string) => T): { [key: string]: T } =>
    Object.hasOwn(spec, key) ? { [key]: read(member(key), named(key)) } : {};
  return defineAgent({
    role: asText(member('role'), named('role')),
    system_prompt: asText(member('system_prompt'), named('system_prompt')),
    ...given('description', asText),
    ...given('tools', readSelection),
    ...given('model', readModel),
    ...given('thinking', readThinking),
    ...given('max_steps', asCount),
    ...given('max_tokens', asCount),
    ...given('structured_output', asFlag),
    ...given('delegates', asTexts),
    ...given('handoffs', asTexts),
  });
}

function readSelection(value: unknown, name: string): AgentSpec['tools'] {
  const word = toolSelectionNames.find((entry) => entry === value);
  if (word !== undefined) return word;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(`${name} must be one of ${toolSelectionNames.join(', ')} or {"named": […]}`);
  }
  return { named: asTexts(ownValue(value, 'named'), `${name}.named`) };
}

function asTexts(value: unknown, name: string): readonly string[] {
  return asArray(value, name).map((entry) => asText(entry, name));
}

function readModel(value: unknown, name: string): AgentSpec['model'] {
  if (value === 'phase') return value;
  const fixed = asObject(ownValue(asObject(value, name), 'fixed'), `${name}.fixed`);
  const provider = asText(ownValue(fixed, 'provider'), `${name}.fixed.provider`);
  return { fixed: { provider, model: asText(ownValue(fixed, 'model'), `${name}.fixed.model`) } };
}

function readThinking(value: unknown, name: string): AgentSpec['thinking'] {
  const level = thinkingLevels.find((entry) => entry === value);
  if (level === undefined) throw invalid(`${name} must be one of ${thinkingLevels.join(', ')}`);
  return level;
}

const levels = new Map<string, PluginLogLevel>([
  ['error', 'error'],
  ['critical', 'error'],
  ['alert', 'error'],
  ['emergency', 'error'],
  ['warn', 'warn'],
  ['warning', 'warn'],
  ['debug', 'debug'],
  ['trace', 'trace'],
]);

export function readLogParams(value: unknown): { readonly level: PluginLogLevel; readonly text: string } {
  const params = asObject(value, 'the params');
  const level = levels.get((optionalText(params, 'level') ?? '').toLowerCase()) ?? 'info';
  const message = optionalText(params, 'message') ?? '';
  if (message !== '') return { level, text: message };
  const data = present(params, 'data');
  if (data === undefined) return { level, text: '' };
  return { level, text: typeof data === 'string' ? data.toWellFormed() : JSON.stringify(data) };
}

export function readProgress(value: unknown): PluginProgress {
  const params = asObject(value, 'the params');
  const token = ownValue(params, 'progressToken');
  if (typeof token !== 'string' && typeof token !== 'number')
    throw invalid('`progressToken` must be a string or a number');
  const total = present(params, 'total');
  const message = optionalText(params, 'message');
  return {
    progressToken: token,
    progress: asNumber(ownValue(params, 'progress'), '`progress`'),
    ...(total === undefined ? {} : { total: asNumber(total, '`total`') }),
    ...(message === undefined ? {} : { message }),
  };
}

function invalid(detail: string): EngineError {
  return new EngineError('plugin', detail, { code: 'invalid_answer' });
}

/** An own member that is neither absent nor `null`. */
function present(object: object, key: string): unknown {
  return ownValue(object, key) ?? undefined;
}

function asObject(value: unknown, name: string): object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(`${name} must be an object`);
  return value;
}

function asArray(value: unknown, name: string): readonly unknown[] {
  if (!Array.isArray(value)) throw invalid(`${name} must be an array`);
  return value;
}

function asText(value: unknown, name: string): string {
  if (typeof value !== 'string') throw invalid(`${name} must be a string`);
  return value.isWellFormed() ? value : value.toWellFormed();
}

function asFlag(value: unknown, name: string): boolean {
  if (typeof value !== 'boolean') throw invalid(`${name} must be a boolean`);
  return value;
}

function asNumber(value: unknown, name: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw invalid(`${name} must be a number`);
  return value;
}

function asCount(value: unknown, name: string): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > 0xffff_ffff) {
    throw invalid(`${name} must be an integer from 0 to 4294967295`);
  }
  return value;
}

function optionalText(object: object, key: string, name?: string): string | undefined {
  const value = present(object, key);
  return value === undefined ? undefined : asText(value, name ?? `\`${key}\``);
}

function optionalFlag(object: object, key: string, name?: string): boolean | undefined {
  const value = present(object, key);
  if (value === undefined || typeof value === 'boolean') return value;
  return asFlag(value, name ?? `\`${key}\``);
}
