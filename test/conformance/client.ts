// The client program of the conformance suite: our host, driven as each scenario asks. The suite passes the address of its
// server as the last argument and the rest in the environment.
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { randomUUID } from 'node:crypto';
import type { McpHost } from '../../src/mcp/host-options.ts';
import { createMcpHost } from '../../src/mcp/host.ts';
import { silentLogger } from '../../src/protocol/deps.ts';
import { isJsonObject, type JsonObject, ownValue } from '../../src/protocol/json.ts';
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
      { name, url, protocol: process.env['MCP_CONFORMANCE_PROTOCOL_VERSION'] === '2026-07-28' ? 'auto' : 'legacy' },
    ],
    // as a user who agrees to everything and leaves the form as it came
    onElicitation: async () => ({ action: 'accept', content: {} }),
  });
}

async function play(id: string, mcp: McpHost): Promise<void> {
  const tools = await mcp.tools(name);
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

function contextCalls(): readonly { readonly name: string; readonly args: JsonObject }[] {
  const context: unknown = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}');
  const calls = isJsonObject(context) ? ownValue(context, 'toolCalls') : undefined;
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
