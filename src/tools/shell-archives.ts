import { mayMean, parseOptions, type FoundOption, type ParsedOptions } from './shell-options.ts';
import { refuseTarget } from './shell-paths.ts';
import { refuseMode } from './shell-processes.ts';
import { deny, firstDenial, literalArg, type Arg, type Denial, type ProgramRule, type Scene } from './shell-types.ts';
import { unclearTarget } from './shell-writers.ts';

const tarGrammar = {
  values: 'fCTXbFgHIKLNV',
  longValues:
    `--file --directory --files-from --exclude-from --exclude --blocking-factor --info-script --new-volume-script
    --listed-incremental --format --use-compress-program --starting-file --tape-length --newer --after-date --label --mode --owner --group
    --mtime --strip-components --transform --xform --to-command --checkpoint-action --rsh-command --rmt-command --suffix --sort
    --one-top-level --index-file --volno-file --record-size --newer-mtime --owner-map --group-map`.split(/\s+/),
};

const compressors =
  /^(?:gzip|pigz|bzip2|pbzip2|lbzip2|xz|pixz|zstd|zstdmt|lz4|lzma|lzop|lzip|brotli|compress)(?: -[\dT\w]+)*$/;

/** `tar`: no programs, no absolute names, and archives and folders inside the workspace (CP4, rule 10). */
export const refuseTar: ProgramRule = ({ program, args, scene }) => {
  const parsed = parseOptions(unbundled(args), tarGrammar);
  if (parsed.unclear !== undefined) return unclearTarget(parsed.unclear, program);
  const is = (option: FoundOption, ...names: readonly string[]): boolean =>
    names.some((name) => option.name.length !== 3 && mayMean(option.name, name));
  const creates = parsed.options.some((option) =>
    is(option, '-c', '-r', '-u', '-A', '--create', '--append', '--update', '--catenate', '--concatenate'),
  );
  const runs = parsed.options.find(
    (option) =>
      is(
        option,
        '-F',
        '--checkpoint-action',
        '--to-command',
        '--info-script',
        '--new-volume-script',
        '--rsh-command',
        '--rmt-command',
      ) ||
      (is(option, '-I', '--use-compress-program') &&
        (option.value?.isComputed !== false || !compressors.test(option.value.text))),
  );
  if (runs !== undefined) return deny('options', `\`${program} ${runs.name}\` starts a program; run it yourself.`);
  const bad = parsed.options.find((option) =>
    is(option, '-P', '--absolute-names', '--remove-files', '--keep-directory-symlink'),
  );
  if (bad !== undefined)
    return deny(
      'writes',
      `\`${program} ${bad.name}\` may write or delete outside the archive's folder; run it without.`,
    );
  return firstDenial(parsed.options, (option) => {
    const { value } = option;
    if (value === undefined) return undefined;
    if (is(option, '--mode')) return refuseMode(value, program);
    if (is(option, '-C', '--directory', '--one-top-level')) return written(value, program, scene, 'write');
    if (is(option, '-g', '--listed-incremental', '--index-file', '--volno-file'))
      return written(value, program, scene, 'write');
    if (!is(option, '-f', '--file')) return undefined;
    if (value.text === '-') return undefined;
    if (/^[^/]*:/.test(value.text))
      return deny('network', `\`${value.text}\` is an archive on another machine; use a local file.`);
    return creates ? written(value, program, scene, 'write') : undefined;
  });
};

/** `tar xzf a.tgz`: the first word is a cluster whose values follow in order. */
function unbundled(args: readonly Arg[]): readonly Arg[] {
  const [first, ...rest] = args;
  if (first === undefined || first.text.startsWith('-') || first.isComputed) return args;
  const words = [...rest];
  const options: Arg[] = [];
  for (const letter of first.text) {
    options.push(literalArg(`-${letter}`));
    if (tarGrammar.values.includes(letter)) options.push(...words.splice(0, 1));
  }
  return [...options, ...words];
}

function written(value: Arg, by: string, scene: Scene, does: 'write' | 'delete'): Denial | undefined {
  return refuseTarget(value, scene, { rule: 'writes', by, does, exact: false });
}

/** `unzip`, `7z x`: the folder they fill. */
export const refuseUnzip: ProgramRule = ({ program, args, scene }) => {
  const is7z = program.startsWith('7z');
  const parsed = parseOptions(args, is7z ? { values: 'o' } : { values: 'dPx' });
  if (parsed.unclear !== undefined) return unclearTarget(parsed.unclear, program);
  const folders = parsed.options.flatMap(({ name, value }) =>
    (is7z ? name === '-o' : name === '-d') && value !== undefined ? [value] : [],
  );
  // Options may follow the archive, and `-:` lets members climb out of the folder.
  if (!is7z && parsed.options.some(({ name }) => name === '-:'))
    return deny('writes', '`unzip -:` lets files leave their folder; run it without.');
  return firstDenial(folders, (folder) => written(folder, program, scene, 'write'));
};

