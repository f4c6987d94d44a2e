// The client program of the conformance suite: our host, driven as each scenario asks. The suite passes the address of its
// server as the last argument and the rest in the environment.
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { randomUUID } from 'node:crypto';
import type { McpHost } from '../../src/mcp/host-options.ts';
import { createMcpHost } from '../../src/mcp/host.ts';
import { silentLogger } from '../../src/protocol/deps.ts';
import { isJsonObject, type JsonObject, ownValue } from '../../src/protocol/json.ts';
import type { McpAuthorization } from '../../src/protocol/mcp.ts';
import { systemClock } from '../../src/protocol/signal.ts';
import type { Tool } from '../../src/protocol/tool.ts';

/** The name the host knows the suite's server by. */
const name = 'suite';

const registered = new Map<string, Tool>();
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? '';
const host = openHost(process.argv.at(-1) ?? '');
try {
  await host.start();
  await play(scenario, host);
} finally {
  await host.stop();
}

function openHost(url: string): McpHost {
  return createMcpHost({
    registry: {
      registerTool(tool) {
        registered.set(tool.name, tool);
        return { replaced: false };
      },
      removeTool: () => {},
      registerAgent: () => {},
      registerHooks: () => {},
      registerProvider: () => {},
    },
    publish: () => {},
    logger: silentLogger,
    clock: systemClock,
    version: '0.0.0',
    projectRoot: homedir(),
    configDir: path.join(tmpdir(), `vibe-bus-conformance-${randomUUID()}`),
    trusted: true,
    records: [
      {
        name,
        url,
        protocol: process.env['MCP_CONFORMANCE_PROTOCOL_VERSION'] === '2026-07-28' ? 'auto' : 'legacy',
        oauth: {
          client_metadata_url: 'https://conformance-test.local/client-metadata.json',
          // an address of another machine: no port is opened, the answer is handed in
          redirect_uri: 'https://conformance-test.local/callback',
        },
      },
    ],
    onAuthorization: agree,
    // as a user who agrees to everything and leaves the form as it came
    onElicitation: async () => ({ action: 'accept', content: {} }),
  });
}

/** As a browser whose user agrees at once: the server sends it on to the address with the answer. */
async function agree(authorization: McpAuthorization): Promise<void> {
  const response = await fetch(authorization.url, { redirect: 'manual' });
  await authorization.complete(response.headers.get('location') ?? '');
}

async function play(id: string, mcp: McpHost): Promise<void> {
  if (id === 'auth/pre-registration') {
    const { client_id, client_secret } = context();
    await agree(await mcp.authorize(name, { client_id: String(client_id), client_secret: String(client_secret) }));
  }
  const tools = await mcp.tools(name);
  if (id.startsWith('auth/')) {
    for (const tool of tools) await mcp.call(name, tool.name, {});
    return;
  }
  switch (id) {
    case 'tools_call':
      await mcp.call(name, 'add_numbers', { a: 5, b: 3 });
      return;
    case 'elicitation-sep1034-client-defaults':
      await mcp.call(name, 'test_client_elicitation_defaults', {});
      return;
    case 'sse-retry':
      await mcp.call(name, 'test_reconnection', {});
      return;
    case 'sep-2322-client-request-state':
      await Promise.all([mcp.call(name, 'test_mrtr_echo_state', {}), mcp.call(name, 'test_mrtr_unrelated', {})]);
      await mcp.call(name, 'test_mrtr_no_state', {});
      await mcp.call(name, 'test_mrtr_no_result_type', {});
      return;
    case 'http-standard-headers':
      for (const tool of tools) await mcp.call(name, tool.name, {});
      await readAll(mcp);
      return;
    case 'http-custom-headers':
      for (const call of contextCalls()) await mcp.call(name, call.name, call.args);
      return;
    case 'http-invalid-tool-headers':
      for (const tool of tools) await mcp.call(name, tool.name, { region: 'us-west1' });
      return;
    case 'json-schema-2020-12-preservation':
      await echoSchema(mcp);
      return;
  }
}

async function readAll(mcp: McpHost): Promise<void> {
  for (const prompt of await mcp.prompts(name)) {
    if (isJsonObject(prompt) && typeof prompt['name'] === 'string') await mcp.prompt(name, { name: prompt['name'] });
  }
  for (const resource of await mcp.resources(name)) {
    if (isJsonObject(resource) && typeof resource['uri'] === 'string') await mcp.resource(name, resource['uri']);
  }
}

/** What the suite tells the client about a scenario. */
function context(): JsonObject {
  const value: unknown = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}');
  return isJsonObject(value) ? value : {};
}

function contextCalls(): readonly { readonly name: string; readonly args: JsonObject }[] {
  const calls = ownValue(context(), 'toolCalls');
  if (!Array.isArray(calls)) throw new Error('the suite named no calls');
  return calls.filter(isJsonObject).map((call) => ({
    name: String(call['name']),
    args: isJsonObject(call['arguments']) ? call['arguments'] : {},
  }));
}

/** Sends back the schema of a tool as a model would be offered it. */
async function echoSchema(mcp: McpHost): Promise<void> {
  const tool = await mcp.load(`${name}/json_schema_2020_12_tool`);
  await mcp.call(name, 'json_schema_echo', { schema: registered.get(tool.qualified_name)?.input_schema ?? {} });
}
