import {
  forEachChild,
  type AndOr,
  type Command,
  type CommandNode,
  type CompoundList,
  type Pipeline,
  type Redirection,
  type Script,
  type Statement,
  type SyntaxNode,
} from 'unbash';
import { refuseArithmetic } from './shell-arithmetic.ts';
import { inputOf, refuseRedirect } from './shell-redirects.ts';
import { literalArg, unknownArg, type Arg, type Scene, type ShellInput } from './shell-types.ts';
import { refuseAssignment } from './shell-variables.ts';
import { combine, expandWord } from './shell-words.ts';

/** Where the shell may be after a command that succeeded and after one that failed. */
export interface Flow {
  readonly success: readonly string[];
  readonly failure: readonly string[];
}

/** Visits every command of a tree as a shell would come to it and has each one judged; denials end up in the ledger. */
export function walk(node: Script | CompoundList, scene: Scene): Flow {
  let flow: Flow = { success: scene.directories, failure: scene.directories };
  for (const statement of node.commands) flow = walkStatement(statement, at(scene, ends(flow)));
  return flow;
}

function ends(flow: Flow): readonly string[] {
  return union(flow.success, flow.failure);
}

function union(...lists: readonly (readonly string[])[]): readonly string[] {
  return [...new Set(lists.flat())];
}

/** The scene in other directories; after an `exit` there are none, what follows is judged as if it ran anywhere. */
function at(scene: Scene, directories: readonly string[]): Scene {
  const followed = directories.slice(0, maxDirectories);
  if (followed.length < directories.length) scene.ledger.report(manyDirectories, 'cd');
  for (const directory of followed) scene.ledger.directories.add(directory);
  return { ...scene, directories: followed.length === 0 ? [...scene.ledger.directories] : followed };
}

/** A `cd` may fail, so that each one after another doubles the places where the line may be. */
const maxDirectories = 16;

const manyDirectories = {
  rule: 'directories',
  sentence: 'The command may be in too many directories to follow; join each `cd` with what follows by `&&`.',
} as const;

function walkStatement(node: Statement, scene: Scene): Flow {
  const flow = walkNode(node.command, scene);
  return node.background === true ? { success: scene.directories, failure: scene.directories } : flow;
}

function walkNode(node: Statement['command'], scene: Scene): Flow {
  const stay: Flow = { success: scene.directories, failure: scene.directories };
  switch (node.type) {
    case 'Command':
      return walkCommand(node, [], scene);
    case 'AndOr':
      return walkAndOr(node, scene);
    case 'Pipeline':
      return walkPipeline(node, scene);
    case 'Redirected': {
      visitRedirects(node.redirects, scene);
      return walkNode(node.command, { ...scene, input: inputOf(node.redirects, scene) });
    }
    case 'Subshell':
      walk(node.body, deeper(scene));
      return stay;
    case 'BraceGroup':
      return walk(node.body, deeper(scene));
    case 'If': {
      const inner = deeper(scene);
      let clause = walk(node.clause, inner);
      const flows = [walk(node.then, at(inner, clause.success))];
      for (const branch of node.elif) {
        clause = walk(branch.clause, at(inner, clause.failure));
        flows.push(walk(branch.then, at(inner, clause.success)));
      }
      if (node.else === undefined) flows.push({ success: clause.failure, failure: [] });
      else flows.push(walk(node.else, at(inner, clause.failure)));
      return {
        success: union(...flows.map((flow) => flow.success)),
        failure: union(...flows.map((flow) => flow.failure)),
      };
    }
    case 'For':
      for (const word of node.wordlist ?? []) visitExpansions(word, scene);
      return walkLoop(scene, (inner) => walk(node.body, inner), node.name.value);
    case 'While':
      return walkLoop(scene, (inner) => {
        const clause = walk(node.clause, inner);
        const body = walk(node.body, at(inner, ends(clause)));
        return { success: ends(body), failure: ends(clause) };
      });
    // `parseShell` lets none of these through.
    case 'ArithmeticFor':
    case 'ArithmeticCommand':
    case 'Case':
    case 'Coproc':
    case 'Function':
    case 'Select':
    case 'TestCommand':
      return stay;
  }
}

/** A body may run any number of times: it is walked until it leads to no further directory. */
function walkLoop(scene: Scene, body: (inner: Scene) => Flow, variable?: string): Flow {
  const inner = deeper(scene);
  if (variable !== undefined) scene.ledger.report(refuseAssignment(variable, undefined, 'for'), `for ${variable}`);
  let directories = scene.directories;
  for (let round = 0; round < 8; round += 1) {
    scene.ledger.rounds += 1;
    const next = union(directories, ends(body(at(inner, directories))));
    if (next.length === directories.length) break;
    directories = next;
    // why: in all, because every round of a loop walks the loops inside of it again
    if (round < 7 && scene.ledger.rounds <= maxRounds) continue;
    scene.ledger.report(endlessMove, 'loop');
    break;
  }
  return { success: directories, failure: directories };
}

const maxRounds = 128;

const endlessMove = {
  rule: 'directories',
  sentence: 'A loop changes directory further with every round; put the `cd` and what follows it into `( … )`.',
} as const;

