#!/usr/bin/env node
// A policy as a plugin: plain Node, no dependencies. Before every tool call the host asks it, and what it refuses is not
// done. Whatever keeps it from answering - a crash, a timeout, nonsense - is a refusal too: the host fails closed.
//
// Change the two tables to make it yours, then try a call by hand:
//
//   printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"hooks/before_tool","params":{"tool":"bash","input":{"command":"git push --force"}}}' | node guard.mjs
import process from 'node:process';

/** Shell commands nobody should run unasked. */
const refusedCommands = [
  [/\brm\s+(-\w*\s+)*-\w*(r\w*f|f\w*r)/, 'recursive forced deletion'],
  [/\bgit\s+push\b.*\s(--force\b|-f\b|--delete\b)/, 'rewriting a shared branch'],
  [/\bgit\s+(reset\s+--hard|clean\s+-\w*f|checkout\s+--\s)/, 'throwing away uncommitted work'],
  [/\b(npm|pnpm|yarn)\s+publish\b/, 'publishing a package'],
  [/\b(curl|wget)\b.*\|\s*(ba|z)?sh\b/, 'running a script from the network'],
];

/** Files that stay as they are, by path inside the workspace. */
const protectedPaths = [
  [/(^|\/)\.env(\.|$)/, 'holds secrets'],
  [/(^|\/)\.git\//, 'belongs to git'],
  [/(^|\/)(package-lock\.json|pnpm-lock\.yaml|yarn\.lock|Cargo\.lock)$/, 'is written by the package manager'],
  [/(^|\/)LICENSE(\.\w+)?$/, 'is a legal text'],
];

/** Tools that change files, and the argument that names the file. */
const writingTools = new Map([
  ['write_file', 'path'],
  ['edit_file', 'path'],
]);

/** The reason to refuse a call, or nothing. */
function judge(tool, input) {
  if (tool === 'bash' && typeof input?.command === 'string') {
    const hit = refusedCommands.find(([pattern]) => pattern.test(input.command));
    return hit && `${hit[1]} needs a person: ask the user to do it`;
  }
  const argument = writingTools.get(tool);
  if (argument !== undefined && typeof input?.[argument] === 'string') {
    const path = input[argument].replaceAll('\\', '/');
    const hit = protectedPaths.find(([pattern]) => pattern.test(path));
    return hit && `${path} ${hit[1]} and must not be edited`;
  }
  return undefined;
}

const rulesTool = {
  name: 'guard_rules',
  description: 'List what the policy of this project refuses, before planning around it.',
  input_schema: { type: 'object', properties: {}, additionalProperties: false },
  mutating: false,
};

function rules() {
  const commands = refusedCommands.map(([, reason]) => `- commands: ${reason}`);
  const paths = protectedPaths.map(([pattern, reason]) => `- files matching ${pattern.source}: ${reason}`);
  return [...commands, ...paths].join('\n');
}

const methods = {
  initialize: () => ({ name: 'guard', version: '1.0.0', capabilities: { tools: true, agents: false, hooks: true } }),
  'tools/list': () => ({ tools: [rulesTool] }),
  'tools/call': ({ name }) => {
    if (name !== rulesTool.name) throw { code: -32602, message: `unknown tool \`${name}\`` };
    return { content: [{ type: 'text', text: rules() }], is_error: false };
  },
  'hooks/before_tool': ({ tool, input }) => {
    // A question that cannot be read must not pass: the host takes the error for a refusal.
    if (typeof tool !== 'string') throw { code: -32602, message: '`tool` must be a string' };
    const reason = judge(tool, input);
    if (reason === undefined) return { decision: 'continue' };
    send({ method: 'log', params: { level: 'warn', message: `refused ${tool}: ${reason}` } });
    return { decision: 'abort', reason };
  },
  ping: () => ({}),
  shutdown: () => ({}),
};

function send(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

function answer({ id, method, params }) {
  if (!Object.hasOwn(methods, method)) {
    send({ id, error: { code: -32601, message: `method not found: ${method}` } });
    return;
  }
  try {
    send({ id, result: methods[method](params ?? {}) });
  } catch (error) {
    send({ id, error: { code: error.code ?? -32603, message: error.message ?? String(error) } });
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
  if (typeof message?.method === 'string' && message.id !== undefined && message.id !== null) answer(message);
}

// Lines end at a newline byte and nowhere else, so they are cut from bytes; Node's readline would cut at more.
let pieces = [];
process.stdin.on('data', (chunk) => {
  let start = 0;
  for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, start)) {
    pieces.push(chunk.subarray(start, at));
    receive(Buffer.concat(pieces).toString('utf8'));
    pieces = [];
    start = at + 1;
  }
  pieces.push(chunk.subarray(start));
});
process.stdin.on('end', () => receive(Buffer.concat(pieces).toString('utf8')));
