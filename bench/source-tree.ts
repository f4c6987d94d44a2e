import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A made-up project on the disk. */
export interface SourceTree extends Disposable {
  readonly root: string;
  /** Occurs once in every five-hundredth file, and nowhere else. */
  readonly needle: string;
  /** Files that hold it. */
  readonly found: number;
}

export interface SourceTreeOptions {
  /** Of all files together. */
  readonly bytes: number;
  /** Of one file on average; sizes go from a fifth to about four times as much. */
  readonly fileBytes: number;
}

const filesPerFolder = 20;
const filesPerNeedle = 500;
const needle = 'reconcileLedger';

/** The same tree at every call, but for where it lies: folders of TypeScript files three levels deep, and a `.gitignore`. */
export function createSourceTree({ bytes, fileBytes }: SourceTreeOptions): SourceTree {
  const root = mkdtempSync(path.join(tmpdir(), 'vibe-bench-'));
  const random = createRandom(42);
  const pages = Array.from({ length: 64 }, () => toPage(random));
  mkdirSync(path.join(root, '.git'));
  writeFileSync(path.join(root, '.gitignore'), 'dist/\n*.log\n/coverage\n.env*\n!.env.example\n');
  let written = 0;
  let files = 0;
  let folder = root;
  for (; written < bytes; files += 1) {
    if (files % filesPerFolder === 0) {
      const at = files / filesPerFolder;
      folder = path.join(root, `packages/part-${at % 40}/src/area-${Math.floor(at / 40)}`);
      mkdirSync(folder, { recursive: true });
    }
    const size = Math.round(fileBytes * (0.2 + 4 * random() ** 4));
    const text = toText(pages, size, random, files % filesPerNeedle === 0);
    writeFileSync(path.join(folder, `module-${files}.ts`), text);
    written += text.length;
  }
  return {
    root,
    needle,
    found: Math.ceil(files / filesPerNeedle),
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}

function toText(pages: readonly string[], size: number, random: () => number, hasNeedle: boolean): string {
  let text = '';
  while (text.length < size) text += pages[Math.floor(random() * pages.length)] ?? '';
  const cut = text.slice(0, text.lastIndexOf('\n', size) + 1);
  return hasNeedle ? `${cut}export const last = ${needle}(total);\n` : cut;
}

/** About four kilobytes of code. */
function toPage(random: () => number): string {
  const pick = (list: readonly string[]): string => list[Math.floor(random() * list.length)] ?? '';
  const lines: string[] = [];
  for (let length = 0; length < 4_096;) {
    const line = pick(shapes).replaceAll(/%[nvt]/g, (kind) =>
      pick(kind === '%n' ? nouns : kind === '%v' ? verbs : types),
    );
    lines.push(line);
    length += line.length + 1;
  }
  return `${lines.join('\n')}\n`;
}

const nouns = 'ledger account session message reader worker batch record header total report policy bundle'.split(' ');
const verbs = 'parse reconcile open close collect merge render compare validate'.split(' ');
const types = 'string number boolean Ledger Session Message Report readonly unknown'.split(' ');
const shapes = [
  "import { %v%n } from '../%n/%n.ts';",
  'export function %v%n(%n: %t, %n: %t): %t {',
  '  const %n = %v%n(%n.%n, options.%n);',
  '  if (%n === undefined) return %v%n(%n);',
  '  for (const %n of %n.%v%n) %n.push({ %n, %n: %v%n(%n) });',
  '  // The %n has to be read before the %n is closed, or its %n would be lost.',
  '  return %n.map((%n) => %v%n(%n, index)).filter((%n) => %n !== null);',
  '}',
  '',
];

/** Lehmer's generator; the same numbers for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}
