import { parseOptions } from './shell-options.ts';
import { refuseProgram } from './shell-judge.ts';
import { resolveIn } from './shell-paths.ts';
import { noteScript } from './shell-scripts.ts';
import {
  deny,
  elsewhere,
  firstDenial,
  literalArg,
  type Arg,
  type Call,
  type Denial,
  type ProgramRule,
} from './shell-types.ts';

/** Files of commands that a build tool looks for by itself. */
const recipes: ReadonlyMap<string, readonly string[]> = new Map([
  ['make', ['Makefile', 'makefile', 'GNUmakefile']],
  ['gmake', ['Makefile', 'makefile', 'GNUmakefile']],
  ['ninja', ['build.ninja']],
  ['just', ['justfile', '.justfile']],
  ['rake', ['Rakefile', 'Rakefile.rb']],
  ['task', ['Taskfile.yml', 'Taskfile.yaml']],
]);

/** A build tool must not run a recipe that the same line writes (CP4). */
export const recipeRules: ReadonlyMap<string, ProgramRule> = new Map(
  [...recipes].map(([name, files]) => [name, (call: Call) => noteRecipes(call, files)]),
);

function noteRecipes(call: Call, files: readonly string[]): Denial | undefined {
  const { program, args, scene } = call;
  const { options, operands } = parseOptions(args, {
    values: 'Cd',
    longValues: ['--directory', '--working-directory'],
  });
  const folder = options.find(({ name }) => /^-[Cd]$|^--(?:working-)?directory$/.test(name))?.value?.text ?? '.';
  for (const file of files) {
    noteScript(
      scene.directories.map((from) => resolveIn(scene.policy, from, `${folder}/${file}`)),
      file,
      program,
      scene,
    );
  }
  return program.endsWith('make') ? firstDenial(operands, (operand) => refuseVariable(operand, call)) : undefined;
}

/** `CC=gcc`: recipes run what variables hold. */
function refuseVariable({ text }: Arg, { program, scene }: Call): Denial | undefined {
  const value = /^[\w.]+\s*[:+?!]*=(.*)$/s.exec(text)?.[1];
  if (value === undefined) return undefined;
  if (/^[^=]*!=/.test(text)) return deny('options', `\`${text}\` makes \`${program}\` run a command; run it yourself.`);
  const words = value.split(/[^\w./-]+/).filter((word) => word !== '');
  return firstDenial(words, (word) => refuseProgram(word, { ...scene.policy, allowed: undefined, network: true }));
}

/** What `cmake -E` does instead of a program of the system. */
const cmakeTools: ReadonlyMap<string, readonly string[]> = new Map([
  ['env', ['env']],
  ['time', ['time']],
  ['rm', ['rm']],
  ['remove', ['rm']],
  ['remove_directory', ['rm', '-r']],
  ['copy', ['cp']],
  ['copy_if_different', ['cp']],
  ['copy_directory', ['cp', '-r']],
  ['copy_directory_if_different', ['cp', '-r']],
  ['rename', ['mv']],
  ['make_directory', ['mkdir', '-p']],
  ['touch', ['touch']],
  ['touch_nocreate', ['touch']],
  ['create_symlink', ['ln', '-s']],
  ['create_hardlink', ['ln']],
  ['tar', ['tar']],
  ['chdir', ['env', '-C']],
]);

/** `cmake -E tool`: the tool, as if it were run by itself. */
export const refuseCmake: ProgramRule = ({ program, args, scene }) => {
  const at = args.findIndex(({ text }) => text === '-E');
  const [tool, ...rest] = args.slice(at + 1);
  if (at < 0 || tool === undefined) return undefined;
  const command = cmakeTools.get(tool.text);
  if (command !== undefined) return scene.run([...command.map(literalArg), ...rest], elsewhere(scene));
  if (
    /^(?:echo|echo_append|cat|capabilities|environment|compare_files|md5sum|sha\d+sum|sleep|true|false)$/.test(
      tool.text,
    )
  )
    return undefined;
  return deny('wrappers', `\`${program} -E ${tool.text}\` is not checked here; use the program of the system.`);
};
