import type { PluginRecord } from '../protocol/vpp.ts';
import { type NativeContributions, type NativePlugin, toNativeRecord } from './native.ts';
import type { PluginSlot, SlotState } from './plugin-slot.ts';

/** What a listing shows of one plugin. */
export interface PluginStatus {
  readonly name: string;
  readonly state: SlotState | 'native';
  /** The manifest, or undefined for an inline declaration. */
  readonly source: string | undefined;
  readonly record: PluginRecord | undefined;
  readonly agents: readonly string[];
  readonly restarts: number;
  readonly lastError: string | undefined;
  readonly pid: number | undefined;
  readonly pending: number;
}

export function toStatus(slot: PluginSlot): PluginStatus {
  const { connection, declaration } = slot;
  return {
    name: declaration.name,
    state: slot.state,
    source: declaration.source,
    record: slot.record(),
    agents: (connection?.agents ?? []).map((agent) => agent.role),
    restarts: slot.restarts,
    lastError: slot.lastError,
    pid: slot.state === 'ready' ? connection?.pid : undefined,
    pending: connection?.pendingCount ?? 0,
  };
}

/** The same of one that lives in this process. */
export function toNativeStatus(plugin: NativePlugin, contributions: NativeContributions): PluginStatus {
  return {
    name: plugin.name,
    state: 'native',
    source: undefined,
    record: toNativeRecord(plugin, contributions),
    agents: contributions.agents.map((agent) => agent.role),
    restarts: 0,
    lastError: undefined,
    pid: undefined,
    pending: 0,
  };
}
