import type { CompletionResponse } from '../../src/protocol/model.ts';

const events = (...list: readonly (readonly [name: string, data: object])[]): string =>
  list.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify({ type: name, ...data })}\n\n`).join('');

/** A streamed answer of the Messages API: thinking with signature, text, two parallel calls, usage. */
export const anthropicStream = events(
  [
    'message_start',
    {
      message: {
        id: 'msg_01',
        type: 'message',
        role: 'assistant',
        model: 'claude-sonnet-5',
        content: [],
        stop_reason: null,
        usage: { input_tokens: 12, cache_read_input_tokens: 7, cache_creation_input_tokens: 3, output_tokens: 1 },
      },
    },
  ],
  ['content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } }],
  ['ping', {}],
  ['content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: 'Zwei Orte — ' } }],
  ['content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: '両方 🌍.' } }],
  ['content_block_delta', { index: 0, delta: { type: 'signature_delta', signature: 'EqQBCgIYAhIM+/=' } }],
  ['content_block_stop', { index: 0 }],
  ['content_block_start', { index: 1, content_block: { type: 'redacted_thinking', data: 'b3BhcXVl' } }],
  ['content_block_stop', { index: 1 }],
  ['content_block_start', { index: 2, content_block: { type: 'text', text: '' } }],
  ['content_block_delta', { index: 2, delta: { type: 'text_delta', text: 'Ich schaue nach: ' } }],
  ['content_block_delta', { index: 2, delta: { type: 'text_delta', text: 'Größe 😀' } }],
  ['content_block_stop', { index: 2 }],
  ['content_block_start', { index: 3, content_block: { type: 'tool_use', id: 'toolu_01', name: 'look', input: {} } }],
  ['content_block_delta', { index: 3, delta: { type: 'input_json_delta', partial_json: '' } }],
  ['content_block_delta', { index: 3, delta: { type: 'input_json_delta', partial_json: '{"path":"Größe' } }],
  ['content_block_delta', { index: 3, delta: { type: 'input_json_delta', partial_json: '.txt"}' } }],
  ['content_block_stop', { index: 3 }],
  ['content_block_start', { index: 4, content_block: { type: 'tool_use', id: 'toolu_02', name: 'ls', input: {} } }],
  ['content_block_stop', { index: 4 }],
  ['message_delta', { delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 89 } }],
  ['message_stop', {}],
);

export const anthropicAnswer: CompletionResponse = {
  message: {
    role: 'assistant',
    content: [
      { type: 'thinking', text: 'Zwei Orte — 両方 🌍.' },
      { type: 'text', text: 'Ich schaue nach: Größe 😀' },
      { type: 'tool_use', id: 'toolu_01', name: 'look', input: { path: 'Größe.txt' } },
      { type: 'tool_use', id: 'toolu_02', name: 'ls', input: {} },
    ],
  },
  stop_reason: 'tool_use',
  usage: { input_tokens: 12, output_tokens: 89, cache_read_tokens: 7, cache_write_tokens: 3 },
  model: 'claude-sonnet-5',
};

/** The thinking blocks of that answer, as they must go back. */
export const anthropicSigned = [
  { type: 'thinking', thinking: 'Zwei Orte — 両方 🌍.', signature: 'EqQBCgIYAhIM+/=' },
  { type: 'redacted_thinking', data: 'b3BhcXVl' },
];

const chunk = (delta: object, finish: string | null = null): object => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  model: 'gpt-5-2025',
  choices: [{ index: 0, delta, finish_reason: finish }],
});

/** A streamed answer of the Chat Completions API with the same content. */
export const openaiStream = [
  ': OPENROUTER PROCESSING\n\n',
  ...[
    chunk({ role: 'assistant', content: '' }),
    chunk({ reasoning_content: 'Zwei Orte — ' }),
    chunk({ reasoning_content: '両方 🌍.' }),
    chunk({ content: 'Ich schaue nach: ' }),
    chunk({ content: 'Größe 😀' }),
    chunk({ tool_calls: [{ index: 0, id: 'call_a', type: 'function', function: { name: 'look', arguments: '' } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '{"path":"Größe' } }] }),
    chunk({ tool_calls: [{ index: 1, id: 'call_b', type: 'function', function: { name: 'ls', arguments: '' } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '.txt"}' } }] }),
    chunk({}, 'tool_calls'),
    {
      model: 'gpt-5-2025',
      choices: [],
      usage: { prompt_tokens: 22, completion_tokens: 89, prompt_tokens_details: { cached_tokens: 7 } },
    },
  ].map((data) => `data: ${JSON.stringify(data)}\n\n`),
  'data: [DONE]\n\n',
].join('');

export const openaiAnswer: CompletionResponse = {
  message: {
    role: 'assistant',
    content: [
      { type: 'thinking', text: 'Zwei Orte — 両方 🌍.' },
      { type: 'text', text: 'Ich schaue nach: Größe 😀' },
      { type: 'tool_use', id: 'call_a', name: 'look', input: { path: 'Größe.txt' } },
      { type: 'tool_use', id: 'call_b', name: 'ls', input: {} },
    ],
  },
  stop_reason: 'tool_use',
  usage: { input_tokens: 22, output_tokens: 89, cache_read_tokens: 7, cache_write_tokens: 0 },
  model: 'gpt-5-2025',
};
