import type { Word } from 'unbash';
import type { KnownValue, Ledger, VariableSource } from './shell-types.ts';

/** Longer values, and more of them, are not followed. */
const maxValueLength = 4_096;
const maxValues = 64;

/** Variables in which shells keep the text of the line, or the arguments they were given. */
const ownText = new Set(['BASH_COMMAND', 'BASH_EXECUTION_STRING', 'ZSH_EXECUTION_STRING', 'argv']);

/**
 * The values a variable may have in this line: all texts the line gives it, wherever it does; `environment` when only the
 * world outside sets it (whoever wrote the line has no say in it), `open` when its value comes from running something.
 */
export function lookUp(
  name: string,
  ledger: Ledger,
  evaluate: (word: Word, ledger: Ledger) => readonly KnownValue[] | undefined,
): readonly KnownValue[] | 'environment' | 'open' {
  if (/^[?#$!]$/.test(name)) return 'environment';
  if (!/^(?:[A-Za-z]\w*|_\w+)$/.test(name) || ownText.has(name)) return 'open';
  const sources = ledger.variables.get(name);
  if (sources === undefined) return 'environment';
  const cached = ledger.values.get(name);
  if (cached !== undefined) return cached;
  // A variable that is built from itself (`a=$a.x`) has no finite set of values: while it is looked up it counts as unknown.
  ledger.values.set(name, 'open');
  const values = collect(sources, ledger, evaluate);
  ledger.values.set(name, values);
  return values;
}

function collect(
  sources: readonly VariableSource[],
  ledger: Ledger,
  evaluate: (word: Word, ledger: Ledger) => readonly KnownValue[] | undefined,
): readonly KnownValue[] | 'open' {
  const values: KnownValue[] = [];
  for (const source of sources) {
    const texts = typeof source === 'string' ? undefined : evaluate(source.word, ledger);
    if (texts === undefined || texts.some((value) => value.text.length > maxValueLength)) return 'open';
    values.push(...texts);
  }
  return values.length > maxValues ? 'open' : values;
}

export function addSource(ledger: Ledger, name: string, source: VariableSource): void {
  ledger.values.clear();
  const known = ledger.variables.get(name);
  if (known === undefined) ledger.variables.set(name, [source]);
  else known.push(source);
}
