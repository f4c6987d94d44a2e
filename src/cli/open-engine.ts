import { createEngine, type Engine } from '../engine.ts';
import type { EngineOptions } from '../engine/options.ts';
import type { Logger } from '../protocol/deps.ts';
import { createLogger } from '../telemetry/logger.ts';
import { toPrintableLine } from '../telemetry/printable.ts';
import type { ExitCode } from './failure.ts';
import { takeInterrupts } from './interrupts.ts';
import type { CliIo } from './io.ts';
import type { CommonOptions } from './command.ts';
import { openProject, type Project } from './project.ts';
import { decideTrust } from './trust.ts';

/** The logger of a command. Events are shown anyway, so without `VIBE_LOG` only what is wrong is logged. */
export function openLogger(io: CliIo): Logger {
  const filter = io.env['VIBE_LOG'];
  return createLogger({
    filter: filter === undefined || filter === '' ? 'warn' : filter,
    format: io.env['VIBE_LOG_FORMAT'] === 'json' ? 'json' : 'text',
    write: io.err,
  });
}

/**
 * An engine for a project as a command uses it. A start that takes long and a plugin that does not start are said on
 * standard error.
 * @throws EngineError as `createEngine`
 */
export async function openEngine(
  io: CliIo,
  project: Project,
  isTrusted: boolean,
  options: EngineOptions = {},
): Promise<Engine> {
  using _notice = sayWhenSlow(io);
  const engine = await createEngine({
    root: project.root,
    ...(project.configDir === undefined ? {} : { configDir: project.configDir }),
    trust: isTrusted,
    logger: openLogger(io),
    env: { ...io.env },
    ...options,
  });
  for (const plugin of engine.plugins.status().filter(({ state }) => state === 'failed')) {
    const name = toPrintableLine(plugin.name);
    io.err(`going on without plugin \`${name}\`; try it alone with \`vibe-bus plugins test ${name}\`\n`);
  }
  return engine;
}

/** Waits until every server that belongs to the start is connected or has failed, and says so when that takes long. */
export async function waitForServers(io: CliIo, engine: Engine): Promise<void> {
  using _notice = sayWhenSlow(io);
  await engine.mcp.ready();
}

function sayWhenSlow(io: CliIo): Disposable {
  const timer = setTimeout(() => io.err('Waiting for plugins and servers to start. Ctrl-C stops.\n'), 3_000);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

/** Opens an engine for a listing, hands it to `work` and closes it, also on Ctrl-C. */
export async function withEngine(
  io: CliIo,
  options: CommonOptions,
  work: (engine: Engine, project: Project) => ExitCode | Promise<ExitCode>,
): Promise<ExitCode> {
  const project = await openProject(io, options);
  using _interrupts = takeInterrupts(io);
  const isTrusted = await decideTrust(io, project);
  await using engine = await openEngine(io, project, isTrusted);
  return await work(engine, { ...project, isTrusted });
}
