import { mayMean, parseOptions } from './shell-options.ts';
import { refuseTarget } from './shell-paths.ts';
import { refuseScriptFile } from './shell-scripts.ts';
import { deny, firstDenial, type Arg, type Denial, type ProgramRule, type Scene } from './shell-types.ts';
import { unclearTarget } from './shell-writers.ts';

/** `sed`: a script that neither runs commands nor writes files elsewhere, and with `-i` files inside the workspace. */
export const refuseSed: ProgramRule = ({ program, args, scene }) => {
  const parsed = parseOptions(args, {
    values: 'eflI',
    attached: 'i',
    longValues: ['--expression', '--file', '--line-length'],
  });
  if (parsed.unclear !== undefined) return unclearTarget(parsed.unclear, program);
  const expressions = parsed.options.flatMap(({ name, value }) =>
    value !== undefined && (name === '-e' || mayMean(name, '--expression')) ? [value] : [],
  );
  const files = parsed.options.flatMap(({ name, value }) =>
    name === '-f' || mayMean(name, '--file') ? (value ?? []) : [],
  );
  const hasFile = files.length > 0;
  const isInline = expressions.length === 0 && !hasFile;
  // `sed -i '' script file` is how BSD systems write it: the second operand is the script there.
  const count = parsed.operands[0]?.text === '' ? 2 : 1;
  const scripts = isInline ? parsed.operands.slice(0, count) : expressions;
  const denial =
    firstDenial(files, (file) => refuseScriptFile(file, { program, args, scene })) ??
    firstDenial(scripts, (script) => refuseScript(script, program, scene));
  if (denial !== undefined || !parsed.options.some(({ name }) => /^-[iI]$/.test(name) || mayMean(name, '--in-place')))
    return denial;
  const suffix = parsed.options.find(
    ({ name, value }) => (/^-[iI]$/.test(name) || mayMean(name, '--in-place')) && value?.text.includes('/') === true,
  );
  if (suffix?.value !== undefined) return unclearTarget(suffix.value, `${program} -i`);
  const edited = isInline ? parsed.operands.slice(1) : parsed.operands;
  return firstDenial(edited, (file) =>
    refuseTarget(file, scene, { rule: 'writes', by: `${program} -i`, does: 'write', exact: false }),
  );
};

function refuseScript(script: Arg, program: string, scene: Scene): Denial | undefined {
  // A variable of the environment stands for some text; any other unknown could hold commands.
  if (script.isOpen) return unclearTarget(script, program);
  const files = readSedScript(script.text);
  if (files === undefined) {
    return deny(
      'options',
      `The script \`${script.text}\` of \`${program}\` runs commands or cannot be read; use plain editing commands.`,
    );
  }
  return firstDenial(files, (text) =>
    refuseTarget({ ...script, text }, scene, { rule: 'writes', by: `${program} w`, does: 'write', exact: true }),
  );
}

/** The files a script writes; nothing when it runs commands (`e`, `s///e`) or is not understood. */
export function readSedScript(text: string): readonly string[] | undefined {
  const reader = createReader(text);
  const files: string[] = [];
  for (;;) {
    reader.skip(/[\s;{}]*/y);
    if (reader.isAtEnd()) return files;
    if (!skipAddresses(reader)) return undefined;
    const command = reader.take();
    if (command === 's' || command === 'y') {
      const file = substitution(command, reader);
      if (file === undefined) return undefined;
      if (file !== '') files.push(file);
    } else if (command === 'w' || command === 'W') files.push(reader.skip(/[^\n]*/y).trim());
    else if (followedBy[command] !== undefined) reader.skip(new RegExp(followedBy[command], 'y'));
    else return undefined;
  }
}

/** What may follow each command that neither runs nor writes anything. */
const followedBy: Readonly<Record<string, string>> = Object.fromEntries(
  [
    ['{}=dDgGhHnNpPxzF', ''],
    ['rR#', '[^\\n]*'],
    ['aic', '(?:[^\\n\\\\]|\\\\[^])*'],
    [':btT', '[^\\n;}]*'],
    ['qQlL', '[ \\t]*\\d*'],
  ].flatMap(([commands = '', rest = '']) => commands.split('').map((command) => [command, rest])),
);

interface Reader {
  skip(pattern: RegExp): string;
  take(): string;
  peek(): string;
  isAtEnd(): boolean;
  /** Reads up to a delimiter; false when there is none in this line or versions of sed disagree about where it is. */
  part(end: string, isPattern: boolean): boolean;
}

function createReader(text: string): Reader {
  let at = 0;
  const reader: Reader = {
    skip: (pattern) => {
      pattern.lastIndex = at;
      const found = pattern.exec(text)?.[0] ?? '';
      at += found.length;
      return found;
    },
    take: () => text.charAt(at++),
    peek: () => text.charAt(at),
    isAtEnd: () => at >= text.length,
    part: (end, isPattern) => {
      if (end === '' || end === '\n' || end === '\\') return false;
      while (at < text.length && text.charAt(at) !== '\n') {
        if (isPattern && reader.peek() === '[') {
          const set = reader.skip(/\[\^?\]?(?:\[([:.=])[\w-]{0,20}\1\]|[^\]\n])*\]/y);
          // Some versions end the pattern at a delimiter inside a set, others do not.
          if (set === '' || set.includes(end)) return false;
          continue;
        }
        const next = reader.take();
        if (next === end) return true;
        if (next === '\\') at += 1;
      }
      return false;
    },
  };
  return reader;
}

function skipAddresses(reader: Reader): boolean {
  if (!skipAddress(reader)) return false;
  reader.skip(/[ \t]*/y);
  if (reader.peek() === ',') {
    reader.take();
    reader.skip(/[ \t]*/y);
    if (!skipAddress(reader)) return false;
  }
  reader.skip(/[ \t!]*/y);
  return true;
}

function skipAddress(reader: Reader): boolean {
  const first = reader.peek();
  if (first !== '/' && first !== '\\') {
    reader.skip(/(?:\d+(?:~\d+)?|\$|[+~]\d+)?/y);
    return true;
  }
  if (first === '\\') reader.take();
  if (!reader.part(reader.take(), true)) return false;
  reader.skip(/[IM]*/y);
  return true;
}

/** `s` and `y`: the file of a `w` flag, an empty text when there is none; nothing when it is not understood. */
function substitution(command: 's' | 'y', reader: Reader): string | undefined {
  const end = reader.take();
  if (!reader.part(end, command === 's') || !reader.part(end, false)) return undefined;
  if (command === 's') reader.skip(/[gpiImM\d]*/y);
  if (command === 's' && reader.peek() === 'w') {
    reader.take();
    return reader.skip(/[^\n]*/y).trim();
  }
  reader.skip(/[ \t]*/y);
  return reader.isAtEnd() || /[;}#\n]/.test(reader.peek()) ? '' : undefined;
}
