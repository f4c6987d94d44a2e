import { mayMean, parseOptions, type ParsedOptions } from './shell-options.ts';
import { deny, firstDenial, type Arg, type Denial, type ProgramRule } from './shell-types.ts';

const protectedBranches = new Set(['main', 'master']);

const longValues = ['--repo', '--push-option', '--receive-pack', '--exec', '--recurse-submodules', '--signed'];

/** `git push`: a force push names its branch, and neither it nor a deletion is for `main` or `master` (rule 9). */
export const refusePush: ProgramRule = ({ args }) => {
  const parsed = parseOptions(args, { values: 'o', longValues: longValues.slice(0, 4) });
  if (parsed.unclear !== undefined) {
    return deny(
      'git',
      `\`${parsed.unclear.text}\` may add any option to \`git push\`; write the remote and the branch out.`,
    );
  }
  const program = find(parsed, '--receive-pack', '--exec');
  if (program !== undefined) {
    return deny('git', `\`git push ${program}\` names a program for the other side; push without it.`);
  }
  const everything = find(parsed, '--mirror', '--prune');
  if (everything !== undefined) {
    return deny(
      'git',
      `\`git push ${everything}\` may delete branches that are not named; push each branch by its name.`,
    );
  }
  // With `--repo` the first operand may still be the remote; the rest is always branches.
  const refspecs = parsed.operands.slice(1);
  const isForced =
    parsed.options.some(({ name }) => name === '-f') ||
    find(parsed, '--force', '--force-with-lease', '--force-if-includes') !== undefined;
  const deletes = parsed.options.some(({ name }) => name === '-d') || find(parsed, '--delete') !== undefined;
  if (isForced && (refspecs.length === 0 || find(parsed, '--all', '--branches') !== undefined)) {
    return deny('git', 'A force push must name its branch; use `git push --force-with-lease <remote> <branch>`.');
  }
  return firstDenial(refspecs, (refspec) => refuseRefspec(refspec, isForced, deletes));
};

function find(parsed: ParsedOptions, ...names: readonly string[]): string | undefined {
  return parsed.options.find(({ name }) => name.length > 3 && names.some((full) => mayMean(name, full)))?.name;
}

function refuseRefspec(refspec: Arg, isForced: boolean, deletes: boolean): Denial | undefined {
  const isPlus = refspec.text.startsWith('+');
  const text = isPlus ? refspec.text.slice(1) : refspec.text;
  const colon = text.indexOf(':');
  const target = colon < 0 ? text : text.slice(colon + 1);
  const isRisky = isForced || isPlus || deletes || colon === 0;
  if (!isRisky) return undefined;
  const branch = target.replace(/^(?:refs\/)?heads\//, '').toLowerCase();
  if (refspec.isUnknown || /[*?[]/.test(target) || branch === 'head' || branch === '@' || branch === '') {
    return deny(
      'git',
      `\`git push\` would force or delete \`${refspec.text}\`, which names no branch; write the branch out.`,
    );
  }
  if (!protectedBranches.has(branch)) return undefined;
  return deny('git', `\`git push\` must not force or delete \`${branch}\`; push another branch and propose a merge.`);
}
