import {
  forEachChild,
  parse,
  type ParsedScript,
  type SyntaxNode,
  type HereDoc,
  type ParameterExpansionPart,
} from 'unbash';
import { findUnparsed } from './shell-coverage.ts';
import { deny, type Denial } from './shell-types.ts';

/** Limits of one command line (reliability CP2). */
export const shellLimits = { commands: 64, levels: 16, bytes: 65_536 } as const;

/** Parses shell text, or says why it is not understood. Every node of an accepted tree is one the walk knows. */
export function parseShell(text: string): { readonly script: ParsedScript } | { readonly denial: Denial } {
  const unreadable = refuseText(text);
  if (unreadable !== undefined) return { denial: unreadable };
  const script = readTree(text);
  if (script === undefined) return { denial: tooTangled() };
  const denial = refuseTree(script, 0, 0) ?? refuseUnparsed(script, text);
  return denial === undefined ? { script } : { denial };
}

/** Nothing when the text is so deeply nested that the parser runs out of stack. */
function readTree(text: string): ParsedScript | undefined {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Nodes on the way from the line down to a word; more than any readable line has, and few enough to walk by recursion. */
const maxNodeDepth = 400;

function tooTangled(): Denial {
  return syntax('The command nests too deeply to be read; split it, or put it into a script file and run that.');
}

function refuseUnparsed(script: ParsedScript, text: string): Denial | undefined {
  const part = findUnparsed(script, text);
  if (part === undefined) return undefined;
  return syntax(`The command cannot be understood at \`${part}\`; check its quotes and brackets.`);
}

function refuseText(text: string): Denial | undefined {
  if (text.trim() === '') return syntax('The command is empty; give the command line to run.');
  if (Buffer.byteLength(text) > shellLimits.bytes) {
    return syntax(
      `The command is longer than ${shellLimits.bytes / 1024} KiB; put it into a script file and run that.`,
    );
  }
  if (/[^\P{Cc}\t\n]/u.test(text) || !text.isWellFormed()) {
    return syntax(
      'The command holds control characters or broken text; use only tabs, newlines and printable characters.',
    );
  }
  // Shells disagree on what follows: some join the line first, others see a lone dollar sign.
  if (/\$\\\n/.test(text)) return syntax('A `$` is followed by a line break; write the expansion on one line.');
  return undefined;
}

function syntax(sentence: string): Denial {
  return deny('syntax', sentence);
}

function refuseTree(node: SyntaxNode, depth: number, nodes: number): Denial | undefined {
  if (nodes > maxNodeDepth) return tooTangled();
  const level = depth + (node.type === 'Script' || node.type === 'CompoundList' ? 1 : 0);
  if (level > shellLimits.levels + 1) {
    return syntax(`The command nests deeper than ${shellLimits.levels} levels; split it into several commands.`);
  }
  const own = refuseNode(node);
  if (own !== undefined) return own;
  let found: Denial | undefined;
  forEachChild(node, (child) => {
    found ??= refuseTree(child, level, nodes + 1);
  });
  return found;
}

/** Whether a second bracket follows at once: shells try arithmetic first and may find other ends of what is inside. */
function beginsWithSubshell(node: SyntaxNode, at: number): boolean {
  let begins = false;
  forEachChild(node, (child) => {
    if (child.pos === at) begins ||= child.type === 'Subshell' || beginsWithSubshell(child, at);
  });
  return begins;
}

function notPortable(what: string, instead: string): Denial {
  return syntax(`${what} is not checked, because shells read it differently; ${instead}.`);
}

function refuseNode(node: SyntaxNode): Denial | undefined {
  switch (node.type) {
    case 'Script':
      return node.errors === undefined || node.errors.length === 0
        ? undefined
        : syntax(
            `The command cannot be understood (${node.errors[0]?.message ?? 'syntax error'}); check its quotes and brackets.`,
          );
    case 'Case':
    case 'Function':
    case 'Coproc':
    case 'Select':
      return syntax(
        `\`${node.type.toLowerCase()}\` is not checked here; use \`if\`, or put it into a script file and run that.`,
      );
    case 'TestCommand':
      return notPortable('`[[ … ]]`', 'use `[ … ]`');
    case 'ArithmeticCommand':
    case 'ArithmeticFor':
      return notPortable('`(( … ))`', 'use `$(( … ))` with `[ … ]`');
    case 'ArrayValue':
      return notPortable('An array', 'use plain variables');
    case 'Assignment':
      if (node.index !== undefined) return notPortable('An array element', 'use plain variables');
      return node.append === true ? notPortable('`+=`', 'write the new value in full') : undefined;
    case 'ExtendedGlob':
      return notPortable(`The pattern \`${node.text}\``, 'use `find`');
    case 'AnsiCQuoted':
      return node.text.slice(2, -1).includes("'")
        ? notPortable("`$'…'` with a quote in it", 'use `printf`')
        : undefined;
    case 'CommandExpansion':
      return refuseSubstitution(node.text, node.script !== undefined);
    case 'ArithmeticExpansion':
      return node.expression === undefined || !/^\$\(\([^'"\\[\]`]*\)\)$/.test(node.text)
        ? notPortable(`\`${node.text}\``, 'use `$(( … ))` with numbers, plain variables and operators')
        : undefined;
    case 'ProcessSubstitution':
      return node.script === undefined
        ? syntax(`\`${node.text}\` cannot be understood; run its command first.`)
        : undefined;
    case 'SimpleExpansion':
      return node.text === '$IFS' ? refuseSeparator() : undefined;
    case 'ParameterExpansion':
      return refuseParameter(node);
    case 'HereDoc':
      return refuseHereDocument(node);
    case 'FileDescriptor':
      return node.value > 9 ? notPortable('A descriptor above 9', 'use 3 to 9') : undefined;
    case 'FileDescriptorVariable':
      return notPortable('`{name}` before a redirection', 'use a number from 3 to 9');
    case 'Command':
      return refuseBothStreams(node);
    case 'Redirect':
    case 'HereString':
      return node.target === undefined ? syntax('A redirection names no target; name the file.') : undefined;
    case 'Pipeline':
      return refuseTimed(node);
    case 'Subshell':
      return beginsWithSubshell(node, node.pos + 1)
        ? notPortable('`((` before a command', 'put a blank between the brackets')
        : undefined;
    // The rest is fine by itself, or refused with the node it belongs to.
    case 'AndOr':
    case 'ArithmeticBinary':
    case 'ArithmeticCommandExpansion':
    case 'ArithmeticGroup':
    case 'ArithmeticTernary':
    case 'ArithmeticUnary':
    case 'ArithmeticWord':
    case 'BraceExpansion':
    case 'BraceGroup':
    case 'CaseItem':
    case 'CaseModification':
    case 'CompoundList':
    case 'Default':
    case 'DoubleQuoted':
    case 'Elif':
    case 'For':
    case 'Glob':
    case 'HereDocBody':
    case 'HereDocDelimiter':
    case 'If':
    case 'Literal':
    case 'LocaleString':
    case 'Names':
    case 'Negation':
    case 'Redirected':
    case 'Remove':
    case 'Replace':
    case 'SingleQuoted':
    case 'Slice':
    case 'Statement':
    case 'TestBinary':
    case 'TestGroup':
    case 'TestLogical':
    case 'TestNot':
    case 'TestUnary':
    case 'Time':
    case 'Transform':
    case 'Unknown':
    case 'While':
    case 'Word':
      return undefined;
  }
}

/** `time -o file`: bash has a keyword that knows only `-p` and runs `-o`, other shells the program. */
function refuseTimed({ prefixes, commands: [first] }: Extract<SyntaxNode, { type: 'Pipeline' }>): Denial | undefined {
  const isOption = first?.type === 'Command' && first.name?.value.startsWith('-') === true && first.name.value !== '--';
  return isOption && prefixes.some((prefix) => prefix.type === 'Time')
    ? notPortable('`time` with options', 'use `command time`')
    : undefined;
}

function refuseSeparator(): Denial {
  return deny('variables', '`IFS` decides how words are split and must not be used; separate words with blanks.');
}

function refuseSubstitution(text: string, hasScript: boolean): Denial | undefined {
  if (!hasScript) return syntax(`\`${text}\` cannot be understood; check its brackets.`);
  if (text.startsWith('$((')) return notPortable('`$((` before a command', 'put a blank between the brackets');
  if (text.startsWith('${')) return notPortable('`${ … }` around a command', 'use `$( … )`');
  if (text.startsWith('`') && text.includes('\\')) return notPortable('A backslash between backticks', 'use `$( … )`');
  return undefined;
}

/** Shells differ in how quotes inside `${…}` pair up, and some forms run code that the value holds. */
function refuseParameter(node: ParameterExpansionPart): Denial | undefined {
  if (node.parameter === 'IFS') return refuseSeparator();
  const { operation } = node;
  const isPlain =
    node.prefix !== '!' &&
    node.index === undefined &&
    operation?.type !== 'Transform' &&
    operation?.type !== 'Names' &&
    operation?.type !== 'Unknown' &&
    !(operation?.type === 'Slice' && /[^\d: -]/.test(node.text.slice(2 + node.parameter.length, -1)));
  if (!isPlain) return notPortable(`\`${node.text}\``, 'use a plain variable');
  if (operation === undefined) return undefined;
  const operand = node.text.slice(operation.operatorEnd - node.pos, -1);
  const isSafe = !/['"\\`]/.test(operand) || /^"[^"'\\`(){}]*"$/.test(operand);
  return isSafe ? undefined : notPortable(`Quoting inside \`${node.text}\``, 'set the value in a command of its own');
}

function refuseHereDocument(node: HereDoc): Denial | undefined {
  const { delimiter } = node;
  if (delimiter === undefined || !/^(?:\\?[\w.+-]+|'[\w .+-]+'|"[\w .+-]+")$/.test(delimiter.text)) {
    return notPortable('The end word of a here-document', "use a plain word such as `'EOF'`");
  }
  return node.closing === undefined
    ? syntax(`The here-document never ends; close it with a line that holds only \`${delimiter.value}\`.`)
    : undefined;
}

/** `cmd &> file word`: bash gives the word to the command, other shells run it as a command of its own. */
function refuseBothStreams(node: Extract<SyntaxNode, { type: 'Command' }>): Denial | undefined {
  const parts = [...node.prefix, ...(node.name === undefined ? [] : [node.name]), ...node.suffix].toSorted(
    (left, right) => left.pos - right.pos,
  );
  const first = parts.findIndex((part) => part.type === 'Redirect' && part.operator.startsWith('&'));
  if (first < 0 || parts.slice(first).every((part) => part.type === 'Redirect')) return undefined;
  return notPortable('`&>` before other words', 'put `> file 2>&1` at the end');
}
