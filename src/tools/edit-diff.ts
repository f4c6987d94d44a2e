import { diffArrays } from 'diff';
import { countCharacters, firstCharacters, lastCharacters } from '../protocol/json.ts';

/** Longest diff shown, in characters; lines of context (agent-runtime 16). */
const maxCharacters = 8_000;
const contextLines = 3;
/** Lines of one replacement that are compared one by one; a larger change shows as all old, then all new lines. */
const maxEdits = 200;

/**
 * A unified diff of exact replacements; the middle of a long one is cut. Only the lines that replacements touch are
 * compared, so that its time grows with the file and not with the number of changes.
 */
export function describeEdit(path: string, before: string, oldText: string, newText: string): string {
  const lines = splitLines(before);
  const changes = findChanges(before, lines, oldText, newText).flatMap((change) => refine(change, lines));
  const hunks = groupChanges(changes).map((group) => writeHunk(group, lines));
  return cutMiddle([`--- a/${path}`, `+++ b/${path}`, ...hunks.map((hunk) => hunk.join('\n'))].join('\n'));
}

/** Old lines `from` up to `to` (not included) become `lines`. How many lines the file grew before it is `shift`. */
interface Change {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
  readonly shift: number;
}

/** Lines with their ends. */
function splitLines(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** The whole lines each replacement touches; replacements on the same lines are one change. */
function findChanges(before: string, lines: readonly string[], oldText: string, newText: string): readonly Change[] {
  const changes: Change[] = [];
  let line = 0;
  let lineStart = 0;
  let shift = 0;
  for (let at = before.indexOf(oldText); at >= 0;) {
    while (lineStart + (lines[line] ?? '').length <= at) {
      lineStart += (lines[line] ?? '').length;
      line += 1;
    }
    const from = line;
    let text = '';
    let done = lineStart;
    let end = lineStart;
    // Takes in lines until the last replacement that begins on them is inside and the new text ends with a line.
    while (line < lines.length) {
      end += (lines[line] ?? '').length;
      line += 1;
      while (at >= 0 && at < end) {
        text += before.slice(done, at) + newText;
        done = at + oldText.length;
        at = before.indexOf(oldText, done);
      }
      const isWhole = done < end || text === '' || text.endsWith('\n');
      if (done <= end && isWhole) break;
    }
    text += before.slice(done, end);
    lineStart = end;
    const replaced = splitLines(text);
    changes.push({ from, to: line, lines: replaced, shift });
    shift += replaced.length - (line - from);
  }
  return changes;
}

/** The parts of a change that differ. */
function refine(change: Change, lines: readonly string[]): readonly Change[] {
  const old = lines.slice(change.from, change.to);
  const parts = diffArrays(old, [...change.lines], { maxEditLength: maxEdits });
  if (parts === undefined) return [change];
  const refined: Change[] = [];
  let { from, shift } = change;
  for (let index = 0; index < parts.length; index += 1) {
    const part = parts[index];
    if (part === undefined) break;
    if (!part.added && !part.removed) {
      from += part.value.length;
      continue;
    }
    const next = parts[index + 1];
    const pair = part.removed && next?.added === true ? next : undefined;
    const removed = part.removed ? part.value.length : 0;
    const added = pair?.value ?? (part.added ? part.value : []);
    refined.push({ from, to: from + removed, lines: added, shift });
    from += removed;
    shift += added.length - removed;
    if (pair !== undefined) index += 1;
  }
  return refined;
}

/** Changes whose context would meet belong to one hunk. */
function groupChanges(changes: readonly Change[]): readonly (readonly Change[])[] {
  const groups: Change[][] = [];
  for (const change of changes) {
    const last = groups.at(-1)?.at(-1);
    if (last !== undefined && change.from - last.to <= 2 * contextLines) groups.at(-1)?.push(change);
    else groups.push([change]);
  }
  return groups;
}

function writeHunk(group: readonly Change[], lines: readonly string[]): readonly string[] {
  const first = group[0];
  const last = group.at(-1);
  if (first === undefined || last === undefined) return [];
  const start = Math.max(0, first.from - contextLines);
  const end = Math.min(lines.length, last.to + contextLines);
  const body: string[] = [];
  let at = start;
  for (const change of group) {
    for (const line of lines.slice(at, change.from)) body.push(...mark(' ', line));
    for (const line of lines.slice(change.from, change.to)) body.push(...mark('-', line));
    for (const line of change.lines) body.push(...mark('+', line));
    at = change.to;
  }
  for (const line of lines.slice(at, end)) body.push(...mark(' ', line));
  const oldCount = end - start;
  const newCount = oldCount + last.shift + last.lines.length - (last.to - last.from) - first.shift;
  return [`@@ -${place(start, oldCount)} +${place(start + first.shift, newCount)} @@`, ...body];
}

/** An empty side names the line before it. */
function place(start: number, count: number): string {
  return `${count === 0 ? start : start + 1},${count}`;
}

function mark(sign: string, line: string): readonly string[] {
  if (line.endsWith('\n')) return [sign + line.slice(0, -1)];
  return [sign + line, '\\ No newline at end of file'];
}

function cutMiddle(text: string): string {
  const total = countCharacters(text);
  if (total <= maxCharacters) return text;
  const room = maxCharacters - 60; // for the note in the middle
  const head = Math.ceil(room / 2);
  const note = `\n[... ${total - room} characters omitted ...]\n`;
  return firstCharacters(text, head) + note + lastCharacters(text, room - head);
}
