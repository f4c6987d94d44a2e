import type { Logger } from '../protocol/deps.ts';
import type { McpSandboxState, McpServerRecord } from '../protocol/mcp.ts';
import type { ServerCommand } from './command.ts';
import { mcpError } from './errors.ts';

/** Why a server runs unconfined (closed list: it is logged). */
export type UnconfinedReason =
  | 'switched_off'
  | 'backend_missing'
  | 'namespaces_forbidden'
  | 'bind_target_missing'
  | 'start_failed'
  | 'unsupported_platform';

export type SandboxPlan =
  | { readonly kind: 'confined'; readonly backend: 'bwrap' | 'sandbox-exec'; readonly command: ServerCommand }
  | { readonly kind: 'unconfined'; readonly reason: UnconfinedReason };

export interface SandboxNeeds {
  /** Server and tenant have a writable folder of their own; without a tenant it is the shared one. */
  readonly server: string;
  readonly tenant?: string;
  /** Extra absolute paths it may see. */
  readonly read: readonly string[];
  readonly write: readonly string[];
}

/** Confines commands. Given to the host by whoever knows the platform's means. */
export interface Sandbox {
  /** The command line that runs `command` confined. */
  plan(command: ServerCommand, extra: SandboxNeeds): Promise<SandboxPlan>;
  /** Whether a confined program ended because the confinement itself failed, before the program ran. */
  failedToStart(exit: { readonly exit_code: number | null; readonly stderr_tail: readonly string[] }): boolean;
  /** Removes what a server keeps: a later one of its name begins with nothing. */
  forget(server: string): Promise<void>;
}

export interface ConfinedCommand {
  readonly command: ServerCommand;
  readonly state: McpSandboxState;
}

/**
 * Decides how a server starts (mcp-host 13.5): confined when possible, unconfined with a log line when not, not at all
 * when its record requires confinement.
 * @throws EngineError `sandbox_required`
 */
export async function confine(
  record: McpServerRecord,
  command: ServerCommand,
  deps: { readonly sandbox?: Sandbox; readonly tenant?: string; readonly logger: Logger },
): Promise<ConfinedCommand> {
  const { sandbox, tenant, logger } = deps;
  const plan: SandboxPlan =
    sandbox === undefined
      ? { kind: 'unconfined', reason: 'switched_off' }
      : await sandbox.plan(command, {
          server: record.name,
          ...(tenant === undefined ? {} : { tenant }),
          ...record.sandbox,
        });
  if (plan.kind === 'confined') return { command: plan.command, state: plan.backend };
  return runUnconfined(record, command, plan.reason, logger);
}

/** @throws EngineError `sandbox_required` when the record does not allow it */
export function runUnconfined(
  record: McpServerRecord,
  command: ServerCommand,
  reason: UnconfinedReason,
  logger: Logger,
): ConfinedCommand {
  const fields = { server_name: record.name, reason };
  if (record.requires_sandbox) {
    logger.error('mcp.sandbox.refused', fields);
    const shown = reason.replaceAll('_', ' ');
    throw mcpError('sandbox_required', `Refused: this server must run sandboxed and the sandbox is ${shown}.`);
  }
  if (reason === 'switched_off') {
    logger.info('mcp.sandbox.off', fields);
    return { command, state: 'off' };
  }
  logger.warn('mcp.sandbox.fallback', fields);
  return { command, state: 'unavailable' };
}
