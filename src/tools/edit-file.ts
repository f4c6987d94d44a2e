import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { errorOutput, okOutput, type ToolContext, type ToolOutput } from '../protocol/tool.ts';
import { codeOf, openScope } from './containment.ts';
import { describeEdit } from './edit-diff.ts';
import { toFsPath } from './names.ts';
import { type NoTarget, openWriteTarget, type WriteRules, type WriteTarget } from './write-target.ts';

export interface EditFileInput {
  readonly path: string;
  readonly old_string: string;
  readonly new_string: string;
  readonly replace_all: boolean;
}

/** Larger files are refused: they are held whole, twice. */
const maxFileBytes = 10 * 1_024 * 1_024;

/** Replaces exact text in a file (agent-runtime 16). */
export async function editFile(
  input: EditFileInput,
  context: ToolContext,
  rules: Omit<WriteRules, 'createParents'>,
): Promise<ToolOutput> {
  if (input.old_string === '') {
    return errorOutput('`old_string` must not be empty. Use `write_file` to create a file.');
  }
  if (input.old_string === input.new_string) {
    return errorOutput('`old_string` and `new_string` are identical; there is nothing to change.');
  }
  const target = await openWriteTarget(input.path, openScope(context), { ...rules, createParents: false });
  if (!target.ok) return explain(target);
  await using place = target;
  try {
    const before = await readText(place);
    return typeof before === 'string' ? await apply(before, input, place, context.signal) : before;
  } catch (error) {
    if (codeOf(error) === 'EUNKNOWN') throw error;
    return errorOutput(`\`${place.shown}\` cannot be edited (${codeOf(error)}).`);
  }
}

function explain(problem: NoTarget): ToolOutput {
  switch (problem.reason) {
    case 'refused':
      return problem.output ?? errorOutput('Access denied.');
    case 'directory':
      return errorOutput(`\`${problem.shown}\` is a directory and cannot be edited.`);
    case 'missing':
    case 'not_directory':
      return missing(problem.shown);
    case 'failed':
      return errorOutput(`\`${problem.shown}\` cannot be edited (${problem.detail ?? 'EUNKNOWN'}).`);
  }
}

function missing(shown: string): ToolOutput {
  return errorOutput(`File \`${shown}\` does not exist. Use \`write_file\` to create it.`);
}

const readFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** The text of the file, judged on the opened handle; the error output when it has none. */
async function readText(place: WriteTarget): Promise<string | ToolOutput> {
  const { shown, stats } = place;
  if (stats === undefined) return missing(shown);
  if (stats.isDirectory()) return errorOutput(`\`${shown}\` is a directory and cannot be edited.`);
  if (!stats.isFile()) return errorOutput(`\`${shown}\` is not a regular file and cannot be edited.`);
  await using file = await open(toFsPath(place.path), readFlags);
  const opened = await file.stat();
  if (!opened.isFile()) return errorOutput(`\`${shown}\` is not a regular file and cannot be edited.`);
  if (opened.size > maxFileBytes) return errorOutput(`\`${shown}\` is larger than 10 MiB and cannot be edited.`);
  const bytes = await file.readFile();
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return errorOutput(`\`${shown}\` is not valid UTF-8 text and cannot be edited.`);
  }
}

async function apply(
  before: string,
  input: EditFileInput,
  place: WriteTarget,
  signal: AbortSignal,
): Promise<ToolOutput> {
  const { shown } = place;
  const { oldText, newText } = chooseLineEnds(before, input);
  // why: half of a surrogate pair is in no text, though a search by code units would find it and cut a character in two
  const parts = oldText.isWellFormed() ? before.split(oldText) : [before];
  const count = parts.length - 1;
  if (count === 0) {
    return errorOutput(
      `\`old_string\` was not found in \`${shown}\`. It must match the file exactly, blanks and line breaks included; read the file again.`,
    );
  }
  const places = count === 1 && overlapsItself(before, oldText) ? 2 : count;
  if (places > 1 && !input.replace_all) {
    return errorOutput(
      `\`old_string\` occurs ${places} times in \`${shown}\`. Add more surrounding text to make it unique, or set \`replace_all\`.`,
    );
  }
  const after = parts.join(newText);
  await place.replace(Buffer.from(after), signal);
  const occurrences = count === 1 ? '1 occurrence' : `${count} occurrences`;
  const diff = describeEdit(shown, before, oldText, newText);
  return okOutput(`Edited \`${shown}\`: replaced ${occurrences}.\n\n${diff}`, { path: shown, replacements: count });
}

/** Whether a text begins again inside its first occurrence, as `aa` does in `aaa`: which of the two is meant cannot be told. */
function overlapsItself(text: string, wanted: string): boolean {
  return text.includes(wanted, text.indexOf(wanted) + 1);
}

/** Both strings as they are, or with CRLF when only so the old one occurs in a CRLF file. */
function chooseLineEnds(text: string, input: EditFileInput): { oldText: string; newText: string } {
  const { old_string: oldText } = input;
  const newText = input.new_string.toWellFormed();
  const mayBeCrlf = oldText.includes('\n') && text.includes('\r\n') && !text.includes(oldText);
  if (!mayBeCrlf) return { oldText, newText };
  const toCrlf = (value: string): string => value.replaceAll(/\r?\n/g, '\r\n');
  return text.includes(toCrlf(oldText)) ? { oldText: toCrlf(oldText), newText: toCrlf(newText) } : { oldText, newText };
}
