import { type ExitCode, exitCodes } from './failure.ts';
import type { CliIo } from './io.ts';
import { waitForServers, withEngine } from './open-engine.ts';
import { describePlace } from './places.ts';
import type { CommonOptions } from './command.ts';
import { toTable } from './table.ts';

/** `vibe-bus tools`: what agents of this project can be offered, and where each runs. */
export async function listTools(io: CliIo, options: CommonOptions): Promise<ExitCode> {
  return await withEngine(io, options, async (engine) => {
    await waitForServers(io, engine);
    const tools = engine.tools.list();
    if (options.json === true) {
      const shown = tools.map((tool) => ({
        name: tool.name,
        description: tool.description,
        is_mutating: tool.is_mutating === true,
        runs_in: tool.runs_in ?? 'main',
        owner: tool.owner ?? null,
        input_schema: tool.input_schema,
      }));
      io.out(`${JSON.stringify(shown)}\n`);
    } else {
      const rows = tools.map((tool) => [
        tool.name,
        tool.is_mutating === true ? 'changes things' : 'reads only',
        describePlace(tool),
        tool.description.split(/(?<=[.:])\s/)[0] ?? '',
      ]);
      io.out(toTable(rows));
    }
    return exitCodes.ok;
  });
}
