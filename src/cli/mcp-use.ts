import type { McpHost } from '../mcp/host-options.ts';
import { toToolOutput } from '../mcp/results.ts';
import { isEngineError } from '../protocol/error.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { McpTestResult, McpToolInfo } from '../protocol/mcp.ts';
import { toPrintable, toPrintableLine } from '../telemetry/printable.ts';
import { type ExitCode, exitCodes, toFailureLines, UsageError, wayOutOf } from './failure.ts';
import { takeInterrupts } from './interrupts.ts';
import type { CliIo } from './io.ts';
import { findServer, sourceOf, toServerInput } from './mcp-records.ts';
import { openServer } from './mcp-session.ts';
import type { CommonOptions } from './command.ts';
import { openProject } from './project.ts';
import { toTable } from './table.ts';

/** `vibe-bus mcp test <name>`: connects, lists, ends; nothing is left running. */
export async function testServer(io: CliIo, name: string, options: CommonOptions): Promise<ExitCode> {
  const project = await openProject(io, options);
  using _interrupts = takeInterrupts(io);
  await using session = await openServer(io, project, name);
  const { file, server } = await findServer(io, project, name);
  const result = await session.mcp.test(toServerInput(server), sourceOf(project, file));
  showTest(io, name, result, options);
  return result.ok ? exitCodes.ok : exitCodes.failed;
}

/** `vibe-bus mcp tools <name>`. */
export async function listServerTools(io: CliIo, name: string, options: CommonOptions): Promise<ExitCode> {
  const project = await openProject(io, options);
  using _interrupts = takeInterrupts(io);
  await using session = await openServer(io, project, name);
  requireEnabled(session.mcp, name);
  return await orExplain(io, name, async () => showTools(io, name, await session.mcp.tools(name), options));
}

function showTools(io: CliIo, name: string, tools: readonly McpToolInfo[], options: CommonOptions): ExitCode {
  if (options.json === true) {
    io.out(`${JSON.stringify(tools)}\n`);
  } else if (tools.length === 0) {
    io.out(`${toPrintableLine(name)} offers no tools.\n`);
  } else {
    const rows = tools.map((tool) => [
      tool.name,
      tool.read_only ? 'reads only' : 'changes things',
      tool.status === 'unsupported' ? 'unsupported' : `${tool.size_kb} KiB`,
      tool.description.split(/(?<=[.:])\s/)[0] ?? '',
    ]);
    io.out(toTable(rows));
  }
  return exitCodes.ok;
}

/** `vibe-bus mcp call <name> <tool> [input]`: one tool of one server, without an agent. */
export async function callServerTool(io: CliIo, call: ToolCall, options: CommonOptions): Promise<ExitCode> {
  const project = await openProject(io, options);
  using _interrupts = takeInterrupts(io);
  await using session = await openServer(io, project, call.name);
  requireEnabled(session.mcp, call.name);
  return await orExplain(io, call.name, async () => await callTool(io, session.mcp, call, options));
}

interface ToolCall {
  readonly name: string;
  readonly tool: string;
  readonly input: JsonObject;
}

async function callTool(io: CliIo, mcp: McpHost, call: ToolCall, options: CommonOptions): Promise<ExitCode> {
  const known = (await mcp.tools(call.name)).map((tool) => tool.name);
  if (!known.includes(call.tool)) {
    throw new UsageError(
      `MCP server \`${call.name}\` has no tool \`${call.tool}\`; its tools: ${known.join(', ') || 'none'}`,
    );
  }
  const result = await mcp.call(call.name, call.tool, call.input, {
    onProgress: ({ message, progress, total }) => {
      const share = total === undefined ? String(progress) : `${progress} of ${total}`;
      io.err(`${toPrintableLine(message === undefined ? share : `${share}: ${message}`)}\n`);
    },
  });
  if (options.json === true) io.out(`${JSON.stringify(result)}\n`);
  else (result.isError ? io.err : io.out)(`${toPrintable(toToolOutput(result).content)}\n`);
  return result.isError ? exitCodes.failed : exitCodes.ok;
}

/** @throws UsageError; `mcp test` alone may try a server that is not used */
function requireEnabled(mcp: McpHost, name: string): void {
  if (!mcp.servers().some((server) => server.name === name && server.state === 'disabled')) return;
  throw new UsageError(`MCP server \`${name}\` is switched off; \`vibe-bus mcp edit ${name} --enable\` turns it on`);
}

/** A server that fails is told with the command that shows more. */
async function orExplain(io: CliIo, name: string, work: () => Promise<ExitCode>): Promise<ExitCode> {
  try {
    return await work();
  } catch (error) {
    if (isEngineError(error) && error.code === 'config_invalid') {
      io.err(toFailureLines(error.message, `Correct it with \`vibe-bus mcp edit ${name}\`.`));
      return exitCodes.failed;
    }
    if (!isEngineError(error) || error.kind !== 'plugin') throw error;
    // why: what to do about these is said for all commands alike
    if (error.code === 'needs_auth' || error.code.startsWith('oauth_')) throw error;
    io.err(toFailureLines(error.message, `\`vibe-bus mcp test ${name}\` tries it alone and shows what it says.`));
    return exitCodes.failed;
  }
}

export function showTest(io: CliIo, name: string, result: McpTestResult, options: CommonOptions): void {
  if (options.json === true) {
    io.out(`${JSON.stringify(result)}\n`);
    return;
  }
  if (!result.ok) {
    io.err(`error: ${toPrintableLine(result.message)}\n`);
    for (const line of result.stderr_tail) io.err(`  ${toPrintableLine(line)}\n`);
    if (result.code === 'needs_auth') io.err(`  ${wayOutOf('', result.code) ?? ''}\n`);
    if (result.message.includes('sandbox.read'))
      io.err('  `vibe-bus mcp add` and `edit` name such files with --read and --write.\n');
    return;
  }
  const { era, protocol_version, server, tools, rejected, sandbox, elapsed_ms } = result;
  const left = rejected === 0 ? '' : `, ${rejected} unusable`;
  io.out(
    toTable([
      ['server', `${name}: ${server.name} ${server.version}`],
      ['protocol', `${protocol_version} (${era})`],
      ['sandbox', sandbox],
      ['tools', `${tools.map((tool) => tool.name).join(', ') || 'none'}${left}`],
      ['time', `${elapsed_ms} ms`],
    ]),
  );
}
