import { mayMean, parseOptions } from './shell-options.ts';
import { refuseTarget } from './shell-paths.ts';
import { refuseScriptFile } from './shell-scripts.ts';
import { deny, firstDenial, type Arg, type Denial, type ProgramRule, type Scene } from './shell-types.ts';
import { unclearTarget } from './shell-writers.ts';

const longValues = ['--field-separator', '--assign', '--file', '--source', '--exec', '--include', '--load'];

/** `awk`: a program that neither starts commands nor writes files elsewhere (CP4). */
export const refuseAwk: ProgramRule = ({ program, args, scene }) => {
  const parsed = parseOptions(args, { values: 'FvfeEil', attached: 'dopDL', longValues, stops: true });
  if (parsed.unclear !== undefined) return unclearTarget(parsed.unclear, program);
  const bad = parsed.options.find(({ name, value }) => {
    if (/^-[ildopD]$/.test(name)) return true;
    return (
      name.startsWith('--') &&
      ['--include', '--load', '--dump-variables', '--profile', '--pretty-print', '--debug'].some(
        (full) => name.length > 3 && mayMean(name, full),
      ) &&
      value !== undefined
    );
  });
  if (bad !== undefined)
    return deny('options', `\`${program} ${bad.name}\` loads code or writes files by itself; run it without.`);
  const sources = parsed.options.flatMap(({ name, value }) =>
    value !== undefined && (name === '-e' || mayMean(name, '--source')) ? [value] : [],
  );
  const hasFile = parsed.options.some(
    ({ name }) => /^-[fE]$/.test(name) || mayMean(name, '--file') || mayMean(name, '--exec'),
  );
  const files = parsed.options.flatMap(({ name, value }) =>
    /^-[fE]$/.test(name) || mayMean(name, '--file') || mayMean(name, '--exec') ? (value ?? []) : [],
  );
  const unread = firstDenial(files, (file) => refuseScriptFile(file, { program, args, scene }));
  if (unread !== undefined) return unread;
  const programs = sources.length > 0 || hasFile ? sources : parsed.operands.slice(0, 1);
  return firstDenial(programs, (text) => refuseProgramText(text, program, scene));
};

function refuseProgramText(text: Arg, program: string, scene: Scene): Denial | undefined {
  if (text.isOpen) return unclearTarget(text, program);
  const files = readAwkProgram(text.text);
  if (files === undefined) {
    return deny(
      'options',
      `The program given to \`${program}\` starts commands or cannot be read; pipe its output to them outside of it.`,
    );
  }
  return firstDenial(files, (file) =>
    refuseTarget({ ...text, text: file }, scene, { rule: 'writes', by: `${program} >`, does: 'write', exact: true }),
  );
}

/** The files an awk program writes; nothing when it starts commands or is not understood. */
export function readAwkProgram(source: string): readonly string[] | undefined {
  // Without any of these it can do no more than compute and print.
  if (!/system|getline|[|@>]/.test(source)) return [];
  const tokens = tokenize(source);
  if (tokens === undefined) return undefined;
  const files: string[] = [];
  let depth = 0;
  let printDepth = -1;
  for (let index = 0; index < tokens.length; index += 1) {
    const token = tokens[index] ?? '';
    if (token === 'system' || token === '|' || token === '|&' || token === '@') return undefined;
    if (token === '(' || token === '[') depth += 1;
    else if (token === ')' || token === ']') depth -= 1;
    else if (token === 'print' || token === 'printf') printDepth = depth;
    else if (token === ';' || token === '}' || token === '\n' || token === '{') printDepth = -1;
    else if ((token === '>' || token === '>>') && printDepth >= 0 && depth <= printDepth) {
      const target = tokens[index + 1] ?? '';
      const after = tokens[index + 2] ?? '\n';
      // Only a text that stands alone names the file; anything else is computed.
      if (!target.startsWith('"') || target.includes('\\') || !/^[;}\n]$/.test(after)) return undefined;
      files.push(target.slice(1, -1));
    }
  }
  return files;
}

/** After these a slash starts a pattern, or nothing can be said. */
const keywords = new Set(['print', 'printf', 'return', 'else', 'do', 'in', 'getline', 'exit', 'delete', 'next']);

/** Splits a program into names, texts and operators; nothing when a slash may be a division or a pattern. */
function tokenize(source: string): readonly string[] | undefined {
  const tokens: string[] = [];
  const pattern = /[ \t\r]+|\\\n|#[^\n]*|"(?:[^"\\\n]|\\[^])*"|[A-Za-z_]\w*|\d[\w.]*|>>|\|\||&&|\|&|\+\+|--|[^]/gy;
  while (pattern.lastIndex < source.length) {
    const token = pattern.exec(source)?.[0];
    if (token === undefined) break;
    if (/^[ \t\r#]|^\\\n/.test(token)) continue;
    if (token === '"') return undefined;
    if (token !== '/') {
      tokens.push(token);
      continue;
    }
    const before = tokens.at(-1) ?? '\n';
    const isOperand = /^(?:\w+|\]|"[^]*)$/.test(before) && !keywords.has(before);
    if (isOperand) {
      tokens.push(token);
      continue;
    }
    if (!/^(?:[(,!~{};:?\n=&]|&&|\|\||print|return|else|do)$/.test(before)) return undefined;
    const regex = /(?:[^/\\[\n]|\\.|\[\^?\]?(?:\[:\w+:\]|[^\]\n])*\])*\//y;
    regex.lastIndex = pattern.lastIndex;
    const found = regex.exec(source)?.[0];
    // Versions differ on whether a slash inside a set ends the pattern.
    if (found === undefined || found.slice(0, -1).replaceAll(/\\./g, '').includes('/')) return undefined;
    pattern.lastIndex += found.length;
    tokens.push('re');
  }
  return tokens;
}
