import type { Arg } from './shell-types.ts';

/** Which options of a program take a value; every other option is taken for a switch. */
export interface OptionGrammar {
  /** Short options that take a value, attached or as the next word. */
  readonly values?: string;
  /** Short options that take the rest of their word, if any, but never the next word. */
  readonly attached?: string;
  /** Long options that take a value as `--name value`; `--name=value` is always read. */
  readonly longValues?: readonly string[];
  /** Options end at the first operand, as for programs that start others. */
  readonly stops?: boolean;
  /** Words such as `-name` are one option, not a cluster. */
  readonly single?: boolean;
}

export interface FoundOption {
  /** With its dashes: `-o`, `--output`. */
  readonly name: string;
  readonly value: Arg | undefined;
}

export interface ParsedOptions {
  readonly options: readonly FoundOption[];
  readonly operands: readonly Arg[];
  /** The first word that may be any option; nothing can be said about what follows it. */
  readonly unclear: Arg | undefined;
}

/** Reads arguments the way getopt does: clusters, attached values, `--name=value`, `--`. */
export function parseOptions(args: readonly Arg[], grammar: OptionGrammar): ParsedOptions {
  const options: FoundOption[] = [];
  const operands: Arg[] = [];
  let unclear: Arg | undefined;
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index];
    if (arg === undefined) break;
    const { text } = arg;
    if (text === '--' && !arg.isComputed) {
      operands.push(...args.slice(index + 1));
      break;
    }
    if (arg.maySteer && arg.place === undefined) unclear ??= arg;
    if (!text.startsWith('-') || text === '-') {
      operands.push(arg);
      if (grammar.stops !== true) continue;
      operands.push(...args.slice(index + 1));
      break;
    }
    const found =
      text.startsWith('--') || grammar.single === true ? longOption(arg, grammar) : shortOptions(arg, grammar);
    options.push(...found);
    const last = found.at(-1);
    if (last !== undefined && takesNext(last, grammar)) {
      index += 1;
      options[options.length - 1] = { name: last.name, value: args[index] };
    }
  }
  return { options, operands, unclear };
}

function takesNext(option: FoundOption, grammar: OptionGrammar): boolean {
  if (option.value !== undefined) return false;
  if (option.name.startsWith('--')) return takesLongValue(option.name, grammar);
  if (grammar.single === true) return grammar.longValues?.includes(option.name) === true;
  return grammar.values?.includes(option.name.slice(1)) === true;
}

/** Long options may be shortened; one that may be a switch or take a value counts as taking one only if spelt so. */
function takesLongValue(name: string, grammar: OptionGrammar): boolean {
  return name.length > 2 && grammar.longValues?.some((full) => full === name || full.startsWith(name)) === true;
}

function longOption(arg: Arg, grammar: OptionGrammar): readonly FoundOption[] {
  const equals = arg.text.indexOf('=');
  if (equals < 0 || grammar.single === true) return [{ name: arg.text, value: undefined }];
  return [{ name: arg.text.slice(0, equals), value: { ...arg, text: arg.text.slice(equals + 1) } }];
}

function shortOptions(arg: Arg, grammar: OptionGrammar): readonly FoundOption[] {
  const found: FoundOption[] = [];
  for (let at = 1; at < arg.text.length; at += 1) {
    const letter = arg.text.charAt(at);
    const rest = arg.text.slice(at + 1);
    const takesRest = grammar.values?.includes(letter) === true || grammar.attached?.includes(letter) === true;
    if (takesRest) {
      found.push({ name: `-${letter}`, value: rest === '' ? undefined : { ...arg, text: rest } });
      break;
    }
    found.push({ name: `-${letter}`, value: undefined });
  }
  return found;
}

/** Whether an option as written may stand for the full long name: programs accept shortened ones. */
export function mayMean(written: string, full: string): boolean {
  if (!full.startsWith('--')) return written === full;
  return written.length > 2 && full.startsWith(written);
}

/** The first option that may be one of the given names. */
export function findOption(parsed: ParsedOptions, ...names: readonly string[]): FoundOption | undefined {
  return parsed.options.find((option) => names.some((name) => mayMean(option.name, name)));
}
