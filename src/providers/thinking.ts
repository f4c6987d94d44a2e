/** How a Claude model is told to think: it decides itself, or it gets a token budget. */
export type ThinkingForm = 'adaptive' | 'budget';

const budgetModels = ['claude-3', 'haiku', '-4-5', '-4-1', '-4-0', 'opus-4-2', 'sonnet-4-2'];
const adaptiveModels = ['claude', 'fable', 'mythos'];

/** The thinking form by model id; an unknown model keeps the budget form. Source: agent-runtime section 15. */
export function anthropicThinkingForm(model: string): ThinkingForm {
  const id = model.toLowerCase();
  if (budgetModels.some((part) => id.includes(part))) return 'budget';
  return adaptiveModels.some((part) => id.includes(part)) ? 'adaptive' : 'budget';
}

/** Effort of the adaptive form by thinking budget in tokens. */
export function anthropicEffort(budget: number): 'low' | 'medium' | 'high' | 'max' {
  if (budget <= 2048) return 'low';
  if (budget <= 8192) return 'medium';
  return budget <= 24_576 ? 'high' : 'max';
}

/** `reasoning_effort` of the Chat Completions dialect by thinking budget in tokens. */
export function openaiReasoningEffort(budget: number): 'low' | 'medium' | 'high' {
  if (budget <= 2048) return 'low';
  return budget <= 8192 ? 'medium' : 'high';
}
