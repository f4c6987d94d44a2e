import { openServerSandbox, openSandboxProbe } from '../engine/server-sandbox.ts';
import type { McpHost } from '../mcp/host-options.ts';
import { createMcpHost } from '../mcp/host.ts';
import { ownProgram } from '../plugins/program.ts';
import { forgetfulRegistry } from '../protocol/contributions.ts';
import { EngineError } from '../protocol/error.ts';
import type { McpServerInfo } from '../protocol/mcp.ts';
import { systemClock } from '../protocol/signal.ts';
import { createUserSecrets } from '../store/user-secrets.ts';
import { UsageError } from './failure.ts';
import type { CliIo } from './io.ts';
import { openLogger } from './open-engine.ts';
import type { Project } from './project.ts';
import { decideTrust } from './trust.ts';

/** The MCP servers of a project and its user, without an engine. None is started before it is used. */
export interface McpSession extends AsyncDisposable {
  readonly mcp: McpHost;
}

/** @param isTrusted whether the project's own servers may be used */
export async function openMcpSession(io: CliIo, project: Project, isTrusted: boolean): Promise<McpSession> {
  const { configDir } = project;
  const confinement = openServerSandbox({ probe: openSandboxProbe({ ...io.env }), configDir, env: { ...io.env } });
  // the failure itself is shown
  const logger = { ...openLogger(io), warn: () => {} };
  const secrets =
    configDir === undefined ? undefined : createUserSecrets({ configDir, env: io.env, clock: systemClock, logger });
  const mcp = createMcpHost({
    registry: forgetfulRegistry,
    publish: () => {},
    logger,
    clock: systemClock,
    version: ownProgram().version,
    projectRoot: project.root,
    ...(configDir === undefined ? {} : { configDir }),
    ...(secrets === undefined ? {} : { secrets }),
    trusted: isTrusted,
    env: io.env,
    sandbox: confinement.sandbox,
    startsEager: false,
  });
  await mcp.start();
  return {
    mcp,
    async [Symbol.asyncDispose]() {
      await mcp.stop();
      await confinement.close();
      await secrets?.close();
    },
  };
}

/**
 * The servers of a project, one of which is to be used; a server of the project asks for trust first.
 * @throws UsageError when there is none of that name; EngineError for one that cannot be used
 */
export async function openServer(io: CliIo, project: Project, name: string): Promise<McpSession> {
  const session = await openMcpSession(io, project, project.isTrusted);
  const found = findServer(session.mcp.servers(), name);
  if (found?.state !== 'needs_trust') {
    if (found !== undefined) return session;
    const known = session.mcp.servers().map((server) => server.name);
    await session[Symbol.asyncDispose]();
    throw new UsageError(`there is no MCP server \`${name}\`; configured: ${[...new Set(known)].join(', ') || 'none'}`);
  }
  await session[Symbol.asyncDispose]();
  if (await decideTrust(io, project)) return await openMcpSession(io, project, true);
  throw new EngineError('config', `MCP server \`${name}\` belongs to a project that is not trusted yet`, {
    code: 'untrusted',
  });
}

function findServer(servers: readonly McpServerInfo[], name: string): McpServerInfo | undefined {
  return servers.find((server) => server.name === name && server.state !== 'shadowed');
}
