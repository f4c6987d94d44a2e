import { refuseOutputs } from './shell-outputs.ts';
import { programName, refuseProgram } from './shell-judge.ts';
import { resolveIn } from './shell-paths.ts';
import { noteScript } from './shell-scripts.ts';
import { ruleFor } from './shell-rules.ts';
import { deny, elsewhere, type Arg, type Call, type Denial, type Scene } from './shell-types.ts';

/** Judges one simple command: its name, then what its program may be asked to do. */
export function judgeCommand(argv: readonly Arg[], scene: Scene): Denial | undefined {
  const [name, ...args] = argv;
  if (name === undefined) return undefined;
  const unreadable = refuseName(name);
  if (unreadable !== undefined) return unreadable;
  const program = programName(name.text);
  scene.ledger.programs.add(program);
  const isPath = name.text.includes('/');
  // A program named by a path is a file, which the line must not have written itself.
  if (isPath)
    noteScript(
      scene.directories.map((from) => resolveIn(scene.policy, from, name.text)),
      name.text,
      'a shell',
      scene,
    );
  return refuseProgram(program, scene.policy) ?? judgeCall({ program, args, scene: isPath ? elsewhere(scene) : scene });
}

function judgeCall(call: Call): Denial | undefined {
  const rule = ruleFor(call.program);
  return (rule === undefined ? undefined : rule(call)) ?? refuseOutputs(call);
}

/** Rule 3: the program must be named by the text alone. */
function refuseName(name: Arg): Denial | undefined {
  const { text } = name;
  const isPlain =
    !name.isComputed && !/[$`*?{}^%=~;&|<>"'\n]|^[-+]/.test(text) && (text === '[' || !text.includes('['));
  if (isPlain && text !== '' && !text.endsWith('/')) return undefined;
  return deny(
    'program_names',
    `The program name \`${text}\` is computed or cannot be read; write the name of the program out.`,
  );
}
