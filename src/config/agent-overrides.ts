import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, extname, isAbsolute, join } from 'node:path';
import { type AgentSpec, defineAgent } from '../protocol/agent.ts';
import { EngineError, messageOf } from '../protocol/error.ts';
import { type AgentFile, parseAgentFile } from './agent-file.ts';
import { reachesOutside } from './agent-reach.ts';

/** An agent that files changed or added. */
export interface OverriddenAgent {
  readonly spec: AgentSpec;
  /** For each key that a file set: the path of that file. Other keys are the base agent's or defaults. */
  readonly sources: ReadonlyMap<keyof AgentSpec, string>;
}

/**
 * Reads the agent override files of a folder (`<project>/.vibe/agents`): `*.toml` directly in it, by name, on top of `base`
 * (agent-runtime section 14). Each role comes once, at the place of its last file. A missing folder is no agents.
 * @param within the project, when nobody trusts it: files that make the engine read outside of it are left out
 * @throws EngineError `config`, message `<file>: <problem>`, for the first bad file; then nothing is returned
 */
export async function loadAgentOverrides(
  folder: string,
  base: readonly AgentSpec[],
  within?: string,
): Promise<readonly OverriddenAgent[]> {
  const known = new Map(base.map((spec) => [spec.role, spec]));
  const loaded = new Map<string, OverriddenAgent>();
  for (const file of await listAgentFiles(folder)) {
    if (within !== undefined && (await reachesOutside(file, within))) continue;
    try {
      const override = parseAgentFile(await readText(file));
      const role = override.role.trim();
      const earlier = loaded.get(role);
      const agent = await apply(override, role, file, earlier?.spec ?? known.get(role));
      loaded.delete(role);
      loaded.set(role, { spec: agent.spec, sources: new Map([...(earlier?.sources ?? []), ...agent.sources]) });
    } catch (cause) {
      throw new EngineError('config', `${file}: ${messageOf(cause)}`, { code: 'config_invalid', cause });
    }
  }
  return [...loaded.values()];
}

/** The override files of a folder, by name. @throws EngineError `config` when it cannot be read */
export async function listAgentFiles(folder: string): Promise<readonly string[]> {
  let names: readonly string[];
  try {
    names = await readdir(folder);
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return [];
    throw new EngineError('config', `${folder}: ${messageOf(cause)}`, { code: 'config_invalid', cause });
  }
  const files: string[] = [];
  for (const name of names.filter((entry) => extname(entry) === '.toml').sort()) {
    const file = join(folder, name);
    const isFile = await stat(file).then(
      (entry) => entry.isFile(),
      // why: a link that leads nowhere is not passed over; reading it tells what is wrong
      () => true,
    );
    if (isFile) files.push(file);
  }
  return files;
}

async function apply(
  override: AgentFile,
  role: string,
  file: string,
  base: AgentSpec | undefined,
): Promise<OverriddenAgent> {
  if (role === '') throw new Error('`role` must not be empty');
  const prompt = await readPrompt(override, file);
  if (prompt === undefined && base === undefined) {
    const needed = '`system_prompt` or `system_prompt_file` is required';
    throw new Error(`agent \`${role}\` is not a built-in agent: ${needed}`);
  }
  const { description, tools, thinking, max_steps, max_tokens, structured_output, delegates, handoffs } = override;
  const changes: Partial<AgentSpec> = {
    ...(description === undefined ? {} : { description }),
    ...(prompt === undefined ? {} : { system_prompt: prompt }),
    ...(tools === undefined ? {} : { tools }),
    ...(override.model === undefined ? {} : { model: toModelSelection(override.model) }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(max_steps === undefined ? {} : { max_steps: Math.max(1, max_steps) }),
    ...(structured_output === undefined ? {} : { structured_output }),
    ...(max_tokens === undefined ? {} : { max_tokens: Math.max(1, max_tokens) }),
    ...(delegates === undefined ? {} : { delegates }),
    ...(handoffs === undefined ? {} : { handoffs }),
  };
  const keys = Object.keys(changes) as (keyof AgentSpec)[];
  return {
    spec: { ...(base ?? defineAgent({ role, system_prompt: '' })), ...changes },
    sources: new Map(keys.map((key) => [key, file])),
  };
}

async function readPrompt(override: AgentFile, file: string): Promise<string | undefined> {
  const { system_prompt: prompt, system_prompt_file: name } = override;
  if (name === undefined) return prompt;
  if (prompt !== undefined) throw new Error('set either `system_prompt` or `system_prompt_file`, not both');
  const path = isAbsolute(name) ? name : join(dirname(file), name);
  try {
    return await readText(path);
  } catch (cause) {
    throw new Error(`cannot read prompt file ${path}: ${messageOf(cause)}`, { cause });
  }
}

function toModelSelection(model: NonNullable<AgentFile['model']>): AgentSpec['model'] {
  if (typeof model !== 'string') return model;
  const text = model.trim();
  if (text === 'phase') return 'phase';
  const slash = text.indexOf('/');
  const fixed = { provider: text.slice(0, Math.max(0, slash)), model: text.slice(slash + 1) };
  if (fixed.provider !== '' && fixed.model !== '') return { fixed };
  throw new Error(`\`model = "${model}"\`: use "phase" or "provider/model"`);
}

async function readText(file: string): Promise<string> {
  const bytes = await readFile(file);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error('the file is not valid UTF-8');
  }
}
