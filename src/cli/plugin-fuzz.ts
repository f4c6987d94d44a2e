import { fuzzPlugin } from '../plugins/fault-kit.ts';
import { toPrintableLine } from '../telemetry/printable.ts';
import { type ExitCode, exitCodes, UsageError } from './failure.ts';
import { takeInterrupts } from './interrupts.ts';
import type { CliIo } from './io.ts';
import { choosePlugin } from './plugin-choice.ts';
import { secretNames } from './plugin-session.ts';
import type { FuzzFlags } from './program.ts';
import { openProject } from './project.ts';

const marks = { survived: 'ok  ', failed: 'FAIL', skipped: 'skip' } as const;

/** `vibe-bus plugins fuzz <name>`: one line for each thing that was done to the plugin; 1 when it did something wrong. */
export async function fuzzCommand(io: CliIo, name: string, options: FuzzFlags): Promise<ExitCode> {
  const { tool, input, only, timeout } = options;
  if (input !== undefined && tool === undefined) throw new UsageError('`--input` needs `--tool`');
  const project = await openProject(io, options);
  const plugin = await choosePlugin(io, project, name);
  using _interrupts = takeInterrupts(io);
  const results = await fuzzPlugin(plugin, {
    projectRoot: project.root,
    environment: io.env,
    secretNames: secretNames(project),
    ...(tool === undefined ? {} : { tool: { name: tool, ...(input === undefined ? {} : { input }) } }),
    ...(only === undefined ? {} : { only }),
    ...(timeout === undefined ? {} : { timeoutMs: timeout * 1_000 }),
    onResult({ name: title, outcome, detail }) {
      if (options.json === true) return;
      const told = detail === undefined ? '' : `: ${detail}`;
      io.out(`${toPrintableLine(`${marks[outcome]}  ${title}${told}`)}\n`);
    },
  });
  const failed = results.filter((result) => result.outcome === 'failed').length;
  if (options.json === true) io.out(`${JSON.stringify({ name, failed, cases: results })}\n`);
  else io.out(failed === 0 ? `plugin ${name} survived\n` : `plugin ${name} failed ${failed} of ${results.length}\n`);
  return failed === 0 ? exitCodes.ok : exitCodes.failed;
}
