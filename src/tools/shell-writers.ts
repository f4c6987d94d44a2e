import { posix } from 'node:path';
import { isInsideRoot, refuseManyPaths, refuseTarget, resolveIn, type TargetRules } from './shell-paths.ts';
import { refuseMode } from './shell-processes.ts';
import { mayMean, parseOptions, type OptionGrammar, type ParsedOptions } from './shell-options.ts';
import { deny, firstDenial, type Arg, type Call, type Denial, type ProgramRule, type Scene } from './shell-types.ts';

/** How a program that writes files is read. */
interface Writer extends OptionGrammar {
  /** Which operands are written: all, the last one, all but the first (a mode), the second, or sources and destination alike. */
  readonly writes: 'all' | 'last' | 'afterFirst' | 'second' | 'move';
  readonly exact?: boolean;
  /** Options that name the destination folder. */
  readonly into?: readonly string[];
  /** Options with which nothing is written, and with which every operand is. */
  readonly prints?: readonly string[];
  readonly all?: readonly string[];
  /** Options whose value is a file mode. */
  readonly modes?: readonly string[];
  /** Options that are refused, with the way out. */
  readonly refused?: readonly (readonly [string, string])[];
}

const copyValues = { values: 'tS', longValues: ['--target-directory', '--suffix'], into: ['-t', '--target-directory'] };

const links = 'copy without it';

const compressor: Writer = {
  writes: 'all',
  values: 'SFCT',
  longValues: ['--suffix', '--format', '--check', '--threads'],
  prints: ['-c', '-t', '-l', '--stdout', '--to-stdout', '--test', '--list'],
};

const writerTable: ReadonlyMap<string, Writer> = new Map<string, Writer>([
  [
    'cp',
    {
      ...copyValues,
      writes: 'last',
      refused: [
        ['-l', links],
        ['-s', links],
        ['--link', links],
        ['--symbolic-link', links],
      ],
    },
  ],
  [
    'gcp',
    {
      ...copyValues,
      writes: 'last',
      refused: [
        ['-l', links],
        ['-s', links],
        ['--link', links],
        ['--symbolic-link', links],
      ],
    },
  ],
  ['mv', { ...copyValues, writes: 'move' }],
  ['sponge', { writes: 'all', exact: true }],
  ['tee', { writes: 'all', exact: true }],
  ['touch', { writes: 'all', values: 'drt', longValues: ['--date', '--reference', '--time'] }],
  ['mkdir', { writes: 'all', values: 'm', longValues: ['--mode'], modes: ['-m', '--mode'] }],
  ['mkfifo', { writes: 'all', values: 'm', longValues: ['--mode'] }],
  ['truncate', { writes: 'all', values: 'sr', longValues: ['--size', '--reference'] }],
  ['fallocate', { writes: 'all', values: 'lo', longValues: ['--length', '--offset'] }],
  ['link', { writes: 'move' }],
  ['chgrp', { writes: 'afterFirst' }],
  ['chattr', { writes: 'afterFirst', values: 'vp' }],
  [
    'setfacl',
    {
      writes: 'all',
      values: 'mxMX',
      longValues: ['--modify', '--remove', '--modify-file', '--remove-file', '--restore'],
    },
  ],
  [
    'install',
    {
      ...copyValues,
      writes: 'last',
      values: 'tSmog',
      longValues: [...copyValues.longValues, '--mode', '--owner', '--group'],
      modes: ['-m', '--mode'],
      all: ['-d', '--directory'],
      refused: [['--strip-program', 'strip in a command of its own']],
    },
  ],
  [
    'csplit',
    {
      writes: 'second',
      values: 'bfn',
      longValues: ['--prefix', '--suffix-format', '--digits'],
      into: ['-f', '--prefix'],
    },
  ],
  ['ditto', { writes: 'last' }],
  ...['gzip', 'gunzip', 'bzip2', 'bunzip2', 'xz', 'unxz', 'zstd', 'unzstd', 'lz4', 'pigz'].map(
    (name): [string, Writer] => [name, compressor],
  ),
  ['dos2unix', { writes: 'all' }],
  ['unix2dos', { writes: 'all' }],
  ['uniq', { writes: 'second', values: 'fsw', longValues: ['--skip-fields', '--skip-chars', '--check-chars'] }],
  ['xxd', { writes: 'second', values: 'cglnosR', single: false }],
  [
    'split',
    {
      writes: 'second',
      values: 'abClntN',
      longValues: [
        '--suffix-length',
        '--bytes',
        '--line-bytes',
        '--lines',
        '--number',
        '--separator',
        '--additional-suffix',
      ],
      refused: [['--filter', 'split first, then work on the parts']],
    },
  ],
]);

/** The rule of each program that writes what it is told to (rule 10, CP7). */
export const writerRules: ReadonlyMap<string, ProgramRule> = new Map(
  [...writerTable].map(([name, writer]) => [name, (call: Call) => refuseWriter(call, writer)]),
);

function refuseWriter(call: Call, writer: Writer): Denial | undefined {
  const { program, args, scene } = call;
  const parsed = parseOptions(args, writer);
  if (parsed.unclear !== undefined) return unclearTarget(parsed.unclear, program);
  const refused = firstDenial(parsed.options, ({ name }) => refuseOption(name, program, writer));
  if (refused !== undefined) return refused;
  if (hasAny(parsed, writer.prints)) return undefined;
  const mode = firstDenial(parsed.options, ({ name, value }) =>
    value !== undefined && writer.modes?.some((full) => mayMean(name, full)) === true
      ? refuseMode(value, program)
      : undefined,
  );
  if (mode !== undefined) return mode;
  const rules: TargetRules = { rule: 'writes', by: program, does: 'write', exact: writer.exact === true };
  const folder = parsed.options.find(
    (option) => writer.into?.some((into) => mayMean(option.name, into)) === true,
  )?.value;
  const { written, sources } = targetsOf(parsed, writer, folder);
  const denial = firstDenial(written, (target) => refuseTarget(target, scene, rules));
  if (denial !== undefined) return denial;
  return noteCopies(sources, folder ?? written.at(-1), scene);
}

