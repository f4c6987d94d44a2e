import type { Environment } from '../../src/store/paths.ts';

/** A real model that can be used here, as `provider/model`; undefined when there is none. */
export async function findLiveModel(env: Environment): Promise<string | undefined> {
  if ((env['ANTHROPIC_API_KEY'] ?? '') !== '') return 'anthropic/';
  if ((env['OPENAI_API_KEY'] ?? '') !== '') return 'openai/';
  const local = await findOllamaModel();
  return local === undefined ? undefined : `ollama/${local}`;
}

/** The first model of an Ollama on this machine. */
async function findOllamaModel(): Promise<string | undefined> {
  try {
    const answer = await fetch('http://localhost:11434/api/tags', { signal: AbortSignal.timeout(500) });
    const body = (await answer.json()) as { readonly models?: readonly { readonly name?: string }[] };
    return body.models?.[0]?.name;
  } catch {
    // none is running, which is the usual case
    return undefined;
  }
}
