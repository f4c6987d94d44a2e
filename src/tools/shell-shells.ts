import { parseOptions } from './shell-options.ts';
import { refuseShellScript, refuseStandardInput } from './shell-scripts.ts';
import { deny, elsewhere, firstDenial, type Arg, type Denial, type ProgramRule, type Scene } from './shell-types.ts';
import { refuseShellText } from './shell-wrappers.ts';

/** Shells whose text reads like what the policy parses. */
export const posixShells = [
  'bash',
  'sh',
  'zsh',
  'dash',
  'ksh',
  'ksh93',
  'ash',
  'mksh',
  'rbash',
  'rksh',
  'yash',
  'posh',
  'lksh',
  'oksh',
];

/** `sh -c text`, `sh script`; never standard input (rule 8). */
export const refuseShell: ProgramRule = (call) => {
  const { program, args, scene } = call;
  let hasText = false;
  let index = 0;
  for (; index < args.length; index += 1) {
    const { text } = args[index] ?? { text: '' };
    if (args[index]?.isComputed === true) break;
    if (text === '--' || text === '-') {
      index += 1;
      break;
    }
    if (!/^[-+]./.test(text)) break;
    if (text.startsWith('--')) {
      if (/^--(?:help|version)$/.test(text)) return undefined;
      if (!harmlessLong.has(text)) return refuseOption(text, program);
      continue;
    }
    const letters = text.slice(1);
    if (!/^[abcefhklmnopruvxBCEHO]+$/.test(letters) || letters.includes('s')) return refuseOption(text, program);
    if (text.startsWith('-') && letters.includes('c')) hasText = true;
    // `-o name` and `-O name` take one word for each letter.
    index += letters.replaceAll(/[^oO]/g, '').length;
  }
  const operand = args[index];
  if (operand === undefined) return refuseStandardInput(program);
  if (!hasText) return refuseShellScript(operand, call);
  if (program === 'zsh' && tiedNames.test(operand.text)) {
    return deny('variables', 'zsh gives names such as `path` a meaning of their own; use `sh -c`, or another name.');
  }
  return refuseShellText(operand, program, elsewhere(scene));
};

/** In zsh these stand for `PATH` and the like, or hold functions that run by themselves. */
const tiedNames = /(?<![\w./$-])(?:path|fpath|cdpath|module_path|\w+_functions)\b(?![./-])/;

const harmlessLong = new Set(['--login', '--noprofile', '--norc', '--posix', '--verbose', '--restricted']);

function refuseOption(text: string, program: string): Denial {
  return deny(
    'shells',
    `The option \`${text}\` of \`${program}\` is not checked here; use \`${program} -c '…'\` or a script file.`,
  );
}

/** `eval words`: the words, joined, are a command line of this shell. */
export const refuseEval: ProgramRule = ({ args, scene, program }) => {
  const words = args[0]?.text === '--' ? args.slice(1) : args;
  if (words.length === 0) return undefined;
  const computed = words.find((word) => word.isComputed || word.place !== undefined);
  if (computed !== undefined) return refuseShellText(computed, program, scene);
  return scene.runText(words.map((word) => word.text).join(' '), scene, true);
};

/** `. file`, `source file`. */
export const refuseSource: ProgramRule = (call) => {
  const words = call.args[0]?.text === '--' ? call.args.slice(1) : call.args;
  const [file] = words;
  return file === undefined ? undefined : refuseShellScript(file, call);
};

/** `trap 'text' SIGNAL`: the text may run in any directory the line has been in. */
export const refuseTrap: ProgramRule = ({ program, args, scene }) => {
  const words = args[0]?.text === '--' ? args.slice(1) : args;
  const [text, ...signals] = words;
  if (text === undefined || /^-[lpP]?$/.test(text.text) || text.text === '') return undefined;
  if (signals.length === 0 && !text.isComputed && /^[A-Z0-9]+$/.test(text.text)) return undefined;
  if (text.isComputed) return refuseShellText(text, program, scene);
  const { ledger } = scene;
  ledger.deferred.push(() =>
    scene.runText(text.text, { ...elsewhere(scene), directories: [...ledger.directories] }, false),
  );
  return undefined;
};

/** `set`: options of the shell; `-k` would turn arguments into variables of the environment. */
export const refuseSet: ProgramRule = ({ args }) => {
  const end = args.findIndex((arg) => arg.text === '--' || arg.text === '-' || !/^[-+]/.test(arg.text));
  const options = end < 0 ? args : args.slice(0, end);
  const stop = end < 0 ? undefined : args[end];
  const unclear =
    options.find((arg) => arg.isComputed || !/^[-+][abefhmnuvxBCETlo]+$/.test(arg.text)) ??
    (stop?.maySteer === true ? stop : undefined);
  if (unclear === undefined && !args.some((arg) => /^(?:keyword|history|histexpand)$/.test(arg.text))) return undefined;
  return deny(
    'shells',
    `\`set ${unclear?.text ?? '-k'}\` is not checked here; set plain options such as \`-e\`, \`-u\`, \`-x\`, \`-o pipefail\`.`,
  );
};