/** `zip`: no test program, and the archive inside the workspace. */
export const refuseZip: ProgramRule = ({ program, args, scene }) => {
  const parsed = parseOptions(args, {
    values: 'bntOPPsZ',
    longValues: ['--unzip-command', '--temp-path', '--output-file', '--out'],
  });
  if (parsed.unclear !== undefined) return unclearTarget(parsed.unclear, program);
  const bad = args.find((arg) => /^-\w*(?:TT|m)|^--(?:un|move)/.test(arg.text) && !arg.text.startsWith('--unicode'));
  if (bad !== undefined)
    return deny('options', `\`${program} ${bad.text}\` starts a program or removes the files; run it without.`);
  const outputs = parsed.options.flatMap(({ name, value }) =>
    (name === '-O' || name === '-b' || /^--(?:out|temp)/.test(name)) && value !== undefined ? [value] : [],
  );
  const targets = [...parsed.operands.slice(0, 1), ...outputs].filter((arg) => arg.text !== '-');
  return firstDenial(targets, (target) => written(target, program, scene, 'write'));
};

const rsyncValues =
  `--rsh --rsync-path --temp-dir --backup-dir --suffix --exclude --include --exclude-from --include-from --files-from --filter
  --log-file --log-file-format --partial-dir --compare-dest --copy-dest --link-dest --chmod --out-format --password-file --write-batch
  --only-write-batch --read-batch --bwlimit --port --timeout --max-size --min-size --info --debug --early-input`.split(
    /\s+/,
  );

/** `rsync`: no programs, no other machine without the network, and what it writes or deletes inside the workspace. */
export const refuseRsync: ProgramRule = ({ program, args, scene }) => {
  const parsed = parseOptions(args, { values: 'efTBM', longValues: rsyncValues });
  if (parsed.unclear !== undefined) return unclearTarget(parsed.unclear, program);
  const runs = parsed.options.find((option) => isProgram(option));
  if (runs !== undefined)
    return deny('options', `\`${program} ${runs.name}\` starts a program; run \`rsync\` without it.`);
  const remote = parsed.operands.find((arg) => /^[^/]*:|^rsync:\/\//.test(arg.text));
  if (remote !== undefined && !scene.policy.network) {
    return deny(
      'network',
      `\`${remote.text}\` is on another machine, and the network is not allowed here; copy local files.`,
    );
  }
  return refuseRsyncTargets(parsed, program, scene);
};

function isProgram({ name, value }: FoundOption): boolean {
  if (name === '-e' || (name.length > 4 && mayMean(name, '--rsh'))) return value?.text !== 'ssh';
  return name.startsWith('--rs') || name.startsWith('--daemon') || name === '-M' || name.startsWith('--remote-option');
}

function refuseRsyncTargets(parsed: ParsedOptions, program: string, scene: Scene): Denial | undefined {
  const removes = parsed.options.find(({ name }) => name.startsWith('--remove'));
  if (removes !== undefined)
    return deny('deletions', `\`${program} ${removes.name}\` deletes what it copied; copy first, then delete by name.`);
  const files = /^--(?:temp-dir|backup-dir|log-file|partial-dir|write-batch|only-write-batch)$|^-T$/;
  const options = parsed.options.flatMap(({ name, value }) => (files.test(name) && value !== undefined ? [value] : []));
  const modes = parsed.options.flatMap(({ name, value }) => (name === '--chmod' && value !== undefined ? [value] : []));
  const destination =
    parsed.operands.length > 1 ? parsed.operands.slice(-1).filter((arg) => !/^[^/]*:/.test(arg.text)) : [];
  return (
    firstDenial(modes, (mode) => refuseMode({ ...mode, text: mode.text.replaceAll(/(^|,)[DF]/g, '$1') }, program)) ??
    firstDenial([...destination, ...options], (target) => written(target, program, scene, 'write'))
  );
}

/** `cpio` and `pax` unpack wherever an archive says; only packing and listing is left of them. */
export const refuseCopyArchive: ProgramRule = ({ program, args }) => {
  const bad = args.find(
    ({ text, isComputed }) =>
      isComputed || /^-\w*[ipFODrCs]|^--(?:ex|pa|fi|ou|rsh|di|no-abs)/.test(text) || /^[^-].*[/]/.test(text),
  );
  if (bad === undefined) return undefined;
  return deny('writes', `\`${program} ${bad.text}\` may write anywhere; use \`tar\`.`);
};

/** `ar`: the archive it changes. */
export const refuseAr: ProgramRule = ({ program, args, scene }) => {
  const [keys, ...rest] = args;
  const [archive] = rest.filter(({ text }) => !text.startsWith('-'));
  if (keys === undefined || archive === undefined || /^-?[^-]*[tpx]/.test(keys.text)) return undefined;
  return written(archive, program, scene, 'write');
};
