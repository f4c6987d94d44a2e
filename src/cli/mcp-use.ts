import { toToolOutput } from '../mcp/results.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { McpTestResult } from '../protocol/mcp.ts';
import { toPrintable, toPrintableLine } from '../telemetry/printable.ts';
import { type ExitCode, exitCodes, UsageError, wayOutOf } from './failure.ts';
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
  const tools = await session.mcp.tools(name);
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
export async function callServerTool(
  io: CliIo,
  call: { readonly name: string; readonly tool: string; readonly input: JsonObject },
  options: CommonOptions,
): Promise<ExitCode> {
  const project = await openProject(io, options);
  using _interrupts = takeInterrupts(io);
  await using session = await openServer(io, project, call.name);
  const known = (await session.mcp.tools(call.name)).map((tool) => tool.name);
  if (!known.includes(call.tool)) {
    throw new UsageError(
      `MCP server \`${call.name}\` has no tool \`${call.tool}\`; its tools: ${known.join(', ') || 'none'}`,
    );
  }
  const result = await session.mcp.call(call.name, call.tool, call.input, {
    onProgress: ({ message, progress, total }) => {
      const share = total === undefined ? String(progress) : `${progress} of ${total}`;
      io.err(`${toPrintableLine(message === undefined ? share : `${share}: ${message}`)}\n`);
    },
  });
  if (options.json === true) io.out(`${JSON.stringify(result)}\n`);
  else (result.isError ? io.err : io.out)(`${toPrintable(toToolOutput(result).content)}\n`);
  return result.isError ? exitCodes.failed : exitCodes.ok;
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
