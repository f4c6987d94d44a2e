import { readFileSync } from 'node:fs';
import type { TaskInfo } from '../protocol/agent.ts';
import { EngineError, messageOf } from '../protocol/error.ts';
import type { AgentPorts, RunSettings } from './ports.ts';

/** Values by placeholder name; only own keys count. */
export type PromptVariables = { readonly [name: string]: string };

/**
 * The system prompt of a session: the template filled in, then what `augment_prompt` hooks add.
 * @throws EngineError `plugin` when such a hook fails
 */
export async function renderSystem(settings: RunSettings, ports: AgentPorts): Promise<string> {
  const { spec, task, workspaceRoot, vars } = settings;
  const variables = toPromptVariables({ task, workspaceRoot, now: ports.clock.now() }, vars);
  const additions = await ports.augmentPrompt(spec.role, task ?? { title: '', description: '' });
  return appendAugmentations(renderSystemPrompt(spec.system_prompt, variables), additions);
}

/** The system prompt of a template before hooks add to it: doc comment removed, variables filled in, trimmed. */
export function renderSystemPrompt(template: string, variables: PromptVariables): string {
  return render(stripDocComment(template), variables).trim();
}

/** Appends what `augment_prompt` hooks gave, in order; blank answers add nothing (agent-runtime section 13). */
export function appendAugmentations(
  system: string,
  augmentations: readonly (string | null | undefined | void)[],
): string {
  let whole = system;
  for (const augmentation of augmentations) {
    const text = augmentation?.trim() ?? '';
    if (text !== '') whole += `\n\n${text}`;
  }
  return whole;
}

/** The variables every run has; the caller's own come on top. `now` is milliseconds since the epoch, the date is UTC. */
export function toPromptVariables(
  run: { readonly task?: TaskInfo | undefined; readonly workspaceRoot: string; readonly now: number },
  extra: PromptVariables = {},
): PromptVariables {
  return {
    task_title: run.task?.title ?? '',
    task_description: run.task?.description ?? '',
    workspace_root: run.workspaceRoot,
    date: new Date(run.now).toISOString().slice(0, 10),
    ...extra,
  };
}

/**
 * Replaces each `{{ name }}` in one pass: a known name by its value, an unknown one by nothing. Values are never scanned
 * again. A `{{` without a later `}}` is text.
 */
export function render(template: string, variables: PromptVariables): string {
  let output = '';
  let end = 0;
  for (const marker of markersOf(template)) {
    output += template.slice(end, marker.start);
    if (Object.hasOwn(variables, marker.name)) output += variables[marker.name] ?? '';
    end = marker.end;
  }
  return output + template.slice(end);
}

/** The names a template uses, each once, in order of first use. */
export function placeholdersOf(template: string): readonly string[] {
  const names = new Set<string>();
  for (const marker of markersOf(template)) if (marker.name !== '') names.add(marker.name);
  return [...names];
}

/** A prompt without its leading HTML comment; text that does not start with one is unchanged. One comment only. */
export function stripDocComment(prompt: string): string {
  const comment = docCommentOf(prompt);
  return comment === undefined ? prompt : comment.rest.trimStart();
}

export interface DocumentedVariable {
  readonly name: string;
  readonly meaning: string;
}

/** The variables a prompt's leading comment lists, one per line as `- name: meaning`. */
export function documentedVariables(prompt: string): readonly DocumentedVariable[] {
  const variables: DocumentedVariable[] = [];
  for (const line of docCommentOf(prompt)?.body.split('\n') ?? []) {
    const text = line.trim();
    const colon = text.indexOf(':');
    if (!text.startsWith('- ') || colon < 0) continue;
    variables.push({ name: text.slice(2, colon).trim(), meaning: text.slice(colon + 1).trim() });
  }
  return variables;
}

/**
 * The prompt file of a built-in role, as written.
 * @throws EngineError `storage` when the package is incomplete
 */
export function readPromptFile(role: string): string {
  // why: by URL, the same two levels up from `src/agent` and from `dist/agent`, and right for any install path
  const file = new URL(`../../prompts/${role}.md`, import.meta.url);
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new EngineError('storage', `cannot read the prompt of \`${role}\`: ${messageOf(cause)}`, { cause });
  }
}

interface Marker {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

function* markersOf(template: string): Generator<Marker> {
  let start = template.indexOf('{{');
  while (start >= 0) {
    const close = template.indexOf('}}', start + 2);
    if (close < 0) return;
    const end = close + 2;
    yield { name: template.slice(start + 2, close).trim(), start, end };
    start = template.indexOf('{{', end);
  }
}

function docCommentOf(prompt: string): { readonly body: string; readonly rest: string } | undefined {
  const text = prompt.trimStart();
  if (!text.startsWith('<!--')) return undefined;
  const close = text.indexOf('-->', 4);
  return close < 0 ? undefined : { body: text.slice(4, close), rest: text.slice(close + 3) };
}
