import type { Logger } from '../protocol/deps.ts';
import { codeOf } from './errors.ts';

/** What was seen (and so accepted) before, by id: tool definitions and the way servers are started (MP8). */
export interface Pins {
  /** With approvals on, what changed is not used until it is approved. */
  readonly isStrict: boolean;
  check(id: string, hash: string): 'new' | 'same' | 'changed';
  /** From now on this is the known form. Written in the background; `flush` waits for it. */
  accept(id: string, hash: string): void;
  flush(): Promise<void>;
}

export interface PinStore {
  definitions(): Promise<ReadonlyMap<string, string>>;
  /** @throws EngineError `storage`, `config` */
  approve(entries: ReadonlyMap<string, string>): Promise<void>;
}

/** Reads what is known. `store` absent: only this engine's lifetime counts. */
export async function openPins(store: PinStore | undefined, isStrict: boolean, logger: Logger): Promise<Pins> {
  const known = new Map(await store?.definitions());
  let unsaved = new Map<string, string>();
  let saving: Promise<void> = Promise.resolve();

  async function save(): Promise<void> {
    if (store === undefined || unsaved.size === 0) return;
    const batch = unsaved;
    unsaved = new Map();
    try {
      await store.approve(batch);
    } catch (error) {
      // why: losing it means that the next engine takes the form it sees for new, which it is told by this line
      logger.warn('mcp.registry.unwritable', { error_code: codeOf(error) });
    }
  }

  return {
    isStrict,
    check(id, hash) {
      const held = known.get(id);
      return held === undefined ? 'new' : held === hash ? 'same' : 'changed';
    },
    accept(id, hash) {
      if (known.get(id) === hash) return;
      known.set(id, hash);
      // why: a server's tools are accepted one after the other in one tick, and one write holds them all
      if (unsaved.size === 0) saving = saving.then(save);
      unsaved.set(id, hash);
    },
    flush: () => saving,
  };
}
