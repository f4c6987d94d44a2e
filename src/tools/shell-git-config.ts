import { mayMean, parseOptions } from './shell-options.ts';
import { deny, type Arg, type Denial, type ProgramRule } from './shell-types.ts';

/** Sections and keys that name a program, a file git obeys, or who the author is. A name with a dot at its end is a section. */
const refusedKeys = [
  // agent-runtime section 16, rule 9
  ...`user. author. committer. alias. include. includeif. core.sshcommand core.pager core.editor core.hookspath core.fsmonitor core.gitproxy
  core.askpass sequence.editor credential.helper diff. merge. filter. protocol. uploadpack. receive. gpg.`.split(/\s+/),
  // More that name programs, servers or files git obeys.
  ...`pager. credential. difftool. mergetool. guitool. browser. web. man. help. instaweb. interactive. sendemail. trailer. remote. url.
  submodule. ssh. init.templatedir imap. uploadarchive. extensions. lfs. hook. tar. core.worktree core.alternaterefscommand
  core.attributesfile core.excludesfile http.cookiefile commit.template`.split(/\s+/),
];

/** Refuses `key=value` of `-c`, `--config-env` or `clone --config`. */
export function refuseConfigValue(setting: Arg | undefined): Denial | undefined {
  if (setting === undefined) return undefined;
  const key = /^([^=]*)/.exec(setting.text)?.[1]?.trim().toLowerCase() ?? '';
  if (setting.isComputed && (setting.isWildcard || setting.maySteer || !/^[\w.-]+=/.test(setting.text))) {
    return deny('git', `The git setting \`${setting.text}\` is computed; write its key out.`);
  }
  const refused = refusedKeys.some((name) => (name.endsWith('.') ? key.startsWith(name) : key === name));
  return refused || !key.includes('.')
    ? deny('git', `The git setting \`${key}\` must not be overridden; run the command without it.`)
    : undefined;
}

const readActions = [
  '--get',
  '--get-all',
  '--get-regexp',
  '--get-urlmatch',
  '--get-color',
  '--get-colorbool',
  '--list',
];
const readSwitches = [
  '--global',
  '--system',
  '--local',
  '--worktree',
  '--includes',
  '--no-includes',
  '--bool',
  '--int',
  '--bool-or-int',
  '--bool-or-str',
  '--path',
  '--expiry-date',
  '--null',
  '--name-only',
  '--show-origin',
  '--show-scope',
  '--show-names',
  '--no-show-names',
  '--all',
  '--regexp',
  '--fixed-value',
  '--no-type',
];
const readValues = ['--file', '--blob', '--type', '--default', '--value', '--url'];
const shortReads = new Set(['-l', '-z', '-f']);

/** `git config`: only forms that read, with at most one key (rule 9). */
export const refuseGitConfig: ProgramRule = ({ args }) => {
  const parsed = parseOptions(args, { values: 'f', longValues: readValues });
  const other = parsed.options.find(({ name }) => {
    if (!name.startsWith('--')) return !shortReads.has(name);
    // A shortened form could also stand for one that writes, such as `--re` or `--a`.
    return ![...readActions, ...readSwitches, ...readValues].includes(name) || mayMean(name, '--add');
  });
  const [first, ...rest] = parsed.operands;
  const reads = first !== undefined && /^(?:get|list)$/.test(first.text) ? rest : parsed.operands;
  const writes = first !== undefined && /^(?:set|unset|edit|rename-section|remove-section)$/.test(first.text);
  if (other === undefined && !writes && reads.length <= 1 && parsed.unclear === undefined) return undefined;
  return deny('git', '`git config` may only be read here, one key at a time; use `git config --get <key>`.');
};
