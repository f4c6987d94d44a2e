import type { RpcId } from '../protocol/jsonrpc.ts';
import type { JsonObject } from '../protocol/json.ts';
import { defaultMaxLineBytes, toLine } from '../protocol/lines.ts';
import { type InitializeResult, type ProgramInfo, toInitializeParams, vppMethods } from '../protocol/vpp.ts';
import { readHookAnswer, readInitialize, readToolResult } from '../protocol/vpp-read.ts';
import { isAbort, judged, mustBeError, mustBeResult, mustFail, show } from './fault-checks.ts';
import { Fault, type FaultProbe } from './fault-probe.ts';

export interface FaultScene {
  readonly probe: FaultProbe;
  readonly host: ProgramInfo;
  readonly announced: InitializeResult;
  /** A tool that may be called, when the author named one. */
  readonly tool: { readonly name: string; readonly input: JsonObject } | undefined;
}

export interface FaultCase {
  readonly name: string;
  /** Why it is left out. */
  skip?(scene: Pick<FaultScene, 'announced' | 'tool'>): string | undefined;
  /** @throws Fault */
  run(scene: FaultScene): Promise<void>;
  /** The process has ended by itself at the end of this case. */
  readonly ends?: boolean;
}

/** A plugin may need as long for its start as hosts give it. */
const startMs = 60_000;

/** Introduces the host as hosts do. @throws Fault */
export async function shakeHands(probe: FaultProbe, host: ProgramInfo): Promise<InitializeResult> {
  const { result, error } = await probe.ask(vppMethods.initialize, toInitializeParams(host), startMs);
  if (error !== undefined) throw new Fault(`answered \`initialize\` with the error ${error.code}: ${error.message}`);
  const announced = judged(vppMethods.initialize, () => readInitialize(result));
  await probe.write(request(undefined, vppMethods.initialized));
  return announced;
}

const noTool = { name: 'no such tool', arguments: {} };
const withoutTool = 'name a tool with --tool';
const foreign = { jsonrpc: '2.0', id: 4_111_111, result: {} };

