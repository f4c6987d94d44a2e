import path from 'node:path';
import { ownMcpConnection } from '../actors/mcp-actor.ts';
import { ownPluginConnection } from '../actors/plugin-actor.ts';
import type { Supervisor } from '../actors/supervisor.ts';
import type { Bus } from '../bus/bus.ts';
import { openMcpConnection } from '../mcp/connect.ts';
import type { McpHost } from '../mcp/host-options.ts';
import { createMcpHost } from '../mcp/host.ts';
import { killStrays } from '../mcp/stray-processes.ts';
import { discoverPlugins } from '../plugins/discovery.ts';
import { createPluginHost, type PluginHost } from '../plugins/host.ts';
import { ownProgram } from '../plugins/program.ts';
import type { PluginRegistry } from '../plugins/tool-placement.ts';
import type { Clock, Logger } from '../protocol/deps.ts';
import { projectPaths, userPaths } from '../store/paths.ts';
import { createUserSecrets } from '../store/user-secrets.ts';
import { processStartTime } from '../store/process-identity.ts';
import type { SandboxProbe } from '../transport/sandbox-probe.ts';
import { openProcessLedger, type ProcessLedger, reapSurvivors } from '../transport/process-ledger.ts';
import type { EngineOptions } from './options.ts';
import { openServerSandbox } from './server-sandbox.ts';
import type { EngineSetup } from './setup.ts';

/** The other processes of an engine: plugins and MCP servers, and the list of them on disk. */
export interface Hosts {
  readonly plugins: PluginHost;
  readonly mcp: McpHost;
  /** Starts what is declared. @throws EngineError `plugin` when a required plugin does not start */
  start(): Promise<void>;
  /** Ends all of them; none is left when this settles. */
  stop(): Promise<void>;
}

export interface HostsDeps {
  readonly bus: Bus;
  readonly registry: PluginRegistry;
  readonly supervisor: Supervisor;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly env: NodeJS.ProcessEnv;
  /** Variables the providers read keys from: no child sees them. */
  readonly secretNames: readonly string[];
  /** What the system allows for confining programs. */
  readonly probe: SandboxProbe;
}

export async function openHosts(options: EngineOptions, setup: EngineSetup, deps: HostsDeps): Promise<Hosts> {
  const { bus, registry, supervisor, clock, logger, env } = deps;
  const { root, configDir } = setup;
  const ledger = await openLedger(setup, options, logger);
  const plugins = createPluginHost({
    ...options.pluginSettings,
    registry,
    logger,
    publish: bus.publish,
    projectRoot: root,
    environment: env,
    secretNames: deps.secretNames,
    own: (connection) => ownPluginConnection(supervisor, connection),
    ...(ledger === undefined ? {} : { ledger }),
  });
  const confinement = openServerSandbox({ probe: deps.probe, configDir, env });
  const secrets =
    configDir === undefined || options.bare === true ? undefined : createUserSecrets({ configDir, env, clock, logger });
  const mcp = createMcpHost({
    registry,
    publish: bus.publish,
    logger,
    clock,
    version: ownProgram().version,
    projectRoot: root,
    ...(configDir === undefined || options.bare === true ? {} : { configDir }),
    ...(secrets === undefined ? {} : { secrets }),
    trusted: setup.isTrusted && options.bare !== true,
    records: options.mcpServers ?? [],
    ...(ledger === undefined ? {} : { ledger }),
    env,
    sandbox: confinement.sandbox,
    ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
    ...(options.onAuthorization === undefined ? {} : { onAuthorization: options.onAuthorization }),
    ...(options.onElicitation === undefined ? {} : { onElicitation: options.onElicitation }),
    connect: async (record, connectDeps) => ownMcpConnection(supervisor, await openMcpConnection(record, connectDeps)),
  });

  async function start(): Promise<void> {
    for (const plugin of options.nativePlugins ?? []) plugins.addNative(plugin);
    const declarations = await discoverPlugins({
      projectRoot: root,
      inline: [...(options.plugins ?? []), ...(setup.config.plugins ?? [])],
      folders: options.bare === true ? [] : pluginFolders(setup),
      logger,
    });
    await mcp.start();
    await plugins.load(declarations);
  }

  async function stop(): Promise<void> {
    await Promise.all([plugins.stop(), mcp.stop()]);
    await confinement.close();
    await secrets?.close();
    ledger?.close();
  }

  return { plugins, mcp, start, stop };
}

/** A project's own plugins only when it is trusted. */
function pluginFolders(setup: EngineSetup): readonly string[] {
  const user = setup.configDir === undefined ? [] : [userPaths(setup.configDir).plugins];
  return setup.isTrusted ? [path.join(projectPaths(setup.root).dir, 'plugins'), ...user] : user;
}

/** Ends what a killed engine left behind, then keeps a list of its own. A bare engine reads and writes nothing of the user. */
async function openLedger(
  setup: EngineSetup,
  options: EngineOptions,
  logger: Logger,
): Promise<ProcessLedger | undefined> {
  if (setup.configDir === undefined || (options.bare === true && options.configDir === undefined)) return undefined;
  const ledgerDeps = {
    folder: path.join(setup.configDir, 'run'),
    logger,
    startTimeOf: (pid: number) => processStartTime(pid, process.platform),
    endMarked: (marker: string) => killStrays(marker),
  };
  await reapSurvivors(ledgerDeps);
  return await openProcessLedger(ledgerDeps);
}
