import { createStamper, readEnvelopeLine } from '../../src/bus/envelope.ts';
import { events, ephemeralTypes, isEventType } from '../../src/bus/events.ts';
import type { AgentStop } from '../../src/protocol/agent.ts';
import { messageOf } from '../../src/protocol/error.ts';
import { parseCallId, type RunId } from '../../src/protocol/ids.ts';
import { isJsonObject, type JsonObject } from '../../src/protocol/json.ts';
import { difference, toList, toObject, unknownKeys } from './agent-compare.ts';
import type { Player, VectorCase } from './types.ts';

/** Plays `events.json`: numbering, field sets, stop strings, older lines, call ids. */
export const playEvents: Player = ({ data }) => {
  const { format: _format, group: _group, title: _title, ...tables } = data;
  const cases: VectorCase[] = [];
  const add = (id: string, check: () => readonly (string | undefined)[]): void => {
    const play = (): Promise<readonly string[]> => Promise.resolve(check().filter((line) => line !== undefined));
    cases.push({ id, weight: 'many', play });
  };
  for (const [table, rows] of Object.entries(tables)) {
    const entries = toList(rows).map(toObject);
    if (table === 'numbering') for (const row of entries) add(String(row['id']), () => playNumbering(row));
    else if (table === 'fields') for (const row of entries) add(`fields-${String(row['type'])}`, () => playFields(row));
    else if (table === 'stop_strings') {
      for (const row of entries) add(`stop-${String(row['text'])}`, () => playStop(row));
    } else if (table === 'legacy_reading') {
      for (const [index, row] of entries.entries()) add(`legacy-${index + 1}`, () => playOlder(row));
    } else if (table === 'call_ids') add('call-ids', () => playCallIds(toObject(rows)));
    else throw new Error(`unknown table \`${table}\``);
  }
  return cases;
};

function playNumbering(row: JsonObject): readonly (string | undefined)[] {
  const stamper = createStamper({ now: () => 0 });
  return toList(row['operations'])
    .map(toObject)
    .map((operation) => {
      const resume = operation['resume_sequence'];
      if (isJsonObject(resume)) {
        stamper.resumeSequence(resume['run'] as RunId, Number(resume['last']));
        return unknownKeys(operation, ['resume_sequence'])[0];
      }
      const event = toObject(operation['publish']);
      const { seq } = stamper.stamp({ ...event, type: String(event['type']) });
      return (
        difference(operation['seq'], seq ?? null, `seq of ${JSON.stringify(event)}`) ??
        unknownKeys(operation, ['publish', 'seq'])[0]
      );
    });
}

function playFields(row: JsonObject): readonly (string | undefined)[] {
  const type = String(row['type']);
  if (!isEventType(type)) return [`unknown event type ${type}`];
  const required = Object.entries(events[type].shape).filter(([, field]) => !field.safeParse(undefined).success);
  return [
    difference(
      toSorted(toList(row['fields']).map(String)),
      toSorted(['type', ...required.map(([name]) => name)]),
      'fields',
    ),
    difference(row['ephemeral'], ephemeralTypes.has(type), 'ephemeral'),
    ...unknownKeys(row, ['type', 'fields', 'ephemeral', 'note']),
  ];
}

function toSorted(names: readonly string[]): readonly string[] {
  return [...names].sort((left, right) => (left < right ? -1 : 1));
}

function playStop(row: JsonObject): readonly (string | undefined)[] {
  return [
    difference(row['text'], JSON.stringify(row['stop'] as unknown as AgentStop), 'text'),
    ...unknownKeys(row, ['stop', 'text']),
  ];
}

function playOlder(row: JsonObject): readonly (string | undefined)[] {
  return [
    difference(row['read_as'], readEnvelopeLine(String(row['line'])), 'read_as'),
    ...unknownKeys(row, ['line', 'read_as', 'why']),
  ];
}

function playCallIds(table: JsonObject): readonly (string | undefined)[] {
  const found: (string | undefined)[] = [...unknownKeys(table, ['valid', 'normalised', 'invalid', 'invalid_message'])];
  for (const id of toList(table['valid'])) found.push(difference(id, parseCallId(String(id)), 'valid'));
  for (const pair of toList(table['normalised'])) {
    const [from, to] = toList(pair);
    found.push(difference(to, parseCallId(String(from)), 'normalised'));
  }
  for (const id of [...toList(table['invalid']), 'abc']) {
    try {
      found.push(`\`${String(id)}\` was read as ${parseCallId(String(id))}`);
    } catch (error) {
      if (id === 'abc') found.push(difference(table['invalid_message'], messageOf(error), 'invalid_message'));
    }
  }
  return found;
}
