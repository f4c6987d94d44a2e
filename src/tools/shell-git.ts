import { refuseGitConfig, refuseConfigValue } from './shell-git-config.ts';
import { refusePush } from './shell-git-push.ts';
import { refuseGitCommand } from './shell-git-commands.ts';
import { refuseTarget, resolveIn } from './shell-paths.ts';
import { deny, literalArg, type Arg, type Call, type Denial, type ProgramRule, type Scene } from './shell-types.ts';

const globalSwitches = new Set([
  '--no-pager',
  '-P',
  '--bare',
  '--no-replace-objects',
  '--literal-pathspecs',
  '--glob-pathspecs',
  '--noglob-pathspecs',
  '--icase-pathspecs',
  '--no-optional-locks',
  '--no-lazy-fetch',
  '--no-advice',
]);

/** With these, git only prints something about itself. */
const informing = /^(?:--version|-v|--help|-h|--exec-path|--html-path|--man-path|--info-path|--list-cmds=\w[\w,.-]*)$/;

/** `git`: options in front of the command, then the command (rule 9, CP5). */
export const refuseGit: ProgramRule = (call) => {
  const { args } = call;
  let { scene } = call;
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index];
    if (arg === undefined) break;
    if (!arg.text.startsWith('-') || arg.isComputed)
      return refuseCommand(arg, args.slice(index + 1), { ...call, scene });
    if (informing.test(arg.text)) return undefined;
    if (globalSwitches.has(arg.text)) continue;
    const next = args[index + 1];
    if (arg.text === '-C') {
      const denial = next === undefined ? undefined : refuseDirectory(next, scene);
      if (denial !== undefined || next === undefined) return denial;
      scene = { ...scene, directories: scene.directories.map((from) => resolveIn(scene.policy, from, next.text)) };
      index += 1;
      continue;
    }
    const setting = settingOf(arg, next);
    if (setting === undefined) {
      return deny(
        'git',
        `The option \`${arg.text}\` in front of a git command is not allowed; run \`git\` in its folder without it.`,
      );
    }
    const denial = refuseConfigValue(setting.value);
    if (denial !== undefined) return denial;
    index += setting.words - 1;
  }
  return undefined;
};

/** `git-foo`, found by its path or beside git, is `git foo`. */
export const refuseDashedGit: ProgramRule = (call) =>
  refuseGit({ ...call, program: 'git', args: [literalArg(call.program.slice('git-'.length)), ...call.args] });

function refuseDirectory(arg: Arg, scene: Scene): Denial | undefined {
  return refuseTarget(arg, scene, { rule: 'git', by: 'git -C', does: 'enter', exact: true });
}

/** `-c key=value`, `--config-env key=NAME`, `--config-env=key=NAME`. */
function settingOf(arg: Arg, next: Arg | undefined): { value: Arg | undefined; words: number } | undefined {
  if (arg.text === '-c' || arg.text === '--config-env') return { value: next, words: 2 };
  const attached = '--config-env=';
  if (!arg.text.startsWith(attached)) return undefined;
  return { value: { ...arg, text: arg.text.slice(attached.length) }, words: 1 };
}

function refuseCommand(command: Arg, args: readonly Arg[], call: Call): Denial | undefined {
  if (command.isComputed || !/^[\w.-]+$/.test(command.text)) {
    return deny('git', `The git command \`${command.text}\` is computed; write it out.`);
  }
  const transport = [command, ...args].find((arg) => /^[A-Za-z0-9+.-]+::/.test(arg.text));
  if (transport !== undefined) {
    return deny('git', `\`${transport.text}\` names a program that git would start; use a plain URL or path.`);
  }
  const inner: Call = { ...call, args };
  switch (command.text) {
    case 'config':
      return refuseGitConfig(inner);
    case 'push':
      return refusePush(inner);
    default:
      return refuseGitCommand(command.text, inner);
  }
}
