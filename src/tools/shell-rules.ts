import { refuseAr, refuseCopyArchive, refuseRsync, refuseTar, refuseUnzip, refuseZip } from './shell-archives.ts';
import { refuseAwk } from './shell-awk.ts';
import { refuseContainer } from './shell-containers.ts';
import { converterRules } from './shell-converters.ts';
import { databaseRules, refuseAdmin, refuseDrop, refuseSqlite } from './shell-databases.ts';
import { refuseDeletion } from './shell-deletions.ts';
import { noteExit, refuseChange, refuseReturn } from './shell-directories.ts';
import { refuseFd } from './shell-fd.ts';
import { refuseFind } from './shell-find.ts';
import { refuseDashedGit, refuseGit } from './shell-git.ts';
import { formatterRules } from './shell-formatters.ts';
import { interpreterRule } from './shell-interpreters.ts';
import { launcherRules } from './shell-launchers.ts';
import { refusePackageManager } from './shell-packages.ts';
import { refuseChmod, refuseKill, refuseKillByName } from './shell-processes.ts';
import { programRules } from './shell-programs.ts';
import { recipeRules, refuseCmake } from './shell-recipes.ts';
import { refuseRename } from './shell-rename.ts';
import { refuseSed } from './shell-sed.ts';
import {
  posixShells,
  refuseEval,
  refuseForeignShell,
  refuseSet,
  refuseShell,
  refuseShopt,
  refuseSource,
  refuseTrap,
  refuseWindowsShell,
} from './shell-shells.ts';
import { deny, type Call, type Denial, type ProgramRule } from './shell-types.ts';
import { refuseDeclaration, refusePrintf, refuseReader, refuseTest } from './shell-variables.ts';
import { wrapperRules } from './shell-wrappers.ts';
import { refuseCopyFrom, refuseLink, refusePatch, writerRules } from './shell-writers.ts';
import { refuseXargs } from './shell-xargs.ts';

/** The rule for what a program may be asked to do; nothing when its name is all that counts. */
export function ruleFor(program: string): ProgramRule | undefined {
  if (program.startsWith('git-')) return refuseDashedGit;
  return rules.get(program) ?? interpreterRule(program) ?? (isLoader(program) ? refuseUnchecked : undefined);
}

function each(names: string, rule: ProgramRule): readonly (readonly [string, ProgramRule])[] {
  return names.split(/\s+/).map((name) => [name, rule] as const);
}

/** Programs that hand commands to somebody else, outlive the call or change the machine. */
const unchecked = `chroot nsenter unshare systemd-run machinectl at batch tmux screen dtach abduco daemonize runuser setpriv capsh sg newgrp
  runcon start-stop-daemon proot firejail bwrap login sulogin setcap insmod modprobe rmmod kexec telinit losetup pivot_root switch_root
  wipefs sgdisk sfdisk cfdisk mkswap swapoff swapon mknod chpasswd vipw vigr launchctl dscl csrutil nvram
  gosu su-exec pee mispipe zrun lckdo numactl chpst softlimit setlock setuidgid envuidgid aws-vault sudoedit lxc-execute cgexec ssh-agent installkernel update-alternatives`;

/** Programs that wait for somebody at a keyboard, and run commands when told to. */
const interactive =
  'vi vim nvim view vimdiff ex ed emacs emacsclient nano pico joe micro mc rvim gvim kak hx helix mg zile jed editor sensible-editor';

/** `/lib64/ld-linux-x86-64.so.2 program` starts the program. */
function isLoader(program: string): boolean {
  return /^ld(?:-[\w.-]+)?\.so(?:\.\d+)*$/.test(program);
}

function refuseUnchecked({ program }: Call): Denial {
  return deny('wrappers', `What \`${program}\` would do cannot be checked; run the command itself, or ask the user.`);
}

/** `jobs -x command` runs the command. */
function refuseJobs({ args }: Call): Denial | undefined {
  return args.every(({ text, isComputed }) => !isComputed && /^(?:-[lnprs]+|%.*|\d+)$/.test(text))
    ? undefined
    : deny('wrappers', '`jobs -x` runs a command; run the command itself.');
}

function refuseEditor({ program }: Call): Denial {
  return deny(
    'options',
    `\`${program}\` waits for somebody at a keyboard; change files with \`edit_file\` or \`sed\`.`,
  );
}

const both =
  (...rulesInOrder: readonly (ProgramRule | undefined)[]): ProgramRule =>
  (call) => {
    for (const rule of rulesInOrder) {
      const denial = rule?.(call);
      if (denial !== undefined) return denial;
    }
    return undefined;
  };

const rules: ReadonlyMap<string, ProgramRule> = new Map<string, ProgramRule>([
  ...wrapperRules,
  ...writerRules,
  ...launcherRules,
  ...programRules,
  ...databaseRules,
  ...converterRules,
  ...formatterRules,
  ['npm', both(refusePackageManager, launcherRules.get('npm'), programRules.get('npm'))],
  ...['pnpm', 'yarn', 'bun'].map((name): [string, ProgramRule] => [
    name,
    both(refusePackageManager, launcherRules.get(name), programRules.get(name), interpreterRule(name)),
  ]),
  ...[...recipeRules].map(([name, rule]): [string, ProgramRule] => [name, both(programRules.get(name), rule)]),
  ['scp', both(programRules.get('scp'), refuseCopyFrom)],
  ...each(posixShells.join(' '), refuseShell),
  ...each('fish csh tcsh rc elvish nu xonsh osh ysh es ion', refuseForeignShell),
  ...each('pwsh powershell cmd', refuseWindowsShell),
  ...each('rm rmdir unlink shred srm trash trash-put rimraf del del-cli grm', refuseDeletion),
  ...each('fd fdfind', refuseFd),
  ...each('cpio pax', refuseCopyArchive),
  ...each('jobs', refuseJobs),
  ...each('cmake', refuseCmake),
  ...each('print', refusePrintf),
  ...each('ar gar', refuseAr),
  ...each('find gfind', refuseFind),
  ...each('awk gawk mawk nawk original-awk', refuseAwk),
  ...each('sed gsed', refuseSed),
  ...each('tar gtar bsdtar', refuseTar),
  ...each('unzip 7z 7za 7zr', refuseUnzip),
  ...each('docker podman nerdctl', refuseContainer),
  ...each('rename prename file-rename perl-rename', refuseRename),
  ...each('dropdb dropuser', refuseDrop),
  ...each('mysqladmin mariadb-admin', refuseAdmin),
  ...each('sqlite3 sqlite', refuseSqlite),
  ...each('cd pushd chdir', refuseChange),
  ...each('pkill killall', refuseKillByName),
  ...each('export declare typeset readonly local', refuseDeclaration),
  ...each('read mapfile readarray getopts unset wait', refuseReader),
  ...each('test [', refuseTest),
  ...each('. source', refuseSource),
  ...each('ln gln', refuseLink),
  ...each(unchecked, refuseUnchecked),
  ...each(interactive, refuseEditor),
  ['git', refuseGit],
  ['xargs', refuseXargs],
  ['zip', refuseZip],
  ['rsync', refuseRsync],
  ['patch', refusePatch],
  ['chmod', refuseChmod],
  ['kill', refuseKill],
  ['popd', refuseReturn],
  ['exit', noteExit],
  ['printf', refusePrintf],
  ['eval', refuseEval],
  ['trap', refuseTrap],
  ['set', refuseSet],
  ['shopt', refuseShopt],
]);
