import type { Contender } from '../measure.ts';

/** Many runs at once, each a few steps of parallel trivial calls: what a server that holds many conversations does. */
export interface Crowd {
  readonly runs: number;
  readonly steps: number;
  /** Of every step but the last. */
  readonly calls: number;
}

/** A crowd that can be held up at any step. An operation is a step of one run. */
export interface CrowdContender extends Contender {
  readonly gate: Gate;
  /** What every run of one go holds at its end; thrown away by the next. */
  close(): Promise<void>;
}

/** What every model of the crowd passes before it answers. */
export interface Gate {
  /** Nothing while the gate lets this step through. */
  pass(step: number): Promise<void> | undefined;
  /** Holds up all who come to this step, or to one after it. */
  shut(step: number): void;
  open(): void;
  /** Resolves when so many wait. */
  arrived(count: number): Promise<void>;
}

export function createGate(): Gate {
  let wait: Promise<void> | undefined;
  let open: () => void = () => {};
  let from = 0;
  let waiting = 0;
  let wanted = Number.POSITIVE_INFINITY;
  let tell: () => void = () => {};
  return {
    pass(step) {
      if (wait === undefined || step < from) return undefined;
      waiting += 1;
      if (waiting >= wanted) tell();
      return wait;
    },
    shut(step) {
      from = step;
      waiting = 0;
      wanted = Number.POSITIVE_INFINITY;
      wait = new Promise((resolve) => (open = resolve));
    },
    open() {
      wait = undefined;
      open();
    },
    arrived(count) {
      wanted = count;
      return waiting >= count ? Promise.resolve() : new Promise((resolve) => (tell = resolve));
    },
  };
}

/** Runs `start` for every run of the crowd at once, `count` times over. */
export function toCrowdRun(crowd: Crowd, start: () => Promise<void>): (count: number) => Promise<void> {
  return async (count) => {
    for (let index = 0; index < count; index += 1) await Promise.all(Array.from({ length: crowd.runs }, start));
  };
}

/** Numbers from 0 on, one for each call of a step. */
export function callsOf(crowd: Crowd): readonly number[] {
  return Array.from({ length: crowd.calls }, (_, index) => index);
}
