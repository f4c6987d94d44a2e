import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';
import { countCharacters, firstCharacters, lastCharacters } from '../protocol/json.ts';

/** Longest diff shown, in characters (agent-runtime 16). */
const maxCharacters = 8_000;
/** A diff that takes longer is left out: it runs on the main thread. */
const maxMs = 200;

/** A unified diff with three lines of context; the middle of a long one is cut. */
export function describeEdit(path: string, before: string, after: string): string {
  const patch = createTwoFilesPatch(`a/${path}`, `b/${path}`, before, after, undefined, undefined, {
    context: 3,
    timeout: maxMs,
    headerOptions: FILE_HEADERS_ONLY,
  });
  if (patch === undefined) return '(the change is too large to be shown as a diff)';
  return cutMiddle(patch.replace(/\n$/, ''), maxCharacters);
}

function cutMiddle(text: string, limit: number): string {
  const total = countCharacters(text);
  if (total <= limit) return text;
  const room = limit - 60; // for the note in the middle
  const head = Math.ceil(room / 2);
  const omitted = total - room;
  return `${firstCharacters(text, head)}\n[... ${omitted} characters omitted ...]\n${lastCharacters(text, room - head)}`;
}
