import type { McpServerRecord } from '../protocol/mcp.ts';
import type { McpConnection } from './connection.ts';
import type { ServerSlot } from './server-slot.ts';
import type { ToolShelf } from './tool-shelf.ts';

/** A server in use: its connections and its tools. */
export interface Place {
  /** The connection everyone shares; its lists are the server's lists. */
  readonly slot: ServerSlot;
  readonly shelf: ToolShelf;
  /** The living connection of a tenant, the shared one without a tenant. */
  connection(signal: AbortSignal | undefined, tenant: string | undefined): Promise<McpConnection>;
  setRecord(record: McpServerRecord): void;
  /** Forgets what the connections have listed. */
  dropLists(): void;
  disconnect(): Promise<void>;
  stop(): Promise<void>;
}

/** @param openSlot makes the slot of a tenant, or without one the shared slot, whose lists are the server's */
export function createPlace(openSlot: (tenant?: string) => ServerSlot, shelf: ToolShelf): Place {
  const slot = openSlot();
  const tenants = new Map<string, ServerSlot>();

  function slotOf(tenant: string | undefined): ServerSlot {
    if (tenant === undefined) return slot;
    const own = tenants.get(tenant) ?? openSlot(tenant);
    tenants.set(tenant, own);
    return own;
  }

  function all(): readonly ServerSlot[] {
    return [slot, ...tenants.values()];
  }

  return {
    slot,
    shelf,
    connection: (signal, tenant) => slotOf(tenant).connection(signal),
    setRecord(record) {
      for (const each of all()) each.setRecord(record);
      shelf.setRecord(record);
    },
    dropLists() {
      for (const each of all()) each.dropLists();
    },
    async disconnect() {
      await Promise.all(all().map((each) => each.disconnect()));
    },
    async stop() {
      await Promise.all(all().map((each) => each.stop()));
    },
  };
}