/** Everything a plugin has to survive, each in a process of its own. */
export const faultCases: readonly FaultCase[] = [
  {
    name: 'a line that comes byte by byte',
    async run({ probe }) {
      const answer = probe.expect(1, '`ping`, which came byte by byte, a character cut in the middle');
      const bytes = Buffer.from(request(1, vppMethods.ping, { text: 'é你🚀' }));
      await probe.write(...Array.from(bytes, (byte) => Buffer.of(byte)));
      await answer;
    },
  },
  {
    name: 'many lines in one piece',
    async run({ probe }) {
      const ids = Array.from({ length: 50 }, (_, index) => index + 1);
      const answers = ids.map((id) => probe.expect(id, `\`ping\` number ${id} of 50 that came in one piece`));
      await Promise.all([probe.write(ids.map((id) => request(id, vppMethods.ping)).join('')), ...answers]);
    },
  },
  {
    name: 'carriage returns, blank lines and line separators',
    async run({ probe }) {
      const answer = probe.expect(1, '`ping` with U+2028 and U+0085 in a text; only the byte 0x0A ends a line');
      const line = request(1, vppMethods.ping, { text: 'a\u2028b\u2029c\u0085d' });
      await Promise.all([probe.write('\n \t\r\n\r\n', line.replace('\n', '\r\n')), answer]);
    },
  },
  {
    name: 'lines that are no JSON',
    async run({ probe }) {
      const lines = ['hello', '{', '{"jsonrpc":"2.0","id":1,', 'Content-Length: 12', '{"jsonrpc":"2.0"}}'];
      probe.allowRefusals(lines.length + 1);
      await probe.write(lines.map((line) => `${line}\n`).join(''), Buffer.from([0xff, 0xfe, 0x80, 0x0a]));
    },
  },
  {
    name: 'JSON that is no message',
    async run({ probe }) {
      const lines = ['[1,2]', '42', 'null', '"ping"', '{}', '{"jsonrpc":2,"id":"a","method":"ping"}'];
      probe.allowRefusals(lines.length);
      probe.tolerate('a');
      await probe.write(lines.map((line) => `${line}\n`).join(''));
    },
  },
  {
    name: 'every kind of id',
    async run({ probe }) {
      const ids: readonly RpcId[] = [0, '', '7', 7, 'é\n"', Number.MAX_SAFE_INTEGER];
      const answers = ids.map((id) => probe.expect(id, `\`ping\` with the id ${JSON.stringify(id)}`));
      await Promise.all([probe.write(ids.map((id) => request(id, vppMethods.ping)).join('')), ...answers]);
    },
  },
  {
    name: 'methods and notifications it does not know',
    async run({ probe }) {
      for (const method of ['resources/list', 'no/such/method', '__proto__', 'constructor', 'toString', '']) {
        mustBeError(await probe.ask(method), `\`${method}\``, -32601);
      }
      await probe.write(request(undefined, 'notifications/unheard', {}), request(undefined, '__proto__'));
    },
  },
  {
    name: 'parameters that cannot be meant',
    async run({ probe, announced }) {
      const broken: readonly unknown[] = [undefined, null, [], 'text', {}, { name: 7 }, { name: null }];
      for (const params of broken) {
        mustFail(await probe.ask(vppMethods.callTool, params), `\`tools/call\` with the params ${show(params)}`);
      }
      if (!announced.capabilities.hooks) return;
      for (const params of [undefined, [], {}, { tool: 7 }]) {
        const asked = `\`hooks/before_tool\` with the params ${show(params)}`;
        const { error, result } = await probe.ask(vppMethods.beforeTool, params);
        if (error === undefined && !isAbort(result))
          throw new Fault(`let a call pass that it could not read: ${asked}`);
      }
    },
  },
  {
    name: 'a tool it does not have',
    async run({ probe }) {
      mustFail(await probe.ask(vppMethods.callTool, noTool), 'a call of an unknown tool');
      const arguments_ = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}';
      const id = 'proto';
      const answer = probe.expect(id, 'a call with `__proto__` among its arguments');
      const params = `{"name":"__proto__","arguments":${arguments_}}`;
      await probe.write(`{"jsonrpc":"2.0","id":"${id}","method":"${vppMethods.callTool}","params":${params}}\n`);
      mustFail(await answer, 'a call of the tool `__proto__`');
    },
  },
  {
    name: 'a megabyte of arguments',
    async run({ probe }) {
      const params = { ...noTool, arguments: { text: 'x'.repeat(1_000_000) } };
      mustFail(await probe.ask(vppMethods.callTool, params), 'a call of an unknown tool with a megabyte of arguments');
    },
  },
  {
    name: 'a line over 16 MiB',
    async run({ probe }) {
      probe.allowRefusals(1);
      probe.tolerate('large');
      const head = '{"jsonrpc":"2.0","id":"large","method":"ping","params":{"text":"';
      await probe.write(head, ...pieces('x', defaultMaxLineBytes), '"}}\n');
    },
  },
  {
    name: 'nesting without end',
    async run({ probe }) {
      probe.allowRefusals(1);
      probe.tolerate('deep');
      const depth = 20_000;
      const value = '['.repeat(depth) + ']'.repeat(depth);
      await probe.write(`{"jsonrpc":"2.0","id":"deep","method":"ping","params":{"value":${value}}}\n`);
    },
  },
  {
    name: 'the same line twice',
    async run({ probe }) {
      const answer = probe.expect(1, '`ping`, which came twice', { most: 2 });
      await Promise.all([probe.write(request(1, vppMethods.ping).repeat(2)), answer]);
    },
  },
  {
    name: 'late and unwanted lines',
    async run({ probe }) {
      const cancelled = { requestId: 4_111_111, reason: 'cancelled by host' };
      await probe.write(
        `${toLine(foreign)}\n${toLine({ ...foreign, id: 'text' })}\n${toLine({ ...foreign, id: null })}\n`,
        `${toLine({ jsonrpc: '2.0', id: 4_111_112, error: { code: -32603, message: 'late' } })}\n`,
        request(undefined, vppMethods.cancelled, cancelled),
        request(undefined, vppMethods.cancelled, { ...cancelled, requestId: '4111111' }),
        request(undefined, vppMethods.cancelled, {}),
        request(undefined, vppMethods.cancelled),
        request(undefined, vppMethods.initialized),
      );
    },
  },
  {
    name: 'a host that reads late',
    async run({ probe }) {
      probe.pause();
      const ids = Array.from({ length: 2_000 }, (_, index) => index + 1);
      const answers = ids.map((id) => probe.expect(id, `\`ping\` number ${id} of ${ids.length} before any was read`));
      const isWritten = probe.write(ids.map((id) => request(id, vppMethods.ping)).join(''));
      await new Promise((resolve) => setTimeout(resolve, 100));
      probe.resume();
      await Promise.all([isWritten, ...answers]);
    },
  },
  {
    name: 'hook questions at once',
    skip: ({ announced }) => (announced.capabilities.hooks ? undefined : 'it has no hook'),
    async run({ probe }) {
      const asked = Array.from({ length: 20 }, (_, index) => ({ tool: `tool_${index}`, input: { n: index } }));
      const answers = await Promise.all(asked.map((params) => probe.ask(vppMethods.beforeTool, params)));
      for (const { result, error } of answers) {
        if (error === undefined) judged(vppMethods.beforeTool, () => readHookAnswer(result));
      }
    },
  },
  {
    name: 'calls at once',
    skip: ({ tool }) => (tool === undefined ? withoutTool : undefined),
    async run({ probe, tool }) {
      const params = toCall(tool);
      const answers = await Promise.all(Array.from({ length: 20 }, () => probe.ask(vppMethods.callTool, params)));
      for (const { result, error } of answers) {
        if (error === undefined) judged(vppMethods.callTool, () => readToolResult(result));
      }
    },
  },
  {
    name: 'a call that is cancelled',
    skip: ({ tool }) => (tool === undefined ? withoutTool : undefined),
    async run({ probe, tool }) {
      probe.tolerate(1);
      const cancelled = request(undefined, vppMethods.cancelled, { requestId: 1, reason: 'cancelled by host' });
      await probe.write(request(1, vppMethods.callTool, toCall(tool)) + cancelled);
    },
  },
  {
    name: 'shutdown',
    ends: true,
    async run({ probe }) {
      mustBeResult(await probe.ask(vppMethods.shutdown), '`shutdown`');
      probe.endInput();
      await probe.checkEnd('`shutdown` and the end of its stdin');
    },
  },
  {
    name: 'the end of its stdin',
    ends: true,
    async run({ probe }) {
      probe.endInput();
      await probe.checkEnd('the end of its stdin; that is how it learns that the host is gone');
    },
  },
  {
    name: 'the end in the middle of a line',
    ends: true,
    async run({ probe }) {
      probe.allowRefusals(1);
      await probe.write('{"jsonrpc":"2.0","id":1,"meth');
      probe.endInput();
      await probe.checkEnd('its stdin ended in the middle of a line');
    },
  },
  {
    name: 'a host that is gone',
    ends: true,
    async run({ probe }) {
      probe.closeOutput();
      await probe.write(request(1, vppMethods.ping), request(2, vppMethods.listTools)).catch(() => {});
      probe.endInput();
      await probe.checkEnd('both its stdin and its stdout were closed');
    },
  },
];

function request(id: RpcId | undefined, method: string, params?: object): string {
  const head = id === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', id, method };
  return `${toLine(params === undefined ? head : { ...head, params })}\n`;
}

function toCall(tool: FaultScene['tool']): object {
  const permissions = { read: true, write: false, execute: false, network: false };
  const vibe = { workspace_root: process.cwd(), agent: 'anonymous', permissions };
  return { name: tool?.name ?? '', arguments: tool?.input ?? {}, _meta: { vibe, progressToken: 1 } };
}

function pieces(unit: string, bytes: number): readonly string[] {
  const size = 64 * 1024;
  return Array.from({ length: bytes / size }, () => unit.repeat(size));
}
