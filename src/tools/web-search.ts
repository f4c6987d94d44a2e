import { z } from 'zod';
import { EngineError, isEngineError } from '../protocol/error.ts';
import { childSignal } from '../protocol/signal.ts';
import { errorOutput, okOutput, type ToolContext, type ToolOutput } from '../protocol/tool.ts';
import { requestWeb } from './web-request.ts';

const maxResults = 10;
const maxBytes = 2 * 1_024 * 1_024;
const timeoutMs = 30_000;

const answer = z.looseObject({ results: z.array(z.unknown()) });
const result = z.looseObject({ title: z.string().nullish(), url: z.string(), content: z.string().nullish() });

/**
 * Searches by a SearXNG-style JSON endpoint (agent-runtime 16).
 * @param endpoint URL with `{query}`; its host was chosen by the user, so it may be local
 */
export async function searchWeb(query: string, context: ToolContext, endpoint: string): Promise<ToolOutput> {
  using limit = childSignal(context.signal, timeoutMs);
  try {
    const url = new URL(endpoint.replaceAll('{query}', () => encodeURIComponent(query)));
    const response = await requestWeb({
      url,
      accept: 'application/json',
      maxBytes,
      signal: limit.signal,
      isAllowedAddress: () => true,
    });
    if (response.status !== 200)
      throw new EngineError('network', `the search endpoint answered HTTP ${response.status}`);
    const parsed = answer.safeParse(parseJson(response.body.toString('utf8')));
    if (!parsed.success) throw new EngineError('network', 'the search endpoint gave no list of results');
    // One that cannot be read does not take the others with it.
    const readable = parsed.data.results.map((entry) => result.safeParse(entry)).filter((entry) => entry.success);
    const results = readable.slice(0, maxResults).map((entry) => entry.data);
    if (results.length === 0) return okOutput(`No results for \`${query}\`.`, { results: 0 });
    const shown = results.map(({ title, url: link, content }, index) => {
      const lines = [
        `${index + 1}. ${title ?? link}`,
        `   ${link}`,
        ...(content == null ? [] : [`   ${content.trim()}`]),
      ];
      return lines.join('\n');
    });
    return okOutput(shown.join('\n\n'), { results: results.length });
  } catch (error) {
    if (context.signal.aborted) throw error;
    if (limit.timedOut) return errorOutput('The search endpoint did not answer within 30 seconds.');
    if (!isEngineError(error)) throw error;
    return errorOutput(`The search failed: ${error.message}.`);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // told as an answer without results
  }
}
