// The task every agent framework gets: call one trivial tool, step after step.
export const goalText = 'Count on and on.';
export const systemPrompt = 'You count.';
export const toolName = 'count_on';
export const toolText = 'Counts on by one.';
