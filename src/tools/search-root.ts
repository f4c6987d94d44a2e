import { lstatSync } from 'node:fs';
import { errorOutput, type ToolContext, type ToolOutput } from '../protocol/tool.ts';
import { codeOf, locate, openScope, type Scope } from './containment.ts';
import { type IgnoreRules, rulesAbove } from './ignore-rules.ts';
import { quotePath, toFsPath } from './names.ts';

/** Where a walking tool starts. */
export interface SearchRoot {
  readonly scope: Scope;
  readonly shown: string;
  readonly real: string;
  readonly kind: 'directory' | 'file';
  /** Rules of the directories above it; absent when there are none. */
  readonly rules: IgnoreRules | undefined;
  /** The shown form of a path below the root. */
  show(path: string): string;
}

export type FoundRoot =
  | { readonly ok: true; readonly root: SearchRoot }
  | { readonly ok: false; readonly output: ToolOutput };

/** The place a walking tool was asked to look at; an error output when it is outside, missing or special. */
export function findSearchRoot(path: string, context: ToolContext): FoundRoot {
  const scope = openScope(context);
  const located = locate(path, scope);
  if (!located.ok) return located;
  const { shown, plain, real } = located.place;
  try {
    const stats = lstatSync(toFsPath(real));
    if (!stats.isDirectory() && !stats.isFile()) {
      return { ok: false, output: errorOutput(`\`${shown}\` is neither a file nor a directory.`) };
    }
    const kind = stats.isDirectory() ? 'directory' : 'file';
    const rules = rulesAbove(real, scope);
    const show = (below: string): string => quotePath(plain === '.' ? below : `${plain}/${below}`);
    return { ok: true, root: { scope, shown, real, kind, rules, show } };
  } catch (error) {
    const code = codeOf(error);
    const isMissing = code === 'ENOENT' || code === 'ENOTDIR';
    return {
      ok: false,
      output: errorOutput(isMissing ? `\`${shown}\` does not exist.` : `\`${shown}\` cannot be read (${code}).`),
    };
  }
}
