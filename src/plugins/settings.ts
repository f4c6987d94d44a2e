import type { Clock } from '../protocol/deps.ts';
import { EngineError } from '../protocol/error.ts';
import { defaultMaxLineBytes } from '../protocol/lines.ts';
import type { ProgramInfo } from '../protocol/vpp.ts';
import { checkDuration } from '../transport/duration.ts';
import type { Environment, EnvironmentPolicy } from '../transport/environment.ts';
import type { RpcLimits } from '../transport/rpc-peer.ts';
import type { RestartPolicy } from './declaration.ts';

/** Times in milliseconds (plugin-protocol section 3). */
export interface PluginTimeouts {
  /** Every request except `tools/call`. Default 60 000. */
  readonly default: number;
  /** Default 600 000. */
  readonly toolCall: number;
  /** Of each phase of stopping. Default 2 000. */
  readonly shutdownGrace: number;
  /** Between SIGTERM and SIGKILL. Default 500. */
  readonly termGrace: number;
  /** `initialize`. Default: `default`. */
  readonly handshake: number;
  /** `hooks/before_tool`. Default: `default`. */
  readonly hook: number;
  /** All pages of one tool listing. Default 120 000. */
  readonly listing: number;
}

export interface PluginRestart {
  /** For plugins whose declaration says nothing. Default `never`. */
  readonly policy: RestartPolicy;
  /** Restarts until the plugin has stayed up for `stableMs`. Default 3. */
  readonly max: number;
  /** Doubled each time. Default 500 ms. */
  readonly firstDelayMs: number;
  /** Default 10 000 ms. */
  readonly longestDelayMs: number;
  /** Default 60 000 ms. */
  readonly stableMs: number;
}

export interface FloodLimits {
  /** Lines at once. */
  readonly burst: number;
  /** And then. */
  readonly perSecond: number;
}

/** The figures of plugin-protocol section 16, each with the default given there. */
export interface PluginHostSettings {
  readonly host?: ProgramInfo;
  /** What plugins inherit. Default: the environment of this process. */
  readonly environment?: Environment;
  /** Variables the providers read their keys from: no plugin sees them. */
  readonly secretNames?: Iterable<string>;
  /** Default `inherit`. */
  readonly envPolicy?: EnvironmentPolicy;
  /** Tell plugins about calls that were given up. Default true. */
  readonly cancel?: boolean;
  readonly timeouts?: Partial<PluginTimeouts>;
  readonly restart?: Partial<PluginRestart>;
  /** Default 16 MiB, without the newline. */
  readonly maxLineBytes?: number;
  readonly limits?: Partial<Omit<RpcLimits, 'maxLineBytes'>>;
  /** Default 200 lines, then 100 a second. */
  readonly stderr?: Partial<FloodLimits>;
  /** `log` notifications. Default 1 000, then 200 a second. */
  readonly logs?: Partial<FloodLimits>;
  /** Default 100. */
  readonly maxPages?: number;
  /** Progress of a call restarts its clock, up to three times its limit. Default false. */
  readonly resetTimeoutOnProgress?: boolean;
  readonly clock?: Pick<Clock, 'elapsed'>;
}

/** The settings with every figure filled in. */
export interface ResolvedSettings {
  readonly host: ProgramInfo;
  readonly environment: Environment;
  readonly secretNames: readonly string[];
  readonly envPolicy: EnvironmentPolicy;
  readonly cancel: boolean;
  readonly timeouts: PluginTimeouts;
  readonly restart: PluginRestart;
  readonly limits: RpcLimits;
  readonly stderr: FloodLimits;
  readonly logs: FloodLimits;
  readonly maxPages: number;
  readonly resetTimeoutOnProgress: boolean;
  readonly elapsed: () => number;
}

/** @throws EngineError `config` for a figure that cannot be meant */
export function resolveSettings(settings: PluginHostSettings, program: () => ProgramInfo): ResolvedSettings {
  const { timeouts = {}, restart = {}, limits = {}, stderr = {}, logs = {} } = settings;
  const base = checkDuration('timeouts.default', timeouts.default ?? 60_000);
  const time = (name: keyof PluginTimeouts, fallback: number): number =>
    checkDuration(`timeouts.${name}`, timeouts[name] ?? fallback);
  const clock = settings.clock;
  return {
    host: settings.host ?? program(),
    environment: settings.environment ?? process.env,
    secretNames: [...(settings.secretNames ?? [])],
    envPolicy: settings.envPolicy ?? 'inherit',
    cancel: settings.cancel ?? true,
    timeouts: {
      default: base,
      toolCall: time('toolCall', 600_000),
      shutdownGrace: time('shutdownGrace', 2_000),
      termGrace: time('termGrace', 500),
      handshake: time('handshake', base),
      hook: time('hook', base),
      listing: time('listing', 120_000),
    },
    restart: {
      policy: restart.policy ?? 'never',
      max: checkCount('restart.max', restart.max ?? 3, 0),
      firstDelayMs: checkDuration('restart.firstDelayMs', restart.firstDelayMs ?? 500),
      longestDelayMs: checkDuration('restart.longestDelayMs', restart.longestDelayMs ?? 10_000),
      stableMs: checkDuration('restart.stableMs', restart.stableMs ?? 60_000),
    },
    limits: {
      maxLineBytes: checkCount('maxLineBytes', settings.maxLineBytes ?? defaultMaxLineBytes),
      maxQueuedBytes: checkCount('limits.maxQueuedBytes', limits.maxQueuedBytes ?? 64 * 1024 * 1024),
      stallMs: checkDuration('limits.stallMs', limits.stallMs ?? 60_000),
      maxQueuedAnswers: checkCount('limits.maxQueuedAnswers', limits.maxQueuedAnswers ?? 64),
      invalidLinesPerMinute: checkCount('limits.invalidLinesPerMinute', limits.invalidLinesPerMinute ?? 20),
      ignoredPerMinute: checkCount('limits.ignoredPerMinute', limits.ignoredPerMinute ?? 60),
    },
    stderr: checkFlood('stderr', { burst: stderr.burst ?? 200, perSecond: stderr.perSecond ?? 100 }),
    logs: checkFlood('logs', { burst: logs.burst ?? 1_000, perSecond: logs.perSecond ?? 200 }),
    maxPages: checkCount('maxPages', settings.maxPages ?? 100),
    resetTimeoutOnProgress: settings.resetTimeoutOnProgress ?? false,
    elapsed: clock === undefined ? () => performance.now() : () => clock.elapsed(),
  };
}

function checkFlood(name: string, limits: FloodLimits): FloodLimits {
  checkCount(`${name}.burst`, limits.burst);
  if (!(Number.isFinite(limits.perSecond) && limits.perSecond > 0)) {
    throw new EngineError('config', `\`${name}.perSecond\` must be a number above 0`);
  }
  return limits;
}

function checkCount(name: string, value: unknown, least = 1): number {
  // why: a longer text than this cannot be held in one string
  const most = 256 * 1024 * 1024;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most) {
    throw new EngineError('config', `\`${name}\` must be an integer from ${least} to ${most}`);
  }
  return value;
}
