import { refuseConfigValue } from './shell-git-config.ts';
import { mayMean, parseOptions, type OptionGrammar } from './shell-options.ts';
import { refuseOutput } from './shell-outputs.ts';
import { refuseTarget } from './shell-paths.ts';
import { deny, firstDenial, type Arg, type Call, type Denial } from './shell-types.ts';

/** What a git command may not do at all, with the way out. */
const refusedCommands: ReadonlyMap<string, string> = new Map([
  ['filter-branch', 'rewrite commits with `git rebase` instead'],
  ['filter-repo', 'rewrite commits with `git rebase` instead'],
  ['instaweb', 'read the history with `git log`'],
  ['web--browse', 'open nothing from here'],
  ['daemon', 'serve nothing from here'],
  ['http-backend', 'serve nothing from here'],
  ['shell', 'use git commands directly'],
  ['upload-pack', 'use `git fetch`'],
  ['receive-pack', 'use `git push`'],
  ['send-pack', 'use `git push`'],
  ['http-push', 'use `git push`'],
  ['upload-archive', 'use `git archive`'],
  ['remote-ext', 'use a plain URL'],
  ['remote-fd', 'use a plain URL'],
  ['send-email', 'write patches with `git format-patch`'],
  ['imap-send', 'write patches with `git format-patch`'],
  ['credential', 'leave credentials to git'],
  ['credential-store', 'leave credentials to git'],
  ['credential-cache', 'leave credentials to git'],
  ['for-each-repo', 'work in one repository'],
  ['fast-import', 'create commits with `git commit`'],
  ['cvsserver', 'serve nothing from here'],
  ['merge-index', 'use `git merge` or `git checkout --merge`'],
]);

/** Options that start a program, in any command that has them. */
const programOptions = ['--upload-pack', '--receive-pack', '--open-files-in-pager', '--ext-diff', '--exec', '--extcmd'];

/** Options whose value may be computed, such as a message that a here-document holds. */
const valueOptions: Readonly<Record<string, OptionGrammar>> = {
  commit: {
    values: 'mFCct',
    attached: 'Su',
    longValues: [
      '--message',
      '--file',
      '--reuse-message',
      '--reedit-message',
      '--fixup',
      '--squash',
      '--author',
      '--date',
      '--trailer',
    ],
  },
  tag: { values: 'mFu', longValues: ['--message', '--file', '--local-user', '--trailer'] },
  merge: { values: 'mFsX', attached: 'S', longValues: ['--message', '--file', '--strategy', '--strategy-option'] },
  notes: { values: 'mFCc', longValues: ['--message', '--file'] },
  stash: { values: 'm', longValues: ['--message'] },
};

/** All commands but `config` and `push`. */
export function refuseGitCommand(name: string, call: Call): Denial | undefined {
  const reason = refusedCommands.get(name);
  if (reason !== undefined) return deny('git', `\`git ${name}\` is not allowed; ${reason}.`);
  if (name.includes('--'))
    return deny('git', `\`git ${name}\` is a part of another command; use \`git ${name.split('--')[0]}\`.`);
  const { unclear } = parseOptions(call.args, valueOptions[name] ?? {});
  if (unclear !== undefined) {
    return deny(
      'git',
      `\`${unclear.text}\` may add any option to \`git ${name}\`; write it out, or put \`--\` before paths.`,
    );
  }
  return refuseOptions(name, call) ?? refuseSpecial(name, call) ?? refusePaths(name, call);
}

/** Commands that change the files they are given, and options of others that name one; a repository may reach above the workspace. */
const pathWriters = new Set([
  'mv',
  'rm',
  'clean',
  'checkout',
  'restore',
  'merge-file',
  'mailinfo',
  'mailsplit',
  'pack-objects',
]);
const pathOptions = /^--(?:prefix|index-output|export-marks|object-dir)$/;

function refusePaths(name: string, call: Call): Denial | undefined {
  const { options, operands } = parseOptions(call.args, {
    longValues: ['--prefix', '--index-output', '--export-marks', '--object-dir'],
  });
  const isInPlace = name === 'interpret-trailers' && options.some((option) => mayMean(option.name, '--in-place'));
  const written = options.flatMap(({ name: option, value }) =>
    value !== undefined && (pathOptions.test(option) || (name === 'checkout-index' && mayMean(option, '--prefix')))
      ? [value]
      : [],
  );
  if (pathWriters.has(name) || isInPlace) written.push(...operands);
  return firstDenial(written, (target) => refuseOutput(target, { ...call, program: `git ${name}` }));
}

function beforeDashes(args: readonly Arg[]): readonly Arg[] {
  const end = args.findIndex((arg) => arg.text === '--' && !arg.isComputed);
  return end < 0 ? args : args.slice(0, end);
}

