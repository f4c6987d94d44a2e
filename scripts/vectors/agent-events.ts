import type { Envelope } from '../../src/bus/envelope.ts';
import { isJsonObject, type Json, type JsonObject } from '../../src/protocol/json.ts';
import { difference } from './agent-compare.ts';

type Event = JsonObject;

/** Symbols of call ids (`$1`) and what they stand for in this run. */
export type Bindings = Map<string, string>;

/** The run's events as the vectors write them: no envelope, no deltas, `stop` as an object. */
export function toComparable(envelopes: readonly Envelope[]): readonly Event[] {
  return envelopes
    .filter(({ event }) => event.type !== 'agent_delta')
    .map(({ event }) => {
      const data = event as unknown as JsonObject;
      return event.type === 'agent_finished' ? { ...data, stop: JSON.parse(event.stop) as Json } : data;
    });
}

/** Compares the events in order; a concurrent group (`par`) as a set with its own order rules. Fills `bindings`. */
export function compareEvents(expected: readonly Event[], actual: readonly Event[], bindings: Bindings): string[] {
  const found: string[] = [];
  if (expected.length !== actual.length) {
    found.push(
      `events: ${expected.length} expected, got ${actual.length}: ${actual.map((event) => String(event['type'])).join(' ')}`,
    );
  }
  for (let index = 0; index < expected.length;) {
    const par = expected[index]?.['par'];
    let end = index + 1;
    if (par !== undefined) while (expected[end]?.['par'] === par) end += 1;
    const group = expected.slice(index, end);
    const real = actual.slice(index, end);
    found.push(...(par === undefined ? compareInOrder(group, real, bindings) : compareGroup(group, real, bindings)));
    index = end;
  }
  return found;
}

function compareInOrder(expected: readonly Event[], actual: readonly Event[], bindings: Bindings): string[] {
  return expected.flatMap((event, index) => compareOne(event, actual[index], bindings));
}

function compareGroup(expected: readonly Event[], actual: readonly Event[], bindings: Bindings): string[] {
  const called = actual.filter((event) => event['type'] === 'tool_called');
  const found = expected
    .filter((event) => event['type'] === 'tool_called')
    .flatMap((event, index) => compareOne(event, called[index], bindings));
  for (const event of expected.filter((entry) => entry['type'] !== 'tool_called')) {
    const call = bindings.get(String(event['call']));
    const real = actual.find((entry) => entry['type'] === event['type'] && entry['call'] === call);
    found.push(...compareOne(event, real, bindings));
  }
  return found;
}

function compareOne(expected: Event, actual: Event | undefined, bindings: Bindings): string[] {
  if (actual === undefined) return [`events: missing ${JSON.stringify(expected)}`];
  const symbol = expected['call'];
  if (typeof symbol === 'string' && expected['type'] === 'tool_called') {
    const call = String(actual['call']);
    if (!/^[0-9a-f]{12}$/.test(call) || call === '000000000000') return [`events: bad call id ${call}`];
    if ([...bindings.values()].includes(call)) return [`events: call id ${call} is not unique`];
    bindings.set(symbol, call);
  }
  const { par: _par, ...rest } = expected;
  const wanted = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, bind(value, bindings)]));
  const found = difference(wanted, actual, `events.${String(expected['type'])}`);
  return found === undefined ? [] : [found];
}

function bind(value: Json, bindings: Bindings): Json {
  if (typeof value !== 'string') return value;
  return bindings.get(value) ?? value.replace(/<(\$\d+)>/g, (whole, symbol: string) => bindings.get(symbol) ?? whole);
}

/** The invariants 1–3 of the format's README; one line for each that does not hold. */
export function checkEventInvariants(envelopes: readonly Envelope[], outcome: JsonObject | undefined): string[] {
  const found: string[] = [];
  const numbered = envelopes.filter((envelope) => envelope.event.type !== 'agent_delta');
  if (envelopes.some(({ event, seq }) => event.type === 'agent_delta' && seq !== undefined))
    found.push('a delta has a seq');
  for (const [index, envelope] of numbered.entries()) {
    if (envelope.seq !== index + 1) found.push(`event ${index + 1} has seq ${envelope.seq}`);
  }
  if (numbered[0]?.event.type !== 'agent_started') found.push('the first event is not agent_started');
  if (numbered.at(-1)?.event.type !== 'agent_finished') found.push('the last event is not agent_finished');
  const open = new Set<string>();
  const all = new Set<string>();
  for (const { event } of numbered) {
    if (event.type === 'tool_called') {
      if (all.has(event.call)) found.push(`call ${event.call} twice`);
      all.add(event.call);
      open.add(event.call);
    } else if (event.type === 'tool_returned' && !open.delete(event.call))
      found.push(`return of ${event.call} without a call`);
  }
  if (open.size > 0) found.push(`${open.size} calls never returned`);
  return [...found, ...checkTotals(numbered, outcome)];
}

function checkTotals(numbered: readonly Envelope[], outcome: JsonObject | undefined): string[] {
  if (outcome === undefined) return [];
  const finished = numbered.flatMap(({ event }) => (event.type === 'agent_finished' ? [event] : []));
  const steps = finished.reduce((sum, event) => sum + event.steps, 0);
  const input = finished.reduce((sum, event) => sum + event.usage.input_tokens, 0);
  const usage = isJsonObject(outcome['usage']) ? outcome['usage'] : {};
  const found: string[] = [];
  if (steps !== outcome['steps'])
    found.push(`agent_finished counts ${steps} steps, the outcome ${String(outcome['steps'])}`);
  if (input !== usage['input_tokens']) found.push(`agent_finished counts ${input} input tokens`);
  if (finished.at(-1)?.stop !== JSON.stringify(outcome['stop']))
    found.push('agent_finished has another stop than the outcome');
  return found;
}
