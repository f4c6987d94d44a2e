import { forEachChild, type Assignment, type Command, type ParsedScript, type SyntaxNode, type Word } from 'unbash';
import { parseShell } from './shell-syntax.ts';
import type { Ledger } from './shell-types.ts';
import { addSource } from './shell-values.ts';

/**
 * Notes, before anything is judged, what the line may give its variables, how many commands it holds and whether it moves
 * directories about. The order of commands is not followed: a value set anywhere counts everywhere.
 */
export function survey(script: ParsedScript, ledger: Ledger): void {
  visit(script, ledger, 0);
}

const readers = new Set(['read', 'getopts', 'mapfile', 'readarray', 'wait', 'sysread', 'vared']);
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
    if (operation?.type === 'Default' && operation.operator.endsWith('=')) addSource(ledger, node.parameter, 'open');
  } else if (node.type === 'ArithmeticExpansion') {
    for (const name of node.text.match(
      /[A-Za-z_]\w*(?=\s*(?:[-+*/%&|^]|<<|>>)?=[^=]|\+\+|--)|(?<=\+\+|--)[A-Za-z_]\w*/g,
    ) ?? []) {
      addSource(ledger, name, 'open');
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
  const isReader = values.slice(0, 3).some((value) => readers.has(value));
  values.forEach((value, index) => {
    const assigned = /^([A-Za-z_]\w*)=/.exec(value)?.[1];
    if (assigned !== undefined && index > 0) addSource(ledger, assigned, 'open');
    const isName = /^[A-Za-z_]\w*$/.test(value);
    if (isName && index > 0 && (isReader || values[index - 1] === '-v')) addSource(ledger, value, 'open');
  });
  // `eval` and `trap` set variables of the shell that runs this line.
  if (!values.slice(0, 3).some((value) => value === 'eval' || value === 'trap') || depth > 4) return;
  for (const text of [values.slice(1).join(' '), ...values.slice(1)]) {
    const parsed = /=|read|for|printf|getopts/.test(text) ? parseShell(text) : undefined;
    if (parsed !== undefined && 'script' in parsed) visit(parsed.script, ledger, depth + 1);
  }
}
