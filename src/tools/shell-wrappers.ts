import { mayMean, parseOptions, type FoundOption, type ParsedOptions } from './shell-options.ts';
import { refuseTarget, resolveIn } from './shell-paths.ts';
import {
  deny,
  elsewhere,
  firstDenial,
  type Arg,
  type Call,
  type Denial,
  type ProgramRule,
  type Scene,
} from './shell-types.ts';
import { refuseAssignmentWord } from './shell-variables.ts';
import { wrapperTable, type Wrapper } from './shell-wrapper-table.ts';

/** The rule of each wrapper: what it runs is judged, and what it writes (CP4). */
export const wrapperRules: ReadonlyMap<string, ProgramRule> = new Map(
  [...wrapperTable].map(([name, wrapper]) => [name, (call: Call) => refuseWrapped(call, wrapper)]),
);

function refuseWrapped(call: Call, wrapper: Wrapper): Denial | undefined {
  const { program, args } = call;
  if (args.length === 1 && /^--(?:help|version)$/.test(args[0]?.text ?? '')) return undefined;
  const parsed = parseOptions(args, {
    values: wrapper.values ?? '',
    attached: wrapper.attached ?? '',
    longValues: wrapper.longValues ?? [],
    single: wrapper.single ?? false,
    stops: true,
  });
  if (parsed.unclear !== undefined) {
    return deny(
      'wrappers',
      `\`${parsed.unclear.text}\` after \`${program}\` may be anything; write its options and its command out.`,
    );
  }
  if (has(parsed, wrapper.inert)) return undefined;
  const unknown = parsed.options.find((option) => !isKnown(option, wrapper));
  if (unknown !== undefined) {
    return deny(
      'wrappers',
      `The option \`${unknown.name}\` of \`${program}\` is not checked here; run the command without it.`,
    );
  }
  return (
    firstDenial(parsed.options, (option) => refuseOption(option, wrapper, call)) ?? refuseRest(parsed, wrapper, call)
  );
}

function named(option: FoundOption, names: readonly string[] | undefined): boolean {
  return names?.some((name) => mayMean(option.name, name)) === true;
}

function has(parsed: ParsedOptions, names: readonly string[] | undefined): boolean {
  return parsed.options.some((option) => named(option, names));
}

function isKnown(option: FoundOption, wrapper: Wrapper): boolean {
  const { name } = option;
  if (wrapper.single === true || name.startsWith('--')) {
    return named(option, wrapper.longFlags) || (named(option, wrapper.longValues) && option.value !== undefined);
  }
  const letter = name.slice(1);
  if (wrapper.numeric === true && /^\d$/.test(letter)) return true;
  if (wrapper.values?.includes(letter) === true) return option.value !== undefined;
  return wrapper.flags?.includes(letter) === true || wrapper.attached?.includes(letter) === true;
}

function refuseOption(option: FoundOption, wrapper: Wrapper, { program, scene }: Call): Denial | undefined {
  const { value } = option;
  if (value === undefined) return undefined;
  if (named(option, wrapper.assigns)) return refuseAssignmentWord(value, program);
  if (named(option, wrapper.enters))
    return refuseTarget(value, scene, { rule: 'directories', by: program, does: 'enter', exact: true });
  return named(option, wrapper.writes) ? refuseWritten(value, program, scene) : undefined;
}

function refuseWritten(value: Arg, program: string, scene: Scene): Denial | undefined {
  if (/^[|!]/.test(value.text)) {
    return deny('wrappers', `\`${program}\` would start \`${value.text}\` for its output; name a file instead.`);
  }
  return refuseTarget(value, scene, { rule: 'writes', by: program, does: 'write', exact: true });
}

function refuseRest(parsed: ParsedOptions, wrapper: Wrapper, call: Call): Denial | undefined {
  const { program } = call;
  const entered = parsed.options.find((option) => named(option, wrapper.enters))?.value;
  const scene = entered === undefined ? call.scene : enter(entered, call.scene);
  const count = wrapper.operands ?? 0;
  const before = parsed.operands.slice(0, count);
  const rest = parsed.operands.slice(count);
  const isFile = before[0] !== undefined && !/^\d+$/.test(before[0].text);
  if (wrapper.writesOperand === true && isFile && before[0] !== undefined) {
    const written = refuseWritten(before[0], program, scene);
    if (written !== undefined) return written;
  }
  const texts = parsed.options.filter((option) => named(option, wrapper.texts)).map((option) => option.value);
  if (wrapper.texts !== undefined && /^(?:-c|--command)$/.test(rest[0]?.text ?? '')) texts.push(rest[1]);
  if (texts.length > 0) return firstDenial(texts, (text) => refuseShellText(text, program, scene));
  if (wrapper.assignments === true) return refuseAssignments(rest, program, scene);
  if (rest.length === 0) {
    return wrapper.needsCommand === true
      ? deny('shells', `\`${program}\` without a command starts a shell on standard input; give it the command.`)
      : undefined;
  }
  if (wrapper.joinsUnless !== undefined && !has(parsed, wrapper.joinsUnless)) return refuseJoined(rest, program, scene);
  return scene.run(rest, moving(program, scene));
}

/** Only the shell's own wrappers run `cd` in the shell itself; `time` and zsh's words do in some shells and not in others. */
function moving(program: string, scene: Scene): Scene {
  if (program === 'command' || program === 'builtin') return scene;
  if (!['time', 'noglob', 'nocorrect', 'repeat'].includes(program)) return elsewhere(scene);
  return { ...scene, move: (directories) => scene.move([...scene.directories, ...directories]) };
}

function enter(directory: Arg, scene: Scene): Scene {
  return { ...scene, directories: scene.directories.map((from) => resolveIn(scene.policy, from, directory.text)) };
}

function refuseAssignments(rest: readonly Arg[], program: string, scene: Scene): Denial | undefined {
  const words = rest[0]?.text === '-' ? rest.slice(1) : rest;
  const start = words.findIndex((arg) => !arg.text.includes('='));
  const assignments = start < 0 ? words : words.slice(0, start);
  const denial = firstDenial(assignments, (arg) => refuseAssignmentWord(arg, program));
  return denial ?? (start < 0 ? undefined : scene.run(words.slice(start), elsewhere(scene)));
}

/** Shell text in an argument: it must be there in full. */
export function refuseShellText(text: Arg | undefined, program: string, scene: Scene): Denial | undefined {
  if (text === undefined) return deny('shells', `\`${program}\` got no command text; give it the text.`);
  if (text.isComputed || text.place !== undefined) {
    return deny('shells', `The command text \`${text.text}\` of \`${program}\` is computed; write the command out.`);
  }
  return scene.runText(text.text, scene, false);
}

/** Words that the program joins with blanks and hands to a shell. */
export function refuseJoined(words: readonly Arg[], program: string, scene: Scene): Denial | undefined {
  const computed = words.find((word) => word.isComputed || word.place !== undefined);
  if (computed !== undefined) return refuseShellText(computed, program, scene);
  return scene.runText(words.map((word) => word.text).join(' '), scene, false);
}
