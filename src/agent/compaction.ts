import type { ContentBlock, Message } from '../protocol/message.ts';
import type { CompletionRequest } from '../protocol/model.ts';
import { messageTokens } from './estimate.ts';
import { defaultSummaryWords, summaryMaxTokens, toSummaryRequest } from './summary.ts';

export interface CompactionPolicy {
  /** Estimated fill of the context window that starts a compaction, in percent. */
  readonly atPercent: number;
  /** Messages at the end that stay as they are, at least 2. */
  readonly keepMessages: number;
}

/** A compaction that is worth making. */
export interface CompactionPlan {
  /** Index of the first message that stays; everything before it is summarised, the first user message stays too. */
  readonly cut: number;
  readonly request: CompletionRequest;
}

/**
 * Decides before a step whether the older part of a transcript is summarised (agent-runtime 18.8) and where the cut lies: in
 * front of an assistant turn, so that no call is separated from its results. Nothing when the window is not that full, when
 * no such place exists, or when the older part is no larger than a summary of it may be.
 */
export function planCompaction(
  state: { readonly messages: readonly Message[]; readonly estimate: number; readonly window: number },
  model: string,
  policy: CompactionPolicy,
): CompactionPlan | undefined {
  if (state.estimate * 100 < state.window * policy.atPercent) return undefined;
  const cut = findCut(state.messages, Math.max(2, policy.keepMessages));
  if (cut === undefined) return undefined;
  let olderTokens = 0;
  for (const message of state.messages.slice(1, cut)) olderTokens += messageTokens(message);
  if (olderTokens <= summaryMaxTokens(defaultSummaryWords)) return undefined;
  return { cut, request: toSummaryRequest(model, state.messages.slice(0, cut), defaultSummaryWords) };
}

/**
 * The transcript with the older part replaced by its summary. The summary becomes a text block of the first user message
 * (in place of an earlier summary there), so that turns keep alternating; `plan.cut - 1` messages are gone.
 */
export function applyCompaction(
  messages: readonly Message[],
  plan: CompactionPlan,
  summary: string,
): readonly Message[] {
  const first = messages[0];
  const kept = (first?.content ?? []).filter((block, index) => index === 0 || !isSummary(block));
  const block: ContentBlock = { type: 'text', text: `${summaryMark}\n${summary}` };
  return [{ role: 'user', content: [...kept, block] }, ...messages.slice(plan.cut)];
}

function findCut(messages: readonly Message[], keep: number): number | undefined {
  if (messages[0]?.role !== 'user') return undefined;
  for (let cut = messages.length - keep; cut >= 2; cut -= 1) {
    if (messages[cut]?.role === 'assistant') return cut;
  }
  return undefined;
}

function isSummary(block: ContentBlock): boolean {
  return block.type === 'text' && block.text.startsWith(summaryMark);
}

const summaryMark = 'Summary of the earlier part of this conversation, which was removed to save space:';
