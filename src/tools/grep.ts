import { countCharacters } from '../protocol/json.ts';
import { okOutput, type ToolContext, type ToolOutput } from '../protocol/tool.ts';
import { type GrepBlock, maxGrepCharacters } from './grep-report.ts';
import { type GrepInput, type GrepPart, type GrepShare, searchShare } from './grep-search.ts';
import { dealShares } from './search-share.ts';

/** Lines by regular expression (agent-runtime 16), all files on this thread. */
export function grep(input: GrepInput, context: ToolContext): ToolOutput {
  return joinParts(input, [searchShare(input, {}, context)]);
}

/** A search of a part of the tree, for a worker thread. */
export function grepShare(
  request: { readonly input: GrepInput; readonly share: GrepShare },
  context: ToolContext,
): GrepPart {
  return searchShare(request.input, request.share, context);
}

/** What one thread searches before others are called in, in bytes: a small tree is not worth their while. */
const firstShareBytes = 4 * 1_024 * 1_024;

/**
 * The same search with a large tree shared out over threads.
 * @param call runs `grepShare` on a thread
 */
export async function spreadGrep(
  call: (request: { readonly input: GrepInput; readonly share: GrepShare }) => Promise<unknown>,
  input: GrepInput,
  threads: number,
): Promise<ToolOutput> {
  // The parts come from `grepShare` of this very build.
  const search = (share: GrepShare): Promise<GrepPart> => call({ input, share }) as Promise<GrepPart>;
  const first = await search(threads > 1 ? { maxBytes: firstShareBytes } : {});
  if (!first.ok || first.left.length === 0) return joinParts(input, [first]);
  const shares = dealShares(first.left, threads).map((own) => search({ own }));
  return joinParts(input, [first, ...(await Promise.all(shares))]);
}

/** One output from the parts of a search; each part is in order, so their common order is that of a single search. */
function joinParts(input: GrepInput, parts: readonly GrepPart[]): ToolOutput {
  const blocks: GrepBlock[] = [];
  let tooLarge = 0;
  let unreadable = 0;
  let cut: string | undefined;
  for (const part of parts) {
    if (!part.ok) return part.output;
    blocks.push(...part.blocks);
    tooLarge += part.tooLarge;
    unreadable += part.unreadable;
    cut ??= part.cut;
  }
  blocks.sort((left, right) => (left.path < right.path ? -1 : 1));
  const { lines, files, matches, isFull } = fill(blocks);
  const notes = [
    ...(isFull
      ? [`(cut at ${maxGrepCharacters} characters; narrow the pattern, the path or the glob to see the rest)`]
      : []),
    ...(cut === undefined ? [] : [`(${cut})`]),
    ...(tooLarge > 0 ? [`(${tooLarge} files over 10 MiB were skipped)`] : []),
    ...(unreadable > 0 ? [`(${unreadable} files or directories could not be read)`] : []),
  ];
  const text = matches === 0 ? `No matches for \`${input.pattern}\`.` : lines.join('\n');
  return okOutput([text, ...notes].join('\n\n'), { files, matches, truncated: isFull || cut !== undefined });
}

interface Filled {
  readonly lines: readonly string[];
  readonly files: number;
  readonly matches: number;
  readonly isFull: boolean;
}

/** As much as an output holds. */
function fill(blocks: readonly GrepBlock[]): Filled {
  const lines: string[] = [];
  let characters = 0;
  let files = 0;
  let matches = 0;
  for (const block of blocks) {
    files += 1;
    matches += block.matches;
    for (const line of block.lines) {
      characters += countCharacters(line) + (lines.length === 0 ? 0 : 1);
      if (characters > maxGrepCharacters) return { lines, files, matches, isFull: true };
      lines.push(line);
    }
  }
  return { lines, files, matches, isFull: false };
}
