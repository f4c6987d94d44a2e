import { toHarmless } from '../config/config.ts';
import { defaultConfig } from '../config/schema.ts';
import { listValues, type NamedLayer, toToml } from '../config/show.ts';
import { toShownPath } from '../store/paths.ts';
import { toPrintable, toPrintableLine } from '../telemetry/printable.ts';
import { type ExitCode, exitCodes } from './failure.ts';
import type { CliIo } from './io.ts';
import type { CommonOptions } from './command.ts';
import { openProject } from './project.ts';

/** `vibe-bus config show`: valid TOML, each value with its source as a comment; secrets are masked. */
export async function showConfig(
  io: CliIo,
  options: CommonOptions & { readonly default?: boolean },
): Promise<ExitCode> {
  if (options.default === true) {
    const values = listValues([{ source: 'default', config: defaultConfig }]);
    io.out(options.json === true ? toJson(values, []) : toToml(values, () => ''));
    return exitCodes.ok;
  }
  const { layers, ignored } = await readLayers(io, options);
  const values = listValues(layers);
  if (options.json === true) {
    io.out(toJson(values, ignored));
    return exitCodes.ok;
  }
  const notes = ignored.map((name) => `# not trusted, ignored: ${toPrintableLine(name)} (\`vibe-bus trust\`)\n`);
  io.out(toPrintable(notes.join('') + toToml(values, (value) => value.sources.join(' + '))));
  return exitCodes.ok;
}

async function readLayers(
  io: CliIo,
  options: CommonOptions,
): Promise<{ readonly layers: readonly NamedLayer[]; readonly ignored: readonly string[] }> {
  const project = await openProject(io, options);
  const files = project.loaded.layers.map((layer) => ({
    source: toShownPath(layer.file, io.env),
    config: layer.from === 'project' && !project.isTrusted ? toHarmless(layer.config) : layer.config,
  }));
  // agent-runtime section 15: the built-in providers are there only when no provider is configured at all
  const hasProviders = files.some(({ config }) => config.providers !== undefined);
  const { providers, ...defaults } = defaultConfig;
  const base = hasProviders || providers === undefined ? defaults : { ...defaults, providers };
  return {
    layers: [{ source: 'default', config: base }, ...files],
    ignored: project.isTrusted ? [] : project.trust.parts.map((part) => part.name),
  };
}

function toJson(values: ReturnType<typeof listValues>, ignored: readonly string[]): string {
  const shown = values.map(({ name, value, sources }) => ({ name, value, sources }));
  return `${JSON.stringify({ values: shown, ignored })}\n`;
}
