import { forEachChild, type Assignment, type Command, type ParsedScript, type SyntaxNode, type Word } from 'unbash';
import { parseShell, shellLimits } from './shell-syntax.ts';
import type { Ledger } from './shell-types.ts';
import { addSource } from './shell-values.ts';

/**
 * Notes, before anything is judged, what the line may give its variables, how many commands it holds and whether it moves
 * directories about. The order of commands is not followed: a value set anywhere counts everywhere.
 */
export function survey(script: ParsedScript, ledger: Ledger): void {
  visit(script, ledger, 0);
}

/** Builtins that give values to the variables they name, and those they set without being told. */
const readers: ReadonlyMap<string, readonly string[]> = new Map([
  ['read', ['REPLY']],
  ['getopts', ['OPTARG', 'OPTIND']],
  ['mapfile', ['MAPFILE']],
  ['readarray', ['MAPFILE']],
  ['wait', []],
  ['printf', []],
]);
const movers = new Set(['mv', 'ln', 'link', 'rename', 'git-mv']);

function visit(node: SyntaxNode, ledger: Ledger, depth: number): void {
  if (node.type === 'Command') noteCommand(node, ledger, depth);
  else if (node.type === 'Assignment') noteAssignment(node, ledger);
  else if (node.type === 'For') {
    const { value } = node.name;
    if (node.wordlist === undefined) addSource(ledger, value, 'open');
    else for (const word of node.wordlist) addSource(ledger, value, { word });
  } else if (node.type === 'ParameterExpansion') {
    const { operation } = node;
    if (operation?.type === 'Default' && operation.operator.endsWith('='))
      addSource(ledger, node.parameter, { word: operation.operand });
  } else if (node.type === 'ArithmeticExpansion') {
    for (const name of node.text.match(
      /[A-Za-z_]\w*(?=\s*(?:[-+*/%&|^]|<<|>>)?=[^=]|\+\+|--)|(?<=\+\+|--)[A-Za-z_]\w*/g,
    ) ?? []) {
      addSource(ledger, name, 'number');
    }
  }
  forEachChild(node, (child) => visit(child, ledger, depth));
}

function noteAssignment(node: Assignment, ledger: Ledger): void {
  addSource(ledger, node.name, node.value.type === 'Word' ? { word: node.value } : 'open');
}

function noteCommand(node: Command, ledger: Ledger, depth: number): void {
  if (depth === 0) ledger.commands += 1;
  const words = [...(node.name === undefined ? [] : [node.name]), ...node.suffix].filter(
    (part): part is Word => part.type === 'Word',
  );
  const values = words.map((word) => word.value);
  if (values.some((value) => movers.has(value.slice(value.lastIndexOf('/') + 1)))) ledger.hasMoves = true;
  const reader = values.slice(0, 3).find((value) => readers.has(value));
  const isReader = reader !== undefined && reader !== 'printf';
  for (const name of readers.get(reader ?? '') ?? []) addSource(ledger, name, 'open');
  values.forEach((value, index) => {
    const assigned = /^([A-Za-z_]\w*)=/.exec(value)?.[1];
    if (assigned !== undefined && index > 0) addSource(ledger, assigned, 'open');
    const isName = /^[A-Za-z_]\w*$/.test(value);
    if (isName && index > 0 && (isReader || values[index - 1] === '-v')) addSource(ledger, value, 'open');
    // `printf -vNAME`, `read -aNAME`, `wait -npNAME`
    const isCluster = reader !== undefined && /^-[A-Za-z]\w+$/.test(value);
    for (let from = 2; isCluster && from < value.length; from += 1) addSource(ledger, value.slice(from), 'open');
  });
  // `eval` and `trap` set variables of the shell that runs this line.
  const at = values.slice(0, 3).findIndex((value) => value === 'eval' || value === 'trap');
  if (at < 0 || depth > shellLimits.levels) return;
  const rest = values.slice(at + 1);
  for (const text of values[at] === 'eval' ? [rest.join(' ')] : rest.slice(0, 2)) {
    const parsed = /=|read|for|printf|getopts|mapfile|wait/.test(text) ? parseShell(text) : undefined;
    if (parsed !== undefined && 'script' in parsed) visit(parsed.script, ledger, depth + 1);
  }
}