/** `shopt`: only what does not change how names are found or read. */
export const refuseShopt: ProgramRule = ({ args }) => {
  const known = /^(?:-[qpsu]+|globstar|nullglob|failglob|nocaseglob|inherit_errexit|lastpipe|checkwinsize)$/;
  const unclear = args.find((arg) => arg.isComputed || !known.test(arg.text));
  if (unclear === undefined) return undefined;
  return deny('shells', `\`shopt\` with \`${unclear.text}\` changes how commands are read; do without it.`);
};

/** Shells with a language of their own: only plain words can be checked in their text. */
export const refuseForeignShell: ProgramRule = (call) => {
  const { program, args, scene } = call;
  const parsed = parseOptions(args, { values: 'c', longValues: ['--command', '--commands'], stops: true });
  if (args.length === 1 && /^--(?:help|version)$/.test(args[0]?.text ?? '')) return undefined;
  const unknown = parsed.options.find(
    (option) => !/^-[lefnvxN]$|^-c$|^--(?:command|commands|login|no-config)$/.test(option.name),
  );
  if (unknown !== undefined || parsed.unclear !== undefined) {
    return refuseOption(unknown?.name ?? parsed.unclear?.text ?? '', program);
  }
  const texts = parsed.options.flatMap((option) => option.value ?? []);
  if (texts.length > 0) return firstDenial(texts, (text) => refusePlainWords(text, program, scene));
  const [operand] = parsed.operands;
  return operand === undefined ? refuseStandardInput(program) : refuseShellScript(operand, call);
};

const foreignKeywords =
  /^(?:and|or|not|begin|end|if|while|for|foreach|function|switch|builtin|command|exec|eval|source|def|alias|repeat|run-external|do|let|const|mut|use|set|fn|var|del|each|@|iex|icm|saps|start|spps|ri|rd|del|erase|rmdir|ni|sc|ac|cpi|mi|copy|move|ren|iwr|irm|call)$/i;

/** Cmdlets that only look and print. */
const harmlessCmdlet =
  /^(?:get|test|write|select|measure|format|convertto|convertfrom|compare|group|sort|resolve|split|join)-[a-z]+$/i;

/** Text without any sign that languages read differently, plain words between `;` and `|`; each first word is a program. */
export function refusePlainWords(text: Arg, program: string, scene: Scene): Denial | undefined {
  const parts = text.text.split(/[;|\n]/).map((part) => part.trim());
  const isPlain = parts.every((words) => {
    const first = words.split(/\s+/)[0] ?? '';
    const isCommand = !foreignKeywords.test(first) && (!/^[a-z]+-[a-z]+$/i.test(first) || harmlessCmdlet.test(first));
    return /^[\w ./:,@+-]+$/.test(words) && isCommand;
  });
  if (!text.isComputed && isPlain) return firstDenial(parts, (words) => scene.runText(words, elsewhere(scene), false));
  return deny('shells', `The text for \`${program}\` cannot be checked; use \`sh -c '…'\` or a script file.`);
}

/** PowerShell and `cmd`: plain words or a script file; never an encoded command. */
export const refuseWindowsShell: ProgramRule = (call) => {
  const { program, args, scene } = call;
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index];
    if (arg === undefined || arg.isComputed) break;
    const option = arg.text.toLowerCase();
    if (/^-(?:noprofile|nop|noninteractive|noni|nologo|nol|mta|sta|login|l)$/.test(option)) continue;
    if (/^-(?:executionpolicy|ep|ex|outputformat|inputformat|version|workingdirectory|wd)$/.test(option)) {
      index += 1;
      continue;
    }
    if (/^-(?:help|\?|h)$/.test(option) || option === '--version') return undefined;
    const rest = args.slice(index + 1);
    if (/^(?:-command|-c|\/c)$/.test(option)) {
      if (rest.length === 0 || rest.some((word) => word.isComputed)) break;
      const words = { ...(rest[0] ?? arg), text: rest.map((word) => word.text).join(' ') };
      return words.text === '-' ? refuseStandardInput(program) : refusePlainWords(words, program, scene);
    }
    if (/^-(?:file|f)$/.test(option) && rest[0] !== undefined && rest[0].text !== '-')
      return refuseShellScript(rest[0], call);
    if (!/^[-/]/.test(option) && option.endsWith('.ps1')) return refuseShellScript(arg, call);
    break;
  }
  return deny(
    'shells',
    `This use of \`${program}\` cannot be checked; use \`-File\` with a script or \`-Command\` with plain words.`,
  );
};
