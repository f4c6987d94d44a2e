// {{name}}: a plugin with one tool, plain Node without dependencies. Try it alone:
//
//   vibe-bus plugins test ./{{name}} word_count '{"file": "README.md"}'
//   vibe-bus plugins fuzz ./{{name}}
import { readFile, realpath } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';

/** What the model sees, and what is done when it calls. */
const tools = {
  word_count: {
    description: 'Count the lines and words of a text file.',
    input_schema: {
      type: 'object',
      properties: { file: { type: 'string', description: 'Path inside the workspace.' } },
      required: ['file'],
      additionalProperties: false,
    },
    // Nothing is changed, so the call may run beside others.
    mutating: false,
    async run({ file }, workspace) {
      const text = await readFile(await inside(workspace, file), 'utf8');
      return `${text.split('\n').length} lines, ${text.split(/\s+/).filter(Boolean).length} words`;
    },
  },
};

/** The path with all links followed, which must still lie in the workspace: that is the plugin's own duty. */
async function inside(workspace, file) {
  if (typeof workspace !== 'string') throw new Error('this call came without a workspace');
  if (typeof file !== 'string') throw new Error('`file` must be a string');
  const root = await realpath(workspace);
  const target = await realpath(path.resolve(root, file));
  if (target !== root && !target.startsWith(root + path.sep)) throw new Error(`\`${file}\` is outside the workspace`);
  return target;
}

// ---- the protocol: a JSON object per line on stdin and stdout; diagnostics belong on stderr ----

const methods = {
  initialize: () => ({
    name: '{{name}}',
    version: '0.1.0',
    capabilities: { tools: true, agents: false, hooks: false },
  }),
  'tools/list': () => ({ tools: Object.entries(tools).map(([name, { run: _, ...shown }]) => ({ name, ...shown })) }),
  'tools/call': callTool,
  ping: () => ({}),
  shutdown: () => ({}),
};

async function callTool({ name, arguments: input, _meta: meta }) {
  if (!Object.hasOwn(tools, name ?? '')) throw { code: -32602, message: `unknown tool \`${name}\`` };
  try {
    const text = await tools[name].run(input ?? {}, meta?.vibe?.workspace_root);
    return { content: [{ type: 'text', text }], is_error: false };
  } catch (error) {
    // The model reads this: say what is wrong and what to do instead.
    return { content: [{ type: 'text', text: error.message }], is_error: true };
  }
}

function send(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

async function answer({ id, method, params }) {
  try {
    if (!Object.hasOwn(methods, method)) throw { code: -32601, message: `method not found: ${method}` };
    send({ id, result: await methods[method](params ?? {}) });
  } catch (error) {
    send({ id, error: { code: error.code ?? -32603, message: error.message } });
  }
  if (method === 'shutdown') process.exit();
}

function receive(line) {
  if (line.trim() === '') return;
  let message;
  try {
    message = JSON.parse(line);
  } catch (error) {
    send({ id: null, error: { code: -32700, message: error.message } });
    return;
  }
  // Without an id it is a notification, without a method an answer: neither is answered.
  if (typeof message?.method === 'string' && message.id !== undefined && message.id !== null) void answer(message);
}

// Lines end at the byte 0x0A and nowhere else; Node's readline would split at more.
let pieces = [];
process.stdin.on('data', (chunk) => {
  let start = 0;
  for (let at = chunk.indexOf(0x0a); at >= 0; at = chunk.indexOf(0x0a, start)) {
    pieces.push(chunk.subarray(start, at));
    receive(Buffer.concat(pieces).toString('utf8'));
    pieces = [];
    start = at + 1;
  }
  pieces.push(chunk.subarray(start));
});
// The end of stdin says that the host is gone.
process.stdin.on('end', () => process.exit());
process.stdout.on('error', () => process.exit());
