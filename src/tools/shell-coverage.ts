import { forEachChild, type ParsedScript, type SyntaxNode } from 'unbash';

/**
 * Text of a parsed line that belongs to no part of its tree; nothing when all of it is accounted for. The parser recovers from
 * what it does not expect and now and then drops a token without an error, and then the tree is not what a shell runs.
 */
export function findUnparsed(script: ParsedScript, source: string): string | undefined {
  const documents: Range[] = [];
  collectDocuments(script, documents);
  return inspect(script, { from: 0, to: source.length }, source, documents);
}

interface Range {
  readonly from: number;
  readonly to: number;
}

/** Here-documents lie behind the line that announces them, in a gap of whatever holds that line. */
function collectDocuments(node: SyntaxNode, documents: Range[]): void {
  if (node.type === 'HereDoc') documents.push({ from: node.body.pos, to: node.closing?.end ?? node.body.end });
  forEachChild(node, (child) => collectDocuments(child, documents));
}

/** What may stand between the children of a node, besides blanks, line breaks and comments. */
const between: Readonly<Partial<Record<SyntaxNode['type'], RegExp>>> = {
  Script: /^[;&]*$/,
  CompoundList: /^[;&]*$/,
  Statement: /^[;&]?$/,
  AndOr: /^(?:&&|\|\|)?$/,
  Pipeline: /^(?:\|&?)?$/,
  Command: /^$/,
  Redirected: /^$/,
  Subshell: /^(?:\(|[;&]?\))?$/,
  BraceGroup: /^(?:\{|[;&]?\})?$/,
  If: /^[;&]?(?:if|then|else|fi)?$/,
  Elif: /^[;&]?(?:elif|then)?$/,
  For: /^[;&]?(?:for|in|do|done)?;?(?:do)?$/,
  While: /^[;&]?(?:while|until|do|done)?$/,
};

function inspect(
  node: SyntaxNode,
  range: Range,
  source: string,
  documents: readonly Range[],
  isOperand = false,
): string | undefined {
  const allowed = between[node.type];
  const children: SyntaxNode[] = [];
  forEachChild(node, (child) => children.push(child));
  if (allowed !== undefined) {
    let at = range.from;
    for (const child of [...children.toSorted((left, right) => left.pos - right.pos), undefined]) {
      const gap = gapText({ from: at, to: child?.pos ?? range.to }, source, documents);
      if (!allowed.test(gap)) return gap;
      at = Math.max(at, child?.end ?? at);
    }
  }
  // Words inside `${…}` may hold blanks.
  const hidden = hiddenIn(node, range, children, isOperand);
  if (hidden !== undefined) return hidden;
  for (const child of children) {
    const found = inspect(child, { from: child.pos, to: child.end }, source, documents, operations.has(node.type));
    if (found !== undefined) return found;
  }
  return undefined;
}

function gapText({ from, to }: Range, source: string, documents: readonly Range[]): string {
  if (from >= to) return '';
  let text = '';
  let at = from;
  for (const document of documents
    .filter((each) => each.from >= from && each.to <= to)
    .toSorted((left, right) => left.from - right.from)) {
    text += `${source.slice(at, document.from)}\n`;
    at = document.to;
  }
  text += source.slice(at, to);
  return text.replaceAll(/(^|[\s;&|()])#[^\n]*/g, '$1').replaceAll(/\\\n|\s/g, '');
}

/** What `${name…}` may do with a value. */
const operations: ReadonlySet<SyntaxNode['type']> = new Set<SyntaxNode['type']>([
  'Default',
  'Remove',
  'Replace',
  'Slice',
  'CaseModification',
]);

/** Quotes and expansions in text that the tree holds as plain. */
function hiddenIn(
  node: SyntaxNode,
  range: Range,
  children: readonly SyntaxNode[],
  isOperand: boolean,
): string | undefined {
  if (node.type === 'Word') {
    if (node.parts === undefined) return plain(node.text, isOperand ? /['"`]/ : /['"`\s;&|<>()]/);
    return joined(node.parts, range.from, range.to) ? undefined : node.text;
  }
  if (node.type === 'DoubleQuoted') {
    const from = range.from + node.text.indexOf('"') + 1;
    for (const part of node.parts) {
      if (part.type === 'Literal' && plain(part.text, /`/) !== undefined) return node.text;
    }
    return joined(node.parts, from, range.to - 1) ? undefined : node.text;
  }
  if (node.type !== 'ArithmeticExpansion') return undefined;
  let rest = node.text.slice(3);
  for (const text of commandsIn(children)) rest = rest.replace(text, '');
  return /\$\(|`/.test(rest) ? node.text : undefined;
}

/** The text if it holds one of the characters, or a sign of an expansion, without a backslash before it. */
function plain(text: string, characters: RegExp): string | undefined {
  const bare = text.replaceAll(/\\[^]/g, '');
  return characters.test(bare) || /\$[({A-Za-z_0-9@*#?!$-]/.test(bare) ? text : undefined;
}

function joined(parts: readonly SyntaxNode[], from: number, to: number): boolean {
  let at = from;
  for (const part of parts) {
    if (part.pos !== at) return false;
    at = part.end;
  }
  return at === to;
}

function commandsIn(nodes: readonly SyntaxNode[]): readonly string[] {
  return nodes.flatMap((node) => {
    if (node.type === 'ArithmeticCommandExpansion' || node.type === 'CommandExpansion') return [node.text];
    const children: SyntaxNode[] = [];
    forEachChild(node, (child) => children.push(child));
    return commandsIn(children);
  });
}
