import { isEngineError } from '../protocol/error.ts';
import { openChild } from './child.ts';
import { type SandboxBackend, type SandboxLine, toConfinedLine } from './sandbox.ts';
import type { SandboxProfile } from './sandbox-profile.ts';

/** Why nothing can be confined here; the words are those of the log line `mcp.sandbox.fallback`. */
export type SandboxProblem =
  | 'backend_missing'
  | 'namespaces_forbidden'
  | 'bind_target_missing'
  | 'start_failed'
  | 'unsupported_platform';

export type SandboxAvailability =
  | { readonly isAvailable: true; readonly backend: SandboxBackend }
  | { readonly isAvailable: false; readonly problem: SandboxProblem; readonly detail: string };

export interface SandboxProbe {
  /** The answer for one kind of profile; found out at the first question, by running `true` in that profile. */
  check(kind: 'server' | 'command', profile: SandboxProfile): Promise<SandboxAvailability>;
}

export interface SandboxProbeOptions {
  readonly platform: NodeJS.Platform;
  /** Environment in which the backend is looked for. */
  readonly env: Readonly<Record<string, string>>;
}

/** One for each engine: what the system allows does not change while it runs. A version check would prove nothing. */
export function createSandboxProbe(options: SandboxProbeOptions): SandboxProbe {
  const answers = new Map<string, Promise<SandboxAvailability>>();
  return {
    check: (kind, profile) => {
      const known = answers.get(kind);
      if (known !== undefined) return known;
      const answer = runProbe(profile, options);
      answers.set(kind, answer);
      return answer;
    },
  };
}

/** How long the trial may take, in milliseconds; it needs about 10. */
const limitMs = 10_000;

async function runProbe(profile: SandboxProfile, { platform, env }: SandboxProbeOptions): Promise<SandboxAvailability> {
  const backend = platform === 'linux' ? 'bwrap' : platform === 'darwin' ? 'sandbox-exec' : undefined;
  if (backend === undefined) {
    return { isAvailable: false, problem: 'unsupported_platform', detail: `no confinement on ${platform}` };
  }
  const line = toConfinedLine(backend, profile, { program: '/usr/bin/true', args: [] });
  try {
    const { code, stderr } = await runLine(line, env);
    if (code === 0) return { isAvailable: true, backend };
    return { isAvailable: false, problem: toProblem(stderr), detail: stderr.at(-1) ?? `exit code ${code ?? 'none'}` };
  } catch (error) {
    if (!isEngineError(error)) throw error;
    return { isAvailable: false, problem: 'backend_missing', detail: error.message };
  }
}

async function runLine(
  line: SandboxLine,
  env: Readonly<Record<string, string>>,
): Promise<{ code: number | null; stderr: readonly string[] }> {
  const child = await openChild({ ...line, cwd: '/', env });
  child.stdin.end();
  child.stdout.resume();
  const timer = setTimeout(() => child.kill(), limitMs);
  try {
    const { code } = await child.closed;
    return { code, stderr: child.stderrTail() };
  } finally {
    clearTimeout(timer);
  }
}

function toProblem(stderr: readonly string[]): SandboxProblem {
  const text = stderr.join('\n');
  if (/no permissions|namespace|uid_?map|user\.max|operation not permitted|mount proc/i.test(text))
    return 'namespaces_forbidden';
  return /can't (?:find source path|bind|mkdir|create|get type)|no such file/i.test(text)
    ? 'bind_target_missing'
    : 'start_failed';
}
