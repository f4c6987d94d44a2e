import { deny, type Denial, type ShellPolicy } from './shell-types.ts';

/** Last path part, lower case, without `.exe` (agent-runtime section 16). */
export function programName(text: string): string {
  const last = text.slice(Math.max(text.lastIndexOf('/'), text.lastIndexOf('\\')) + 1).toLowerCase();
  return last.endsWith('.exe') ? last.slice(0, -4) : last;
}

/** Rules 3 to 5 as far as the name alone decides. */
export function refuseProgram(program: string, policy: ShellPolicy): Denial | undefined {
  if (policy.blocked.has(program) || policy.blocked.has(familyOf(program))) {
    return deny('blocked', `The program \`${program}\` is blocked; do without it or ask the user to run it.`);
  }
  if (definers.has(program)) {
    return deny('definitions', `\`${program}\` changes what names mean; write the commands out instead.`);
  }
  if (!policy.network && networkPrograms.has(program)) {
    return deny(
      'network',
      `\`${program}\` needs the network, which is not allowed here; work with local files or ask the user.`,
    );
  }
  const { allowed } = policy;
  if (allowed === undefined || allowed.has(program) || alwaysAllowed.has(program)) return undefined;
  return deny(
    'allowlist',
    `The program \`${program}\` is not on the list of allowed commands; use one that is (${sample(allowed)}).`,
  );
}

/** `mkfs.ext4` is `mkfs`, `sudo-rs` is `sudo`, `iptables-restore` is `iptables`. */
function familyOf(program: string): string {
  if (/^(?:mkfs|fsck)\./.test(program)) return 'mkfs';
  return (
    /^(sudo|su)(?:-rs|\.ws)$|^(ip6?tables)-/
      .exec(program)
      ?.slice(1)
      .find((name) => name !== undefined) ?? program
  );
}

function sample(allowed: ReadonlySet<string>): string {
  const names = [...allowed].slice(0, 5).map((name) => `\`${name}\``);
  return names.join(', ') + (allowed.size > names.length ? ', …' : '');
}

/** Builtins that give names another meaning, among them those of zsh and ksh that do so or run text they are given. */
const definers = new Set(
  `alias hash enable unalias bind complete compgen compopt fc let history
  emulate zpty sched zmodload autoload functions vared getln disable zle bindkey zstyle zcompile setopt unsetopt unhash unfunction
  integer float private nameref hist zf_ln zf_mv zf_rm zf_rmdir zf_chmod zf_mkdir`.split(/\s+/),
);

/** Those of rule 5 and more whose purpose it is to move data. */
const networkPrograms = new Set(
  `curl wget nc ncat netcat telnet ftp sftp scp ssh
  socat lftp tftp aria2c axel lynx w3m links elinks http https xh rlogin rsh mosh autossh sshfs rclone`.split(/\s+/),
);

/** What an allowlist never takes away (rule 4). */
const alwaysAllowed = new Set(
  ['cd', 'echo', 'printf', 'true', 'false', 'pwd', 'test', '[', 'exit', ':'].concat([
    'exec',
    'command',
    'builtin',
    'time',
  ]),
);

/** Programs that are always blocked (agent-runtime section 16, rule 3). */
export const blockedPrograms: readonly string[] =
  `shutdown reboot halt poweroff init mkfs fdisk parted gdisk dd sudo su doas chown iptables ip6tables nft ufw nmap systemctl service
  crontab mount umount useradd userdel usermod groupadd groupdel passwd visudo pkexec run0`.split(/\s+/);