function refuseOptions(name: string, { args, scene }: Call): Denial | undefined {
  const words = beforeDashes(args);
  return (
    firstDenial(words, (arg) => {
      const option = arg.text.split('=')[0] ?? '';
      const program = programOptions.find((full) => option.length > 4 && mayMean(option, full));
      if (program !== undefined) {
        return deny('git', `\`git ${name} ${option}\` starts another program; run the command without it.`);
      }
      if (arg.text.startsWith('-O'))
        return deny('git', `\`git ${name} -O\` starts a pager or reads an order file; run the command without it.`);
      if (option.length > 4 && mayMean(option, '--output')) {
        return deny(
          'git',
          `\`git ${name} --output\` writes a file by itself; redirect its output with \`>\` to a path inside the workspace.`,
        );
      }
      return undefined;
    }) ?? refuseOutputDirectory(name, words, { scene })
  );
}

/** `archive -o`, `format-patch -o`, `bundle create` write where they are told. */
function refuseOutputDirectory(name: string, args: readonly Arg[], { scene }: Pick<Call, 'scene'>): Denial | undefined {
  const by = `git ${name}`;
  const write = (arg: Arg | undefined): Denial | undefined =>
    arg === undefined ? undefined : refuseTarget(arg, scene, { rule: 'git', by, does: 'write', exact: true });
  if (/^(?:archive|format-patch|bugreport|diagnose|mailsplit)$/.test(name)) {
    const parsed = parseOptions(args, { values: 'o', longValues: ['--output-directory'] });
    return firstDenial(parsed.options, (option) =>
      option.name === '-o' || mayMean(option.name, '--output-directory') ? write(option.value) : undefined,
    );
  }
  if (name === 'bundle' && args[0]?.text === 'create') return write(parseOptions(args.slice(1), {}).operands[0]);
  return undefined;
}

function refuseSpecial(name: string, { args, scene }: Call): Denial | undefined {
  const [first] = args;
  const has = (pattern: RegExp): boolean => beforeDashes(args).some((arg) => pattern.test(arg.text));
  const runs = (what: string): Denial =>
    deny('git', `\`git ${name} ${what}\` runs commands; run them yourself, one call each.`);
  switch (name) {
    case 'rebase':
      return has(/^-\w*x|^--exe/) ? runs('--exec') : undefined;
    case 'bisect':
      return args.some((arg) => /^(?:run|visualize|view)$/.test(arg.text)) ? runs('run') : undefined;
    case 'submodule':
      return args.some((arg) => arg.text === 'foreach') ? runs('foreach') : undefined;
    case 'difftool':
    case 'mergetool':
      return has(/^-[xtg]|^--(?:ext|too|gu)/) && !has(/^--tool-help$/) ? runs('with a tool') : undefined;
    case 'worktree':
      return first?.text === 'list'
        ? undefined
        : deny('git', '`git worktree` may only `list` here, workspaces are managed; work in this one.');
    case 'maintenance':
      return has(/^(?:start|stop|register|unregister)$/)
        ? deny('git', '`git maintenance` must not change schedules; use `git gc`.')
        : undefined;
    case 'help':
      return has(/^-w|^--web/)
        ? deny('git', '`git help --web` starts a browser; use `git help` without it.')
        : undefined;
    case 'apply':
      return has(/^--unsafe/)
        ? deny('git', '`git apply --unsafe-paths` may write outside the workspace; apply the patch without it.')
        : undefined;
    case 'clone':
    case 'init':
      return refuseClone(name, args, scene);
    default:
      return undefined;
  }
}

const cloneValues = [
  '--origin',
  '--branch',
  '--revision',
  '--reference',
  '--reference-if-able',
  '--depth',
  '--shallow-since',
  '--shallow-exclude',
  '--jobs',
  '--filter',
  '--config',
  '--bundle-uri',
  '--server-option',
  '--object-format',
  '--ref-format',
  '--initial-branch',
];

/** `clone` and `init`: no template, no program, and a folder inside the workspace. */
function refuseClone(name: string, args: readonly Arg[], scene: Call['scene']): Denial | undefined {
  const parsed = parseOptions(args, { values: name === 'clone' ? 'obujc' : 'b', longValues: cloneValues });
  const bad = parsed.options.find((option) => option.name === '-u' || /^--(?:temp|sep)/.test(option.name));
  if (bad !== undefined) return deny('git', `\`git ${name} ${bad.name}\` is not allowed; ${name} without it.`);
  const setting = firstDenial(parsed.options, (option) =>
    option.name === '-c' || mayMean(option.name, '--config') ? refuseConfigValue(option.value) : undefined,
  );
  if (setting !== undefined) return setting;
  const folder = parsed.operands[name === 'clone' ? 1 : 0];
  return folder === undefined
    ? undefined
    : refuseTarget(folder, scene, { rule: 'git', by: `git ${name}`, does: 'write', exact: true });
}
