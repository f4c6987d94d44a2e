import type { ServerResponse } from 'node:http';
import { isJsonObject, type Json, type JsonObject } from '../../src/protocol/json.ts';
import { type HttpRequest, json, page, startHttp, stream } from './http-server.ts';
import { type Script, scriptedServer, type ScriptedServer, type Step } from './support.ts';

/** The carriers a script can be played over; `http` is Streamable HTTP. */
export const carriers = ['stdio', 'http'] as const;
export type CarrierName = (typeof carriers)[number];

export async function openScripted(
  carrier: CarrierName,
  script: Script,
  more: JsonObject = {},
): Promise<ScriptedServer> {
  return carrier === 'stdio' ? scriptedServer(script, more) : await scriptedWeb(script, more);
}

/**
 * The script of the stdio fixture, played by a web server: `result`, `error` and `raw` alone are JSON answers, with `before`,
 * `after`, `flood`, `ask` or `silent` they are event streams; a silent stream stays open.
 */
async function scriptedWeb(script: Script, more: JsonObject): Promise<ScriptedServer> {
  const counts = new Map<string, number>();
  const asked = new Map<unknown, () => void>();
  const isLegacy = 'initialize' in script;
  let askIds = 1_000;

  function stepFor(request: HttpRequest): Step | undefined {
    const { params } = request.message;
    const named = `${request.rpc}:${isJsonObject(params) ? String(params['name']) : ''}`;
    const key = named in script ? named : request.rpc;
    const steps = script[key];
    if (!Array.isArray(steps)) return undefined;
    const count = counts.get(key) ?? 0;
    counts.set(key, count + 1);
    return (steps as readonly Step[])[Math.min(count, steps.length - 1)];
  }

  const server = await startHttp(async (request, response) => {
    if (request.verb === 'DELETE') return void response.writeHead(204).end();
    if (request.verb === 'GET' && 'GET' in script) {
      for (const step of script['GET'] as readonly Step[]) await play(step, request, response);
      return;
    }
    if (request.verb !== 'POST') return page(response, 405);
    const { id } = request.message;
    if (request.rpc === '') asked.get(id)?.();
    if (id === undefined || request.rpc === '') return void response.writeHead(202).end();
    const step = stepFor(request);
    if (step === undefined) {
      const error = { code: -32_601, message: 'Method not found' };
      return json(response, { jsonrpc: '2.0', id, error }, isLegacy ? 200 : 404);
    }
    await play(step, request, response);
  });

  async function play(step: Step, request: HttpRequest, response: ServerResponse): Promise<void> {
    const { id = null } = request.message;
    const answer = 'raw' in step ? fill(step['raw'] ?? '', request) : answerOf(step, id);
    if (!streamed.some((key) => key in step)) {
      await delay(step);
      if (answer !== undefined) json(response, answer);
      return;
    }
    stream(
      response,
      listOf(step['before']).map((line) => fill(line, request)),
      true,
    );
    const write = (line: string): void => void response.write(`data: ${line}\n\n`);
    const { flood } = step;
    if (isJsonObject(flood)) {
      for (let i = 0; i < Number(flood['count']); i += 1) write(fill(flood['line'] ?? '', request));
    }
    for (const question of listOf(step['ask'])) {
      askIds += 1;
      const answered = new Promise<void>((resolve) => asked.set(askIds, resolve));
      write(JSON.stringify({ jsonrpc: '2.0', id: askIds, ...(isJsonObject(question) ? question : {}) }));
      await answered;
    }
    await delay(step);
    if (answer !== undefined) write(answer);
    for (const line of listOf(step['after'])) write(fill(line, request));
    if (step['silent'] !== true) response.end();
  }

  const received = (): readonly JsonObject[] => server.requests.map((request) => request.message);
  const methods = (): readonly string[] => server.rpcs();
  return {
    record: { name: 'scripted', url: server.url, ...more },
    received,
    methods,
    starts: () => [],
    children: () => [],
    arrived: (method, count = 1) =>
      server.until(() => methods().filter((name) => name === (method ?? name)).length >= count),
  };
}

const streamed = ['before', 'after', 'flood', 'ask', 'silent'];

function answerOf(step: Step, id: Json): string | undefined {
  if (!('result' in step) && !('error' in step)) return undefined;
  const body = 'result' in step ? { result: step['result'] } : { error: step['error'] };
  return JSON.stringify({ jsonrpc: '2.0', id, ...body });
}

function listOf(value: Json | undefined): readonly Json[] {
  return value === undefined ? [] : Array.isArray(value) ? (value as readonly Json[]) : [value];
}

function fill(line: Json, request: HttpRequest): string {
  const text = typeof line === 'string' ? line : JSON.stringify(line);
  const { id = null } = request.message;
  return text.replaceAll('$idtext', String(id)).replaceAll('"$id"', JSON.stringify(id)).replaceAll('$id', String(id));
}

async function delay(step: Step): Promise<void> {
  const ms = step['delay'];
  if (typeof ms === 'number') await new Promise((resolve) => void setTimeout(resolve, ms));
}
