import type { Config } from '../config/schema.ts';
import type { Logger } from '../protocol/deps.ts';
import type { Tool } from '../protocol/tool.ts';
import { createBuiltinTools } from '../tools/builtin.ts';
import { checkCommand } from '../tools/shell-policy.ts';
import { toPooledTool } from '../workers/pooled-tool.ts';
import type { SandboxProbe } from '../transport/sandbox-probe.ts';
import { createToolPool, type ToolPool } from '../workers/tool-pool.ts';
import { createConfinement } from './confinement.ts';
import type { EngineOptions } from './options.ts';

/** The tool threads of an engine, and the tools it comes with. */
export interface EngineTools {
  /** A tool with its calls on the pool where it may run there, else the tool itself. */
  place(tool: Tool): Tool;
  readonly builtin: readonly Tool[];
  readonly pool: () => ToolPool | undefined;
  close(): Promise<void>;
}

export function createEngineTools(
  options: EngineOptions,
  config: Config,
  deps: {
    readonly logger: Logger;
    readonly env: NodeJS.ProcessEnv;
    readonly secretNames: readonly string[];
    readonly probe: SandboxProbe;
    /** The user's folder: tools never write there, wherever the workspace lies. */
    readonly configDir: string | undefined;
  },
): EngineTools {
  const security = config.security ?? {};
  let pool: ToolPool | undefined;

  // why: an engine whose tools all live on the main thread starts no thread; any other starts two, so that the first two
  // calls of a step overlap
  function openPool(): ToolPool {
    const threads = options.toolThreads ?? config.limits?.tool_threads;
    const callsPerRun = options.toolThreadsPerRun ?? config.limits?.tool_threads_per_run;
    return (pool ??= createToolPool({ logger: deps.logger, threads, minThreads: 2, callsPerRun }));
  }

  return {
    place: (tool) => (tool.worker === undefined || tool.is_mutating === true ? tool : toPooledTool(tool, openPool())),
    builtin:
      options.bare === true
        ? []
        : createBuiltinTools({
            bash: {
              checkCommand: (command, { network, ...place }) =>
                checkCommand(command, {
                  ...place,
                  network: network || security.allow_network === true,
                  config: security,
                }),
              ...createConfinement(security, deps),
              env: deps.env,
              secretNames: deps.secretNames,
              ...(security.command_timeout_secs === undefined ? {} : { timeoutSecs: security.command_timeout_secs }),
            },
            ...(options.searchEndpoint === undefined ? {} : { searchEndpoint: options.searchEndpoint }),
            ...(options.webDomains === undefined ? {} : { web: { allowedDomains: options.webDomains } }),
            ...(deps.configDir === undefined ? {} : { protectedFolders: [deps.configDir] }),
          }),
    pool: () => pool,
    close: async () => await pool?.close(),
  };
}
