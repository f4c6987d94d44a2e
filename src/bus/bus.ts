import { EventEmitter } from 'eventemitter3';
import { z } from 'zod';
import type { Clock, Logger } from '../protocol/deps.ts';
import { EngineError, messageOf } from '../protocol/error.ts';
import { ForgetfulMap } from '../protocol/forgetful-map.ts';
import type { RunId } from '../protocol/ids.ts';
import { createStamper, type Envelope } from './envelope.ts';
import { type BusEvent, createEventSchemas, ephemeralTypes, type EventType } from './events.ts';
import { compileCheck } from './fast-check.ts';
import { createEventStream, type EventStream, type StreamOptions } from './stream.ts';

/** What it returns is of no interest, but a promise that rejects is logged like a throw. */
export type EventListener<T extends EventType = EventType> = (envelope: Envelope<T>) => unknown;

/** What is observed: one event type, everything, or everything of one run. */
export type Topic = EventType | '*' | { readonly run: RunId };

/** One per engine: facts go in, every observer sees the same facts in the same order. */
export interface Bus {
  /**
   * Checks the event against the catalogue, stamps it and shows it to the observers before it returns. The event is frozen
   * and kept: hand over a fresh object. An event published from an observer is delivered after the current one.
   * @throws EngineError `invalid_request` for an event the catalogue does not know
   */
  publish(event: BusEvent): Envelope;
  /** Shows an envelope stamped elsewhere, unchanged. */
  deliver(envelope: Envelope): void;
  /**
   * Observes synchronously; what a listener throws is logged and counted, never propagated.
   * @returns a function that stops observing
   */
  on<T extends EventType>(topic: T, listener: EventListener<T>): () => void;
  on(topic: Topic, listener: EventListener): () => void;
  /** Observes through a bounded queue: a slow reader loses events and is told how many, and never slows a run. */
  stream(options?: StreamOptions): EventStream;
  resumeSequence(run: RunId, last: number): void;
  lastSequence(run: RunId): number;
  /** Forgets the numbering of an ended run. */
  forgetRun(run: RunId): void;
  stats(): BusStats;
}

export interface BusStats {
  readonly published: number;
  /** Times an observer threw. */
  readonly listenerErrors: number;
  readonly listeners: number;
  /** Events lost by slow stream readers. */
  readonly lagged: number;
  /** Events that wait for the slowest stream reader. */
  readonly backlog: number;
}

export function createBus(deps: { readonly clock: Pick<Clock, 'now'>; readonly logger: Logger }): Bus {
  const byType = new EventEmitter<string>();
  // why: an emitter for each run would be a good part of what a waiting run takes; most have one listener
  const byRun = new ForgetfulMap<string, readonly Listener[]>();
  const schemas = createEventSchemas();
  // why: one look-up a publish for everything a type decides
  const plans = new Map(
    [...schemas].map(([type, schema]) => [
      type,
      { check: compileCheck(schema), isEphemeral: ephemeralTypes.has(type) },
    ]),
  );
  const stamper = createStamper(deps.clock);
  const streams = new Set<EventStream>();
  const waiting: Envelope[] = [];
  let isDelivering = false;
  let isAllObserved = false;
  let published = 0;
  let listenerErrors = 0;
  let laggedByClosed = 0;

  function deliver(envelope: Envelope): void {
    if (isDelivering) {
      waiting.push(envelope);
      return;
    }
    isDelivering = true;
    try {
      emit(envelope);
      if (waiting.length > 0) deliverWaiting();
    } finally {
      isDelivering = false;
    }
  }

  // why: a queue instead of recursion keeps one order for all observers and the stack flat
  function deliverWaiting(): void {
    try {
      for (let index = 0; index < waiting.length; index += 1) emit(waiting[index] as Envelope);
    } finally {
      waiting.length = 0;
    }
  }

  function emit(envelope: Envelope): void {
    const event = envelope.event as { readonly type: string; readonly run?: unknown };
    byType.emit(event.type, envelope);
    if (isAllObserved) byType.emit('*', envelope);
    if (typeof event.run === 'string') emitToRun(byRun.get(event.run), envelope);
  }

  function report(error: unknown, type: string): void {
    listenerErrors += 1;
    deps.logger.warn(`an event listener failed: ${messageOf(error)}`, { target: 'vibe::bus', event_type: type });
  }

  function guard(listener: EventListener): Listener {
    return (envelope) => {
      try {
        const result: unknown = listener(envelope);
        if (result !== undefined && result instanceof Promise)
          result.catch((error: unknown) => report(error, envelope.event.type));
      } catch (error) {
        report(error, envelope.event.type);
      }
    };
  }

  function subscribe(topic: Topic, listener: EventListener): () => void {
    const guarded = guard(listener);
    return typeof topic === 'string' ? observe(topic, guarded) : observeRun(topic.run, guarded);
  }

  function observe(type: EventType | '*', listener: Listener): () => void {
    byType.on(type, listener);
    isAllObserved = byType.listenerCount('*') > 0;
    return () => {
      byType.off(type, listener);
      isAllObserved = byType.listenerCount('*') > 0;
    };
  }

  function observeRun(run: RunId, listener: Listener): () => void {
    byRun.set(run, [...(byRun.get(run) ?? []), listener]);
    return () => {
      const rest = byRun.get(run)?.filter((other) => other !== listener) ?? [];
      if (rest.length === 0) byRun.delete(run);
      else byRun.set(run, rest);
    };
  }

  function refuse(event: BusEvent): never {
    const check = schemas.get(event.type)?.safeParse(event);
    const detail = check?.error === undefined ? 'unknown type' : z.prettifyError(check.error).replaceAll('\n', ' ');
    throw new EngineError('invalid_request', `event \`${event.type}\` does not match the catalogue: ${detail}`);
  }

  return {
    publish(event) {
      const plan = plans.get(event.type);
      if (plan === undefined || !plan.check(event)) refuse(event);
      freezeDeep(event);
      const envelope = Object.freeze(stamper.stamp(event, plan.isEphemeral)) as Envelope;
      published += 1;
      deliver(envelope);
      return envelope;
    },
    deliver,
    on: (topic: Topic, listener: EventListener) => subscribe(topic, listener),
    stream(options = {}) {
      const stream = createEventStream(options, (listener) =>
        subscribe(options.run === undefined ? '*' : { run: options.run }, listener),
      );
      streams.add(stream);
      stream.onClose(() => {
        streams.delete(stream);
        laggedByClosed += stream.lagged();
      });
      return stream;
    },
    resumeSequence: stamper.resumeSequence,
    lastSequence: stamper.lastSequence,
    forgetRun: stamper.forget,
    stats: () => ({
      published,
      listenerErrors,
      listeners: byRun.values().reduce((sum, listeners) => sum + listeners.length, countListeners(byType)),
      lagged: [...streams].reduce((sum, stream) => sum + stream.lagged(), laggedByClosed),
      backlog: [...streams].reduce((most, stream) => Math.max(most, stream.waiting()), 0),
    }),
  };
}

type Listener = (envelope: Envelope) => void;

function emitToRun(listeners: readonly Listener[] | undefined, envelope: Envelope): void {
  if (listeners !== undefined) for (const listener of listeners) listener(envelope);
}

function countListeners(emitter: EventEmitter<string>): number {
  return emitter.eventNames().reduce((sum, name) => sum + emitter.listenerCount(name), 0);
}

function freezeDeep(value: object): void {
  Object.freeze(value);
  for (const key in value) {
    const child = (value as Record<string, unknown>)[key];
    if (typeof child === 'object' && child !== null && !Object.isFrozen(child)) freezeDeep(child);
  }
}
