import { okOutput, type ToolContext, type ToolOutput } from '../protocol/tool.ts';
import { byNewest, findFiles, type GlobInput, type GlobPart, type GlobShare, maxMatches } from './glob-search.ts';
import { dealShares } from './search-share.ts';

/** Files by name pattern, newest first (agent-runtime 16), the whole tree on this thread. */
export function glob(input: GlobInput, context: ToolContext): ToolOutput {
  return joinParts(input, [findFiles(input, {}, context)]);
}

/** A search of a part of the tree, for a worker thread. */
export function globShare(
  request: { readonly input: GlobInput; readonly share: GlobShare },
  context: ToolContext,
): GlobPart {
  return findFiles(request.input, request.share, context);
}

/** How many directories one thread looks at before others are called in: a small tree is not worth their while. */
const firstDirectories = 64;

/**
 * The same search with a large tree shared out over threads.
 * @param call runs `globShare` on a thread
 */
export async function spreadGlob(
  call: (request: { readonly input: GlobInput; readonly share: GlobShare }) => Promise<unknown>,
  input: GlobInput,
  threads: number,
): Promise<ToolOutput> {
  // The parts come from `globShare` of this very build.
  const search = (share: GlobShare): Promise<GlobPart> => call({ input, share }) as Promise<GlobPart>;
  const first = await search(threads > 1 ? { maxDirectories: firstDirectories } : {});
  if (!first.ok || first.left.length === 0) return joinParts(input, [first]);
  const shares = dealShares(first.left, threads).map((own) => search({ own }));
  return joinParts(input, [first, ...(await Promise.all(shares))]);
}

function joinParts(input: GlobInput, parts: readonly GlobPart[]): ToolOutput {
  const found = [];
  let total = 0;
  let unreadable = 0;
  let cut: string | undefined;
  for (const part of parts) {
    if (!part.ok) return part.output;
    found.push(...part.newest);
    total += part.total;
    unreadable += part.unreadable;
    cut ??= part.cut;
  }
  const lines = found
    .sort(byNewest)
    .slice(0, maxMatches)
    .map((file) => file.shown);
  const isCut = total > maxMatches;
  const notes = [
    ...(isCut ? [`(cut at ${maxMatches} of ${total} files; narrow the pattern or the path)`] : []),
    ...(cut === undefined ? [] : [`(${cut})`]),
    ...(unreadable > 0 ? [`(${unreadable} directories could not be read)`] : []),
  ];
  const text = total === 0 ? `No files matched \`${input.pattern}\`.` : lines.join('\n');
  const content = [text, ...notes].join('\n\n');
  return okOutput(content, { matches: total, truncated: isCut || cut !== undefined });
}
