import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

export interface ImportEdge {
  /** As written: a package, a node module, or the path from the source folder when relative. */
  readonly target: string;
  readonly isRelative: boolean;
  readonly isTypeOnly: boolean;
  readonly isDynamic: boolean;
  readonly isReExport: boolean;
  readonly line: number;
}

/** What the rules look at in one source file. */
export interface SourceModule {
  /** From the source folder, with `/`. */
  readonly file: string;
  /** The first folder; empty for files of the source folder itself. */
  readonly folder: string;
  readonly imports: readonly ImportEdge[];
  /** Lines that hold code: neither blank nor only comment. */
  readonly codeLines: number;
  readonly hasDefaultExport: boolean;
  readonly hasTopLevelAwait: boolean;
  /** `process.exit`, `console.log`, … as `object.member`; and calls of global functions as `name()`. */
  readonly uses: ReadonlySet<string>;
}

/** Reads every TypeScript file below a folder. */
export function readModules(sourceFolder: string): readonly SourceModule[] {
  return readdirSync(sourceFolder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => path.relative(sourceFolder, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'))
    .sort()
    .map((file) => readModule(file, readFileSync(path.join(sourceFolder, file), 'utf8')));
}

function readModule(file: string, text: string): SourceModule {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2023, true, ts.ScriptKind.TS);
  const imports: ImportEdge[] = [];
  const uses = new Set<string>();
  const codeLines = new Set<number>();
  let hasDefaultExport = false;
  let hasTopLevelAwait = false;

  const addImport = (node: ts.Node, specifier: string, kind: Partial<ImportEdge>): void => {
    const isRelative = specifier.startsWith('.');
    imports.push({
      target: isRelative ? path.posix.join(path.posix.dirname(file), specifier) : specifier,
      isRelative,
      isTypeOnly: false,
      isDynamic: false,
      isReExport: false,
      line: source.getLineAndCharacterOfPosition(node.getStart()).line + 1,
      ...kind,
    });
  };

  const visit = (node: ts.Node, isInFunction: boolean): void => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      addImport(node, node.moduleSpecifier.text, { isTypeOnly: isTypeOnlyImport(node.importClause) });
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier && ts.isStringLiteral(node.moduleSpecifier)) {
      const names = node.exportClause && ts.isNamedExports(node.exportClause) ? node.exportClause.elements : undefined;
      const isTypeOnly = node.isTypeOnly || (names?.every((name) => name.isTypeOnly) ?? false);
      addImport(node, node.moduleSpecifier.text, { isTypeOnly, isReExport: true });
    } else if (ts.isCallExpression(node)) {
      const [first] = node.arguments;
      if (node.expression.kind === ts.SyntaxKind.ImportKeyword && first && ts.isStringLiteral(first)) {
        addImport(node, first.text, { isDynamic: true });
      }
      if (ts.isIdentifier(node.expression)) uses.add(`${node.expression.text}()`);
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      const { literal } = node.argument;
      if (ts.isStringLiteral(literal)) addImport(node, literal.text, { isTypeOnly: true });
    } else if (ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression)) {
      uses.add(`${node.expression.text}.${node.name.text}`);
    } else if (ts.isExportAssignment(node)) {
      hasDefaultExport = true;
    } else if (node.kind === ts.SyntaxKind.DefaultKeyword && ts.canHaveModifiers(node.parent)) {
      hasDefaultExport = true;
    } else if (ts.isExportSpecifier(node) && node.name.text === 'default') {
      hasDefaultExport = true;
    } else if (!isInFunction && isAwait(node)) {
      hasTopLevelAwait = true;
    }
    if (node.getChildCount(source) === 0 && node.kind !== ts.SyntaxKind.EndOfFileToken && node.getWidth(source) > 0) {
      const from = source.getLineAndCharacterOfPosition(node.getStart(source)).line;
      const to = source.getLineAndCharacterOfPosition(node.getEnd()).line;
      for (let line = from; line <= to; line += 1) codeLines.add(line);
    }
    const inner = isInFunction || ts.isFunctionLike(node) || ts.isClassStaticBlockDeclaration(node);
    for (const child of node.getChildren(source)) if (!ts.isJSDoc(child)) visit(child, inner);
  };
  visit(source, false);

  return {
    file,
    folder: file.includes('/') ? (file.split('/')[0] ?? '') : '',
    imports,
    codeLines: codeLines.size,
    hasDefaultExport,
    hasTopLevelAwait,
    uses,
  };
}

function isTypeOnlyImport(clause: ts.ImportClause | undefined): boolean {
  if (clause === undefined) return false;
  if (clause.isTypeOnly) return true;
  const bindings = clause.namedBindings;
  if (clause.name !== undefined || bindings === undefined || !ts.isNamedImports(bindings)) return false;
  return bindings.elements.length > 0 && bindings.elements.every((element) => element.isTypeOnly);
}

function isAwait(node: ts.Node): boolean {
  if (ts.isAwaitExpression(node)) return true;
  if (ts.isForOfStatement(node)) return node.awaitModifier !== undefined;
  if (!ts.isVariableDeclarationList(node)) return false;
  return (node.flags & ts.NodeFlags.AwaitUsing) === ts.NodeFlags.AwaitUsing;
}

/** Files a module loads when it is loaded itself: what it names in static imports that are more than types, transitively. */
export function loadedBy(entry: string, modules: ReadonlyMap<string, SourceModule>): ReadonlySet<string> {
  const seen = new Set<string>();
  const open = [entry];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    for (const edge of modules.get(file)?.imports ?? []) {
      if (!edge.isTypeOnly && !edge.isDynamic) open.push(edge.target);
    }
  }
  return seen;
}

/** One cycle of static imports as a path of files, types included; undefined when there is none. */
export function findCycle(modules: ReadonlyMap<string, SourceModule>): readonly string[] | undefined {
  const done = new Set<string>();
  const walk = (file: string, trail: readonly string[]): readonly string[] | undefined => {
    const start = trail.indexOf(file);
    if (start >= 0) return [...trail.slice(start), file];
    if (done.has(file)) return undefined;
    for (const edge of modules.get(file)?.imports ?? []) {
      if (!edge.isRelative || edge.isDynamic) continue;
      const cycle = walk(edge.target, [...trail, file]);
      if (cycle !== undefined) return cycle;
    }
    done.add(file);
    return undefined;
  };
  for (const file of modules.keys()) {
    const cycle = walk(file, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}
