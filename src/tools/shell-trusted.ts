import type { ParsedScript, Word } from 'unbash';

/**
 * Whether a command substitution prints text that whoever wrote the line cannot choose: a hash, a number, a date, a folder.
 * It stays unknown, but it cannot become an option.
 */
export function hasTrustedOutput(script: ParsedScript | undefined): boolean {
  const [statement, ...more] = script?.commands ?? [];
  const command = statement?.command;
  if (more.length > 0 || command?.type !== 'Command' || command.name === undefined || command.prefix.length > 0)
    return false;
  const words = command.suffix.filter((part): part is Word => part.type === 'Word');
  const isQuiet = command.suffix.every(
    (part) =>
      part.type === 'Word' ||
      (part.type === 'Redirect' && part.descriptor?.type === 'FileDescriptor' && part.descriptor.value === 2),
  );
  if (
    !isQuiet ||
    [command.name, ...words].some((word) =>
      word.parts?.some((part) => part.type !== 'SingleQuoted' && part.type !== 'Literal'),
    )
  ) {
    return false;
  }
  const line = [command.name, ...words].map((word) => word.value).join(' ');
  return trusted.some((pattern) => pattern.test(line));
}

const revision = String.raw`(?:[\w@/][\w@/^~.-]*)`;

const trusted: readonly RegExp[] = [
  /^(?:pwd(?: -P)?|nproc|whoami|hostname|uname(?: -[a-z])?|id -(?:u|g|un|gn)|mktemp(?: -d)?|getconf \w+)$/,
  /^date(?: -u)? \+%[\w%:.-]+$/,
  /^git branch --show-current$/,
  new RegExp(`^git merge-base ${revision} ${revision}$`),
  new RegExp(`^git rev-parse (?:--show-toplevel|(?:(?:--short|--verify|--abbrev-ref) )?HEAD(?:[~^]\\d*)*)$`),
  /^git (?:symbolic-ref --short HEAD|describe(?: --(?:tags|always|abbrev=\d+))*)$/,
  /^git rev-list --max-parents=0 HEAD$/,
  /^(?:pgrep(?: -[fxn])* [\w./ -]+|pidof \w+|lsof -t ?-?i ?:?\d+|lsof -ti:?\d+)$/,
];
