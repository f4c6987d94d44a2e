import {
  forEachChild,
  type ArithmeticExpansionPart,
  type ParameterExpansionPart,
  type ParsedScript,
  type SyntaxNode,
  type Word,
} from 'unbash';
import { deny, firstDenial, type Denial, type Ledger } from './shell-types.ts';
import { lookUp } from './shell-values.ts';
import { refuseAssignment } from './shell-variables.ts';
import { wordTexts } from './shell-words.ts';

/**
 * Refuses `$(( … ))` unless everything in it is seen to be a number: bash evaluates the value of a variable as an expression
 * once more, and there `a[$(command)]` runs the command and `PATH=x` sets the variable.
 */
export function refuseArithmetic(node: ArithmeticExpansionPart, ledger: Ledger): Denial | undefined {
  return node.expression === undefined ? undefined : refuseExpression(node.expression, ledger);
}

function refuseExpression(node: SyntaxNode, ledger: Ledger): Denial | undefined {
  if (node.type === 'ArithmeticWord')
    return isNumberOperand(node.value, node.parts, ledger) ? undefined : refuseOperand(node.value);
  if (node.type === 'ArithmeticCommandExpansion')
    return printsNumber(node.script) ? undefined : refuseOperand(node.text);
  const assigned = assignedBy(node);
  const denial = assigned === undefined ? undefined : refuseAssigned(assigned);
  // What `=` puts a value in the place of is not evaluated.
  const evaluated = childrenOf(node).filter((child) => child !== assigned || !isPlainAssignment(node));
  return denial ?? firstDenial(evaluated, (child) => refuseExpression(child, ledger));
}

function isPlainAssignment(node: SyntaxNode): boolean {
  return node.type === 'ArithmeticBinary' && node.operator === '=';
}

function assignedBy(node: SyntaxNode): SyntaxNode | undefined {
  if (node.type === 'ArithmeticBinary') return isAssigning(node.operator) ? node.left : undefined;
  return node.type === 'ArithmeticUnary' && /^(?:\+\+|--)$/.test(node.operator) ? node.operand : undefined;
}

function isAssigning(operator: string): boolean {
  return operator.endsWith('=') && !/^[=!<>]=$/.test(operator);
}

function refuseAssigned(target: SyntaxNode): Denial | undefined {
  return target.type === 'ArithmeticWord' && /^[A-Za-z_]\w*$/.test(target.value)
    ? refuseAssignment(target.value, undefined, '$(( … ))')
    : undefined;
}

function refuseOperand(text: string): Denial {
  return deny(
    'syntax',
    `\`${text}\` in \`$(( … ))\` may hold more than a number, and shells run what it holds; count with \`wc -l\`, or calculate with \`awk\` or \`expr\`.`,
  );
}

function childrenOf(node: SyntaxNode): readonly SyntaxNode[] {
  const children: SyntaxNode[] = [];
  forEachChild(node, (child) => children.push(child));
  return children;
}

const number = /^[-+]?(?:0[xX][\da-fA-F]+|\d+(?:#\w+)?)?$/;

function isNumberOperand(value: string, parts: readonly SyntaxNode[] | undefined, ledger: Ledger): boolean {
  if (parts !== undefined) return parts.every((part) => isNumberPart(part, ledger, new Set()));
  return number.test(value) || isNumberVariable(value.replace(/^\$/, ''), ledger, new Set());
}

/**
 * What the line does not set came from outside of it, and whoever wrote the line had no say in that. A variable is looked at once
 * for each operand: all it is given must be numbers, so that one failure is the end anyway.
 */
function isNumberVariable(name: string, ledger: Ledger, seen: Set<string>): boolean {
  const sources = ledger.variables.get(name);
  if (sources === undefined) return lookUp(name, ledger, wordTexts) === 'environment';
  // A counter is built from itself: it is a number if everything else it gets is one.
  if (seen.has(name)) return true;
  seen.add(name);
  return sources.every(
    (source) => source === 'number' || (source !== 'open' && isNumberWord(source.word, ledger, seen)),
  );
}

function isNumberWord(word: Word, ledger: Ledger, seen: Set<string>): boolean {
  if (word.parts === undefined) return number.test(word.value);
  return word.parts.every((part) => isNumberPart(part, ledger, seen));
}

function isNumberPart(part: SyntaxNode, ledger: Ledger, seen: Set<string>): boolean {
  if (part.type === 'Literal' || part.type === 'SingleQuoted') return number.test(part.value);
  if (part.type === 'DoubleQuoted') return part.parts.every((inner) => isNumberPart(inner, ledger, seen));
  // `{1..5}`, of which some shells make no list.
  if (part.type === 'BraceExpansion') return /^\{[-\d.,]+\}$/.test(part.text);
  if (part.type === 'CommandExpansion') return printsNumber(part.script);
  if (part.type === 'SimpleExpansion') return part.text === '$#' || isNumberVariable(part.text.slice(1), ledger, seen);
  if (part.type === 'ParameterExpansion') return isNumberParameter(part, ledger, seen);
  return part.type === 'ArithmeticExpansion';
}

function isNumberParameter(part: ParameterExpansionPart, ledger: Ledger, seen: Set<string>): boolean {
  const { operation } = part;
  if (part.prefix === '#') return true;
  if (!isNumberVariable(part.parameter, ledger, seen)) return false;
  if (operation === undefined || operation.type === 'Remove') return true;
  return operation.type === 'Default' && isNumberWord(operation.operand, ledger, seen);
}

/** Commands whose output is numbers and nothing else, whatever they read. */
const counters: readonly RegExp[] = [
  /^wc -[lwcm]$/,
  /^(?:nproc|id -[ug]|tput (?:cols|lines))$/,
  /^date(?: -u)? \+(?:%[sYmdHMSjN])+$/,
  /^[ef]?grep -[ivwxEF]*c[ivwxEF]* [^\s-]\S*(?: [\w./]\S*)?$/,
  /^stat -c ?%[sYXZ] [\w./-]+$/,
  /^git rev-list --count [\w./@^~-]+$/,
  /^seq(?: -?\d+){1,3}$/,
];

/** The last command of a pipeline is all that prints. */
function printsNumber(script: ParsedScript | undefined): boolean {
  const [statement, ...more] = script?.commands ?? [];
  const node = statement?.command;
  const last = node?.type === 'Pipeline' ? node.commands.at(-1) : node;
  if (more.length > 0 || last?.type !== 'Command' || last.name === undefined || last.prefix.length > 0) return false;
  const words = [last.name, ...last.suffix.filter((part) => part.type === 'Word')];
  const isPlain = last.suffix.every((part) => part.type === 'Word' || part.type === 'Redirect');
  const hasComputed = words.some((word) => word.parts?.some((part) => !/^(?:Literal|SingleQuoted)$/.test(part.type)));
  const line = words.map((word) => word.value).join(' ');
  return isPlain && !hasComputed && counters.some((pattern) => pattern.test(line));
}