function hasAny(parsed: ParsedOptions, names: readonly string[] | undefined): boolean {
  return parsed.options.some((option) => names?.some((name) => mayMean(option.name, name)) === true);
}

export function unclearTarget(arg: Arg, program: string): Denial {
  return deny('writes', `\`${arg.text}\` may be any file or option of \`${program}\`; write the path out.`);
}

function refuseOption(name: string, program: string, writer: Writer): Denial | undefined {
  const found = writer.refused?.find(([full]) =>
    full.startsWith('--') ? name.length > 3 && mayMean(name, full) : name === full,
  );
  return found === undefined ? undefined : deny('writes', `\`${program} ${name}\` is not allowed; ${found[1]}.`);
}

function targetsOf(
  parsed: ParsedOptions,
  writer: Writer,
  folder: Arg | undefined,
): { written: readonly Arg[]; sources: readonly Arg[] } {
  const { operands } = parsed;
  if (hasAny(parsed, writer.all)) return { written: operands, sources: [] };
  if (folder !== undefined)
    return { written: writer.writes === 'move' ? [...operands, folder] : [folder], sources: operands };
  switch (writer.writes) {
    case 'all':
    case 'move':
      return { written: operands, sources: writer.writes === 'move' ? operands.slice(0, -1) : [] };
    case 'last':
      return { written: operands.length > 1 ? operands.slice(-1) : [], sources: operands.slice(0, -1) };
    case 'afterFirst':
      return { written: operands.slice(1), sources: [] };
    case 'second':
      return { written: operands.slice(1, 2), sources: [] };
  }
}

/** A copy into a folder has the name of its source: it counts as written, too. */
function noteCopies(sources: readonly Arg[], destination: Arg | undefined, scene: Scene): Denial | undefined {
  if (destination === undefined) return undefined;
  return firstDenial(sources, (source) => {
    for (const directory of scene.directories) {
      scene.ledger.written.add(
        resolveIn(scene.policy, resolveIn(scene.policy, directory, destination.text), posix.basename(source.text)),
      );
    }
    return refuseManyPaths(scene, 'writes');
  });
}

/** `ln`: where the link lies and, so that it leads nowhere else, what it stands for. */
export const refuseLink: ProgramRule = ({ program, args, scene }) => {
  const parsed = parseOptions(args, { values: 'tS', longValues: ['--target-directory', '--suffix'] });
  if (parsed.unclear !== undefined) return unclearTarget(parsed.unclear, program);
  const rules: TargetRules = { rule: 'writes', by: program, does: 'write', exact: false };
  const folder = parsed.options.find(({ name }) => name === '-t' || mayMean(name, '--target-directory'))?.value;
  const isSymbolic = parsed.options.some(
    ({ name }) => name === '-s' || name === '-r' || mayMean(name, '--symbolic') || mayMean(name, '--relative'),
  );
  const [targets, place] =
    folder !== undefined
      ? [parsed.operands, folder]
      : parsed.operands.length > 1
        ? [parsed.operands.slice(0, -1), parsed.operands.at(-1)]
        : [parsed.operands, undefined];
  const denial = place === undefined ? undefined : refuseTarget(place, scene, rules);
  return denial ?? firstDenial(targets, (target) => refuseLinked(target, place, isSymbolic, scene));
};

function refuseLinked(target: Arg, place: Arg | undefined, isSymbolic: boolean, scene: Scene): Denial | undefined {
  const rules: TargetRules = { rule: 'writes', by: 'ln', does: 'write', exact: false };
  // A symbolic link is read from the folder it lies in; the destination may be that folder or a name in it.
  const folders = scene.directories.flatMap((directory) => {
    const at = place === undefined ? directory : resolveIn(scene.policy, directory, place.text);
    return isSymbolic && place !== undefined
      ? [at, posix.dirname(at)].filter((each) => isInsideRoot(scene.policy, each))
      : [directory];
  });
  return refuseTarget(target, { ...scene, directories: folders }, rules);
}

/** `patch`: the file it changes, where it starts, what it writes. */
export const refusePatch: ProgramRule = ({ program, args, scene }) => {
  const parsed = parseOptions(args, {
    values: 'BDdFgiorpVYz',
    longValues: ['--directory', '--output', '--reject-file', '--input', '--prefix', '--strip', '--fuzz'],
  });
  if (parsed.unclear !== undefined) return unclearTarget(parsed.unclear, program);
  const written = parsed.options.flatMap(({ name, value }) =>
    value !== undefined &&
    (/^-[dorB]$/.test(name) ||
      ['--directory', '--output', '--reject-file', '--prefix'].some((full) => mayMean(name, full)))
      ? [value]
      : [],
  );
  return firstDenial([...parsed.operands.slice(0, 1), ...written], (target) =>
    target.text === '-'
      ? undefined
      : refuseTarget(target, scene, { rule: 'writes', by: program, does: 'write', exact: false }),
  );
};

/** `scp`: a copy from another machine lies inside the workspace. */
export const refuseCopyFrom: ProgramRule = ({ program, args, scene }) => {
  const { operands } = parseOptions(args, { values: 'cDFiJloPSX' });
  const destination = operands.length > 1 ? operands.at(-1) : undefined;
  if (destination === undefined || /^[^/]*:/.test(destination.text)) return undefined;
  return refuseTarget(destination, scene, { rule: 'writes', by: program, does: 'write', exact: false });
};
