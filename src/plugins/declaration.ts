import type { EnvironmentPolicy } from '../transport/environment.ts';
import type { ServeStreams } from '../transport/memory-child.ts';

/** Whether a plugin that fails after it was ready is started again. */
export type RestartPolicy = 'never' | 'on-failure';
export const restartPolicies: readonly RestartPolicy[] = ['never', 'on-failure'];

/** A plugin to start: inline configuration or a manifest (plugin-protocol section 12). */
export interface PluginDeclaration {
  /** Not trimmed; stands in every message, whatever the plugin calls itself. */
  readonly name: string;
  /** Program and arguments, verbatim. */
  readonly command: readonly string[];
  /** In place of a program: speaks VPP over these streams, in this process. For tests (`inMemoryPlugin`). */
  readonly serve?: ServeStreams | undefined;
  /** Added to what the plugin inherits, literally. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Default: the project root; a relative one starts there. */
  readonly cwd?: string | undefined;
  /** Default false: a plugin that does not start is skipped with a warning. */
  readonly required?: boolean | undefined;
  /** Informational; the handshake decides. */
  readonly capabilities?: readonly string[] | undefined;
  readonly version?: string | undefined;
  readonly description?: string | undefined;
  /** Default: the host's setting, as for the next two. */
  readonly restart?: RestartPolicy | undefined;
  readonly env_policy?: EnvironmentPolicy | undefined;
  /** Whether the plugin is told of calls that were given up. */
  readonly cancel?: boolean | undefined;
  /** The manifest it was read from. */
  readonly source?: string | undefined;
}
