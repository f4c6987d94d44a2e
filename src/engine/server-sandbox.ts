import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { createNativeSandbox } from '../mcp/native-sandbox.ts';
import type { Sandbox } from '../mcp/sandbox.ts';
import { userPaths } from '../store/paths.ts';
import { createSandboxProbe, type SandboxProbe } from '../transport/sandbox-probe.ts';

/** The confinement of the MCP servers of one engine. */
export interface ServerSandbox {
  readonly sandbox: Sandbox;
  /** Removes the servers' folders when they were for this engine only. Call when the servers have ended. */
  close(): Promise<void>;
}

/**
 * Servers keep their writable folders in the user's folder, so that a package runner does not fetch its packages at every
 * start; without a user's folder they last as long as the engine.
 */
export function openServerSandbox(deps: {
  readonly probe: SandboxProbe;
  readonly configDir: string | undefined;
  readonly env: NodeJS.ProcessEnv;
}): ServerSandbox {
  const { probe, configDir, env } = deps;
  const temporary = configDir === undefined ? path.join(tmpdir(), `vibe-bus-${randomUUID()}`) : undefined;
  const scratchRoot = temporary ?? userPaths(configDir ?? '').scratch;
  return {
    sandbox: createNativeSandbox({ probe, scratchRoot, home: homedir(), env }),
    async close() {
      if (temporary !== undefined) await rm(temporary, { recursive: true, force: true });
    },
  };
}

/** What the system allows, found out once for servers and commands of an engine. */
export function openSandboxProbe(env: NodeJS.ProcessEnv): SandboxProbe {
  const present = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return createSandboxProbe({ platform: process.platform, env: Object.fromEntries(present) });
}
