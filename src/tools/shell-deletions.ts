import { parseOptions } from './shell-options.ts';
import { refuseTarget } from './shell-paths.ts';
import { deny, firstDenial, type ProgramRule } from './shell-types.ts';

/** `rm`, `rmdir`, `unlink`, `shred`: exact paths inside the workspace (rule 6). */
export const refuseDeletion: ProgramRule = ({ program, args, scene }) => {
  const parsed = parseOptions(args, {
    values: program === 'shred' ? 'ns' : '',
    longValues: program === 'shred' ? ['--iterations', '--size', '--random-source'] : [],
  });
  // Every shortened form counts: `--no-p` is accepted as well.
  if (parsed.options.some((option) => option.name.startsWith('--no'))) {
    return deny('deletions', `\`${program} --no-preserve-root\` is never allowed; name the files that are to go.`);
  }
  return firstDenial(parsed.operands, (operand) =>
    refuseTarget(operand, scene, { rule: 'deletions', by: program, does: 'delete', exact: true }),
  );
};

/** Programs that remove what they are given. */
export const deleters: ReadonlySet<string> = new Set([
  'rm',
  'rmdir',
  'unlink',
  'shred',
  'srm',
  'trash',
  'trash-put',
  'rimraf',
  'del',
  'del-cli',
  'gio-trash',
]);