function walkAndOr(node: AndOr, scene: Scene): Flow {
  const [first, ...rest] = node.commands;
  let flow = first === undefined ? { success: scene.directories, failure: scene.directories } : walkNode(first, scene);
  rest.forEach((next, index) => {
    const isAnd = node.operators[index] === '&&';
    const then = walkNode(next, at(scene, isAnd ? flow.success : flow.failure));
    flow = isAnd
      ? { success: then.success, failure: union(flow.failure, then.failure) }
      : { success: union(flow.success, then.success), failure: then.failure };
  });
  return flow;
}

function walkPipeline(node: Pipeline, scene: Scene): Flow {
  const prefix = node.prefixes.some((entry) => entry.type === 'Time') ? [literalArg('time')] : [];
  if (node.commands.length === 1 && node.commands[0] !== undefined) {
    const flow = walkStage(node.commands[0], prefix, scene);
    return node.prefixes.some((entry) => entry.type === 'Negation')
      ? { success: flow.failure, failure: flow.success }
      : flow;
  }
  const stages: (readonly Arg[] | undefined)[] = [];
  const reached: (readonly string[])[] = [scene.directories];
  let first: ShellInput = scene.input;
  node.commands.forEach((stage, index) => {
    const input: ShellInput = index === 0 ? scene.input : { kind: 'pipe', stages: [...stages], first };
    // Some shells run the last stage themselves, so a `cd` there may last.
    reached.push(ends(walkStage(stage, index === 0 ? prefix : [], { ...scene, input })));
    if (index === 0) first = inputOf(redirectsOf(stage), scene);
    stages.push(stage.type === 'Command' ? readings(stage, scene).flat() : undefined);
  });
  return { success: union(...reached), failure: union(...reached) };
}

function walkStage(node: CommandNode, prefix: readonly Arg[], scene: Scene): Flow {
  if (node.type === 'Command') return walkCommand(node, prefix, scene);
  if (prefix.length > 0) scene.ledger.report(scene.run(prefix, scene), 'time');
  return walkNode(node, scene);
}

function redirectsOf(node: CommandNode): readonly Redirection[] {
  return node.type === 'Command' || node.type === 'Redirected' ? node.redirects : [];
}

function walkCommand(node: Command, prefix: readonly Arg[], scene: Scene): Flow {
  const { ledger } = scene;
  const shown = [...node.prefix, ...(node.name === undefined ? [] : [node.name]), ...node.suffix].map(textOf).join(' ');
  for (const part of node.prefix) {
    if (part.type !== 'Assignment') continue;
    visitExpansions(part, scene);
    const value = part.value.type === 'Word' ? part.value.value : undefined;
    ledger.report(refuseAssignment(part.name, value, part.name), shown);
  }
  visitRedirects(node.redirects, scene);
  if (node.name !== undefined) visitExpansions(node.name, scene);
  for (const arg of node.args) visitExpansions(arg, scene);

  let success = scene.directories;
  let moved = false;
  const move = (directories: readonly string[]): void => {
    success = moved ? union(success, directories) : directories;
    moved = true;
  };
  const inner = { ...scene, input: inputOf(node.redirects, scene), move };
  for (const argv of readings(node, scene)) {
    if (prefix.length + argv.length > 0) ledger.report(scene.run([...prefix, ...argv], inner), shown);
  }
  for (const directory of success) ledger.directories.add(directory);
  // Only `exit` leads nowhere, and it does so whether it succeeds or not.
  return { success, failure: success.length === 0 ? [] : scene.directories };
}

/** All argument lists the command may run with; one unknown list when there are too many. */
function readings(node: Command, scene: Scene): readonly (readonly Arg[])[] {
  const words = node.name === undefined ? node.args : [node.name, ...node.args];
  return (
    combine(words.map((word) => expandWord(word, scene.ledger))) ?? [
      words.map((word) => (word === node.name ? literalArg(word.value) : unknownArg(word.text))),
    ]
  );
}

function visitRedirects(redirects: readonly Redirection[], scene: Scene): void {
  for (const node of redirects) {
    scene.ledger.report(refuseRedirect(node, scene), textOf(node));
    forEachChild(node, (child) => visitExpansions(child, scene));
  }
}

/** Walks the scripts of the substitutions in a word, at any depth of it. */
function visitExpansions(node: SyntaxNode, scene: Scene): void {
  if (node.type === 'Script') {
    walk(node, { ...deeper(scene), move: () => undefined });
    return;
  }
  if (
    node.type === 'ParameterExpansion' &&
    node.operation?.type === 'Default' &&
    node.operation.operator.endsWith('=')
  ) {
    scene.ledger.report(refuseAssignment(node.parameter, node.operation.operand.value, node.text), node.text);
  }
  if (node.type === 'ArithmeticExpansion') scene.ledger.report(refuseArithmetic(node, scene.ledger), node.text);
  forEachChild(node, (child) => visitExpansions(child, scene));
}

function deeper(scene: Scene): Scene {
  return { ...scene, depth: scene.depth + 1 };
}

function textOf(node: SyntaxNode): string {
  if (node.type === 'Redirect' || node.type === 'HereString') return `${node.operator} ${node.target?.text ?? ''}`;
  if (node.type === 'HereDoc') return `${node.operator}${node.delimiter?.text ?? ''}`;
  return 'text' in node && typeof node.text === 'string' ? node.text : '';
}
