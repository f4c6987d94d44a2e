import { z } from 'zod';
import { createEngine } from '../../src/engine.ts';
import type { Message } from '../../src/protocol/message.ts';
import type { CompletionResponse, Provider } from '../../src/protocol/model.ts';
import { defineTool } from '../../src/tools/define.ts';
import { type Contender, measure } from '../measure.ts';
import { type AiSdk, loadAiSdk, loadPi, type Pi } from '../peers.ts';
import { type Row, toRow } from '../report.ts';

/** Steps of one run: the transcript grows by two messages a step, for everyone alike. */
const steps = 200;
const goalText = 'Count to two hundred.';
const systemPrompt = 'You count.';
const toolName = 'count_on';
const toolText = 'Counts on by one.';

/**
 * What one agent step costs beside model and tool: a model that answers at once with one tool call, a trivial tool with one
 * checked argument, all events seen by one observer. Everyone uses the schema library it is made for.
 */
export async function measureStep(folder: string): Promise<readonly Row[]> {
  const ours = await createOurs();
  const pi = createPi(await loadPi(folder));
  const aiSdk = createAiSdk(await loadAiSdk(folder));
  const [oursNs = [], piNs = []] = await measure([ours, pi], { rounds: 31, sampleMs: 60 });
  const [oursBesideNs = [], aiSdkNs = []] = await measure([ours, aiSdk], { rounds: 11, sampleMs: 60 });
  await ours.close();
  return [
    toRow({ name: 'step', unit: 'us', goal: 1.5, ours: oursNs, reference: { name: pi.name, series: piNs } }),
    toRow({
      name: 'step.ai-sdk',
      unit: 'us',
      goal: 0.1,
      ours: oursBesideNs,
      reference: { name: aiSdk.name, series: aiSdkNs },
    }),
  ];
}

async function createOurs(): Promise<Contender & { close(): Promise<void> }> {
  const tool = defineTool({
    name: toolName,
    description: toolText,
    input: z.object({ from: z.number() }),
    execute: ({ from }) => `${from + 1}`,
  });
  const engine = await createEngine({ bare: true, provider: createProvider(), tools: [tool] });
  let seen = 0;
  engine.bus.on('*', () => {
    seen += 1;
  });
  const spec = { role: 'counter', system_prompt: systemPrompt, max_steps: steps + 1, tools: 'all' as const };
  return {
    name: 'vibe-bus',
    operations: steps,
    async run(count) {
      for (let index = 0; index < count; index += 1) {
        const before = seen;
        const outcome = await engine.run(spec, goalText).outcome;
        if (outcome.steps !== steps || seen - before < steps * 2 + 2) throw new Error('a step or an event is missing');
      }
    },
    close: () => engine.close(),
  };
}

/** Answers from where the transcript stands, so that one object serves any number of runs. */
function createProvider(): Provider {
  const usage = { input_tokens: 100, output_tokens: 10, cache_read_tokens: 0, cache_write_tokens: 0 };
  function answer(messages: readonly Message[]): Promise<CompletionResponse> {
    const step = (messages.length - 1) / 2;
    if (step >= steps - 1) {
      return Promise.resolve({
        message: { role: 'assistant', content: [{ type: 'text', text: 'done' }] },
        stop_reason: 'end_turn',
        usage,
        model: 'instant',
      });
    }
    return Promise.resolve({
      message: {
        role: 'assistant',
        content: [{ type: 'tool_use', id: `call_${step}`, name: toolName, input: { from: step } }],
      },
      stop_reason: 'tool_use',
      usage,
      model: 'instant',
    });
  }
  return {
    info: () => ({ name: 'instant', supports_tools: true, supports_thinking: false, default_model: 'instant' }),
    complete: (request) => answer(request.messages),
    completeStreaming: (request) => answer(request.messages),
    healthCheck: () => Promise.resolve(),
  };
}

function createPi(pi: Pi): Contender {
  const usage = {
    input: 100,
    output: 10,
    cacheRead: 0,
    cacheWrite: 0,
    totalTokens: 110,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  };
  const model = {
    id: 'instant',
    name: 'instant',
    api: 'instant',
    provider: 'instant',
    baseUrl: '',
    reasoning: false,
    input: ['text'],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 200_000,
    maxTokens: 8_192,
  };
  const head = { role: 'assistant', api: 'instant', provider: 'instant', model: 'instant', usage };
  const tool = {
    name: toolName,
    label: toolName,
    description: toolText,
    parameters: pi.Type.Object({ from: pi.Type.Number() }),
    execute: (_id: string, { from }: { readonly from: number }) =>
      Promise.resolve({ content: [{ type: 'text', text: `${from + 1}` }], details: undefined }),
  };
  let seen = 0;

  function stream(_model: object, context: { readonly messages: readonly object[] }): object {
    const step = (context.messages.length - 1) / 2;
    const isLast = step >= steps - 1;
    const message = {
      ...head,
      content: isLast
        ? [{ type: 'text', text: 'done' }]
        : [{ type: 'toolCall', id: `call_${step}`, name: toolName, arguments: { from: step } }],
      stopReason: isLast ? 'stop' : 'toolUse',
      timestamp: Date.now(),
    };
    // why: the shortest stream the contract allows, the best case for pi
    const events = pi.createAssistantMessageEventStream();
    events.push({ type: 'done', reason: message.stopReason, message });
    return events;
  }

  return {
    name: 'pi-agent-core 0.73 runAgentLoop',
    operations: steps,
    async run(count) {
      for (let index = 0; index < count; index += 1) {
        const before = seen;
        const messages = await pi.runAgentLoop(
          [{ role: 'user', content: goalText, timestamp: Date.now() }],
          { systemPrompt, messages: [], tools: [tool] },
          { model, convertToLlm: (all: readonly object[]) => all },
          () => {
            seen += 1;
          },
          undefined,
          stream,
        );
        if (messages.length !== steps * 2 || seen - before < steps * 4)
          throw new Error('a step or an event is missing');
      }
    },
  };
}

function createAiSdk(ai: AiSdk): Contender {
  const usage = {
    inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 10, text: 10, reasoning: 0 },
  };
  const tools = {
    [toolName]: ai.tool({
      description: toolText,
      inputSchema: z.object({ from: z.number() }),
      execute: ({ from }: { readonly from: number }) => `${from + 1}`,
    }),
  };
  const model = {
    specificationVersion: 'v3',
    provider: 'instant',
    modelId: 'instant',
    supportedUrls: {},
    doGenerate({ prompt }: { readonly prompt: readonly object[] }) {
      const step = (prompt.length - 2) / 2;
      const isLast = step >= steps - 1;
      return Promise.resolve({
        content: isLast
          ? [{ type: 'text', text: 'done' }]
          : [{ type: 'tool-call', toolCallId: `call_${step}`, toolName, input: `{"from":${step}}` }],
        finishReason: isLast ? { unified: 'stop', raw: 'stop' } : { unified: 'tool-calls', raw: 'tool-calls' },
        usage,
        warnings: [],
      });
    },
  };
  return {
    name: 'ai 6 generateText',
    operations: steps,
    async run(count) {
      for (let index = 0; index < count; index += 1) {
        const result = await ai.generateText({
          model,
          system: systemPrompt,
          prompt: goalText,
          tools,
          stopWhen: () => false,
        });
        if (result.steps.length !== steps) throw new Error('a step is missing');
      }
    },
  };
}
