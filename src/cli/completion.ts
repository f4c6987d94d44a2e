import type { Command } from 'commander';
import { type ExitCode, exitCodes, UsageError } from './failure.ts';
import type { CliIo } from './io.ts';

/** `vibe-bus completion bash|zsh|fish`: a script that completes commands and options, made from the table of commands. */
export function printCompletion(io: CliIo, shell: string, program: Command): ExitCode {
  const words = listWords(program, '');
  switch (shell) {
    case 'bash':
      io.out(toBash(words));
      return exitCodes.ok;
    case 'zsh':
      // zsh runs completion functions written for bash
      io.out(`autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n${toBash(words)}`);
      return exitCodes.ok;
    case 'fish':
      io.out(toFish(words));
      return exitCodes.ok;
    default:
      throw new UsageError(`no completion for \`${shell}\`; there is one for bash, zsh and fish`);
  }
}

interface CommandWords {
  /** Names from the top, joined with blanks; empty for the program itself. */
  readonly path: string;
  readonly names: readonly string[];
  readonly options: readonly string[];
}

function listWords(command: Command, path: string): readonly CommandWords[] {
  const own: CommandWords = {
    path,
    names: command.commands.map((entry) => entry.name()),
    options: [...command.options.map((option) => option.long ?? option.short ?? ''), '--help'],
  };
  const inner = command.commands.flatMap((entry) => listWords(entry, `${path} ${entry.name()}`.trim()));
  return [own, ...inner];
}

function toBash(words: readonly CommandWords[]): string {
  const cases = words.map(
    ({ path, names, options }) => `    '${path}') words='${[...names, ...options].join(' ')}' ;;`,
  );
  return `_vibe_bus() {
  local words='' chain='' word index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    case "$word" in -*) ;; *) chain="\${chain:+$chain }$word" ;; esac
  done
  while true; do
    case "$chain" in
${cases.join('\n    ')}
    esac
    [ -n "$words" ] && break
    case "$chain" in *' '*) chain=\${chain% *} ;; *) chain='' ;; esac
  done
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _vibe_bus vibe-bus
`;
}

function toFish(words: readonly CommandWords[]): string {
  const lines = words.flatMap(({ path, names, options }) => {
    const parts = path === '' ? [] : path.split(' ');
    const seen = parts.map((part) => `__fish_seen_subcommand_from ${part}`).join('; and ');
    const none = names.length > 0 ? `not __fish_seen_subcommand_from ${names.join(' ')}` : '';
    const when = [seen, none].filter((text) => text !== '').join('; and ');
    const condition = when === '' ? '' : ` -n '${when}'`;
    const flags = options.filter((name) => name.startsWith('--')).map((name) => name.slice(2));
    return [
      ...(names.length > 0 ? [`complete -c vibe-bus -f${condition} -a '${names.join(' ')}'`] : []),
      ...flags.map((name) => `complete -c vibe-bus${seen === '' ? '' : ` -n '${seen}'`} -l ${name}`),
    ];
  });
  return `${lines.join('\n')}\n`;
}
