import { parseOptions } from './shell-options.ts';
import { refuseTarget } from './shell-paths.ts';
import { deny, firstDenial, type Arg, type Denial, type ProgramRule } from './shell-types.ts';

/** A file mode must not give the owner's or group's rights to whoever runs the file (rule 7). */
export function refuseMode(mode: Arg, program: string): Denial | undefined {
  const isOctal = /^[-+=]?[0-7]+$/.test(mode.text);
  const bits = isOctal ? Number.parseInt(mode.text.replace(/^[-+=]/, ''), 8) & 0o6000 : 0;
  const setsBits = isOctal ? bits !== 0 : mode.text.split(',').some((clause) => /[+=][^-+=]*s/.test(clause));
  if (!mode.isUnknown && !setsBits) return undefined;
  return deny(
    'modes',
    `\`${program}\` must not set the mode \`${mode.text}\` (setuid, setgid or unknown); use plain permissions such as \`755\`.`,
  );
}

/** `chmod`: the mode, and files inside the workspace. */
export const refuseChmod: ProgramRule = ({ program, args, scene }) => {
  const isMode = (arg: Arg): boolean => /^-[rwxXstugo]+$/.test(arg.text);
  const words = args.filter((arg) => !isMode(arg));
  const parsed = parseOptions(words, {});
  if (parsed.unclear !== undefined || parsed.options.some(({ name }) => name.startsWith('--ref'))) {
    const shown = parsed.unclear?.text ?? '--reference';
    return deny('modes', `\`${program}\` takes its mode from \`${shown}\`; write the mode out.`);
  }
  const hasDashMode = args.some(isMode);
  const [mode, ...rest] = parsed.operands;
  const files = hasDashMode ? parsed.operands : rest;
  const denial = hasDashMode || mode === undefined ? undefined : refuseMode(mode, program);
  return (
    denial ??
    firstDenial(files, (file) =>
      refuseTarget(file, scene, { rule: 'writes', by: program, does: 'write', exact: false }),
    )
  );
};

/** `kill`: one process or group that is named, never all of them (rule 7). */
export const refuseKill: ProgramRule = ({ program, args }) => {
  const [first, ...rest] = args;
  if (first === undefined || /^(?:-l|-L|--list|--table)/.test(first.text)) return undefined;
  let targets: readonly Arg[] = args;
  if (/^(?:-s|-n|--signal)$/.test(first.text)) targets = rest.slice(1);
  else if (first.text.startsWith('-') && first.text !== '--' && rest.length > 0) targets = rest;
  return firstDenial(
    targets.filter((arg) => arg.text !== '--'),
    (target) => {
      const isAll = /^[-+]?0+$|^-0*1$|^\+?0*1$/.test(target.text);
      if (isAll)
        return deny(
          'processes',
          `\`${program} ${target.text}\` would reach every process, the group of this one or the first; name the process id.`,
        );
      if (target.maySteer)
        return deny(
          'processes',
          `\`${target.text}\` may be any process; write the process id out, or use \`pkill\` with a name.`,
        );
      return undefined;
    },
  );
};

const protectedProcesses = [
  'systemd',
  'launchd',
  'sshd',
  'dockerd',
  'init',
  'kernel_task',
  'windowserver',
  'explorer.exe',
];
const protectedLines = [
  '/usr/lib/systemd/systemd --system',
  '/sbin/init',
  '/usr/sbin/sshd -D',
  '/usr/bin/dockerd -H fd://',
];

/** `pkill`, `killall`: not the programs a machine needs to go on (rule 7). */
export const refuseKillByName: ProgramRule = ({ program, args }) => {
  const isPkill = program === 'pkill';
  const words = args.filter(
    (arg, index) => !(index === 0 && /^-(?:\d+|SIG[A-Z0-9]+|[A-Z][A-Z0-9]{2,})$/.test(arg.text)),
  );
  const parsed = parseOptions(words, isPkill ? pkillGrammar : killallGrammar);
  if (parsed.unclear !== undefined || parsed.operands.some((arg) => arg.isUnknown)) {
    return deny('processes', `\`${program}\` got a name that is computed; write the name of the program out.`);
  }
  if (
    parsed.options.some(({ name }) => name === '-l' || name === '--list' || name === '--version' || name === '--help')
  )
    return undefined;
  if (parsed.operands.length === 0)
    return deny('processes', `\`${program}\` without a name reaches too much; name the program.`);
  if (isPkill && parsed.options.some(({ name }) => name === '-v' || name.startsWith('--inv'))) {
    return deny('processes', '`pkill -v` ends everything that does not match; name what is to end.');
  }
  const isFull = isPkill && parsed.options.some(({ name }) => name === '-f' || name === '--full');
  const isPattern = isPkill || parsed.options.some(({ name }) => name === '-r' || name === '--regexp');
  const hit = parsed.operands.find((arg) =>
    matchesProtected(
      arg.text,
      isPattern,
      isFull,
      parsed.options.some(({ name }) => name === '-x'),
    ),
  );
  if (hit === undefined) return undefined;
  return deny(
    'processes',
    `\`${program} ${hit.text}\` would end a program the machine needs; name the program more exactly.`,
  );
};

const pkillGrammar = {
  values: 'dFgGPstuUr',
  longValues: [
    '--pidfile',
    '--pgroup',
    '--group',
    '--parent',
    '--session',
    '--terminal',
    '--euid',
    '--uid',
    '--signal',
    '--runstates',
  ],
};
const killallGrammar = {
  values: 'osuyznZ',
  longValues: ['--signal', '--user', '--older-than', '--younger-than', '--ns', '--context'],
};

function matchesProtected(text: string, isPattern: boolean, isFull: boolean, isExact: boolean): boolean {
  const lower = text.toLowerCase();
  const names = isFull ? [...protectedProcesses, ...protectedLines] : protectedProcesses;
  if (!isPattern) return protectedProcesses.includes(lower.slice(lower.lastIndexOf('/') + 1));
  // The subjects are short, so that no pattern can keep the engine busy for long; what cannot be read counts as a match.
  if (lower.length > 100 || /[+*}]\)*[+*{]/.test(lower)) return true;
  try {
    const pattern = new RegExp(isExact ? `^(?:${lower})$` : lower);
    return names.some((name) => pattern.test(name));
  } catch {
    return true;
  }
}
