import { readFind, withPlace } from './shell-found.ts';
import { refuseTarget } from './shell-paths.ts';
import {
  deny,
  elsewhere,
  firstDenial,
  literalArg,
  type Arg,
  type Call,
  type Denial,
  type Place,
  type ProgramRule,
  type Scene,
} from './shell-types.ts';

/** `find`: start paths of what it deletes, files it writes, commands it runs (rules 6, CP4). */
export const refuseFind: ProgramRule = (call) => {
  const { args, program } = call;
  const unclear = args.find((arg) => arg.maySteer && arg.place === undefined);
  if (unclear !== undefined) {
    return deny('options', `\`${unclear.text}\` may add any option to \`${program}\`; write its arguments out.`);
  }
  const { expression, starts, place } = readFind(args, call.scene);
  const leaves = args.find((arg) => /^-L$|^-follow$/.test(arg.text));
  return refuseExpression(expression, starts, leaves === undefined ? place : undefined, call);
};

const writing = new Set(['-fprint', '-fprint0', '-fls', '-fprintf']);

function refuseExpression(
  expression: readonly Arg[],
  starts: readonly Arg[],
  place: Place | undefined,
  call: Call,
): Denial | undefined {
  const { scene } = call;
  for (let index = 0; index < expression.length; index += 1) {
    const { text } = expression[index] ?? literalArg('');
    const next = expression[index + 1];
    let denial: Denial | undefined;
    if (text === '-delete') denial = refuseDelete(place, starts, scene);
    else if (writing.has(text)) {
      denial = next && refuseTarget(next, scene, { rule: 'writes', by: `find ${text}`, does: 'write', exact: true });
    } else if (/^-(?:exec|execdir|ok|okdir)$/.test(text)) {
      const end = expression.findIndex(
        (arg, at) => at > index && (arg.text === ';' || (arg.text === '+' && expression[at - 1]?.text === '{}')),
      );
      if (end < 0) return deny('options', `\`find ${text}\` has no end; close the command with \`\\;\` or \`+\`.`);
      const command = expression.slice(index + 1, end);
      denial = refuseRun(command, place, text.endsWith('dir'), scene);
      index = end;
    }
    if (denial !== undefined) return denial;
  }
  return undefined;
}

function refuseDelete(place: Place | undefined, starts: readonly Arg[], scene: Scene): Denial | undefined {
  const rules = { rule: 'deletions', by: 'find -delete', does: 'delete', exact: true } as const;
  if (place === undefined)
    return deny('deletions', '`find -delete` needs start paths that are written out and no `-L`; name the folders.');
  const inexact = firstDenial(starts, (start) =>
    start.text === '.' || start.place ? undefined : refuseTarget(start, scene, { ...rules, does: 'enter' }),
  );
  return inexact ?? refuseTarget({ ...literalArg('{}'), place }, scene, rules);
}

/** The command of `-exec`, with `{}` standing for what was found. */
function refuseRun(
  command: readonly Arg[],
  place: Place | undefined,
  inDirectory: boolean,
  scene: Scene,
): Denial | undefined {
  const inner = inDirectory && place !== undefined ? { ...scene, directories: place.roots } : scene;
  return scene.run(
    command.map((arg) => withPlace(arg, '{}', place)),
    elsewhere(inner),
  );
}
