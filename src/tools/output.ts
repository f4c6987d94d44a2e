import { join } from 'node:path';
import { isEngineError, messageOf } from '../protocol/error.ts';
import { countCharacters, firstCharacters, isJsonObject, type Json, toWellFormed } from '../protocol/json.ts';
import { errorOutput, okOutput, type ToolOutput } from '../protocol/tool.ts';
import { createOwnFile } from './own-file.ts';

/** Characters of an output that an event shows (agent-runtime section 4). */
export const previewCharacters = 200;

/** Folder of full outputs, below the workspace root. */
const outputFolder = ['.vibe', 'tool-output'];

/** Where the complete output of each call is kept for people (agent-runtime section 6). */
export interface ToolTrace {
  readonly dir: string;
  /** How events name the folder; may be empty. */
  readonly reference: string;
  readonly maxChars: number;
}

/**
 * What a handler returned, as an output (agent-runtime 5.2). Throws a TypeError for a value JSON cannot hold.
 */
export function toOutput(value: unknown): ToolOutput {
  if (typeof value === 'string') return okOutput(toWellFormed(value));
  if (value === undefined || value === null) return okOutput('');
  if (isJsonObject(value) && Object.hasOwn(value, 'content')) {
    const { content, is_error, metadata } = value;
    const text =
      typeof content === 'string' ? content : content === null || content === undefined ? '' : toJson(content);
    const output = { content: toWellFormed(text), is_error: is_error === true };
    return isJsonObject(metadata) ? { ...output, metadata } : output;
  }
  return okOutput(toJson(value));
}

function toJson(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw new TypeError(`a ${typeof value} is no JSON value`);
  return text;
}

/** What a handler threw, as an output: an `Error` failed, anything else crashed (agent-runtime section 5). */
export function toFailure(tool: string, thrown: unknown): ToolOutput {
  const crashed = !(thrown instanceof Error) || (isEngineError(thrown) && crashCodes.has(thrown.code));
  return errorOutput(`Tool \`${tool}\` ${crashed ? 'crashed' : 'failed'}: ${toWellFormed(messageOf(thrown))}`);
}

const crashCodes: ReadonlySet<string> = new Set(['worker_exited', 'uncloneable']);

export interface TruncateOptions {
  readonly maxChars: number;
  readonly workspaceRoot: string;
  newUuid(): string;
}

/** The content as the model sees it: whole, or its first characters with a note where the rest is. */
export async function truncate(content: string, characters: number, options: TruncateOptions): Promise<string> {
  if (characters <= options.maxChars) return content;
  const shown = `showing the first ${options.maxChars} of ${characters} characters.`;
  const kept = firstCharacters(content, options.maxChars);
  try {
    const path = await saveOutput(content, options);
    const hint = `The full output was saved to \`${path}\`; read it in smaller pieces if you need more.`;
    return `${kept}\n\n[Output truncated: ${shown} ${hint}]`;
  } catch (error) {
    return `${kept}\n\n[Output truncated: ${shown} The full output could not be saved: ${messageOf(error)}]`;
  }
}

async function saveOutput(content: string, options: TruncateOptions): Promise<string> {
  // why: drawn before any wait, so that the order of ids follows the calls and not the disk
  const name = `${options.newUuid()}.txt`;
  const folder = join(options.workspaceRoot, ...outputFolder);
  await createOwnFile(options.workspaceRoot, folder, name, content);
  return join(folder, name);
}

/** Writes the trace of one call. @returns how events name the file */
export async function writeTrace(
  root: string,
  trace: ToolTrace,
  { call, content, characters }: { readonly call: string; readonly content: string; readonly characters: number },
): Promise<string> {
  const cut = `\n[vibe: output cut to the first ${trace.maxChars} of ${characters} characters]\n`;
  const text = characters <= trace.maxChars ? content : firstCharacters(content, trace.maxChars) + cut;
  await createOwnFile(root, trace.dir, `${call}.txt`, text);
  const reference = trace.reference.replace(/\/+$/, '');
  return reference === '' ? `${call}.txt` : `${reference}/${call}.txt`;
}

/** Characters of the complete output, and what an event shows of the one the model sees. */
export function previewOf(content: string): string {
  return firstCharacters(content, previewCharacters);
}

export function charactersOf(content: string): number {
  return countCharacters(content);
}

/** A copy of an input for the handler, so that it may change its own without touching events and transcript. */
export function copyInput(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyInput);
  const copy: Record<string, Json> = {};
  for (const [key, child] of Object.entries(value)) {
    // why: assigning `__proto__` would change the prototype instead of adding a key
    if (key === '__proto__')
      Object.defineProperty(copy, key, {
        value: copyInput(child),
        enumerable: true,
        writable: true,
        configurable: true,
      });
    else copy[key] = copyInput(child);
  }
  return copy;
}
