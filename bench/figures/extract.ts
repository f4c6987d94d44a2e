import { extractJson } from '../../src/agent/extract-json.ts';
import { measure } from '../measure.ts';
import { type Row, toRow } from '../report.ts';

const megabyte = 1_000_000;

/** Finding no document in a megabyte of opening braces against parsing a megabyte of plain JSON. */
export async function measureExtract(): Promise<readonly Row[]> {
  const hostile = {
    braces: '{'.repeat(megabyte),
    'open-objects': '{"a":'.repeat(megabyte / 5),
    'almost-closed': `${'{"a":['.repeat(megabyte / 12)}${']}'.repeat(megabyte / 12 / 2)}`,
  };
  const plain = toPlainJson();
  const reference = {
    name: 'JSON.parse of 1 MB',
    run(count: number): void {
      for (let index = 0; index < count; index += 1) JSON.parse(plain);
    },
  };
  const rows: Row[] = [];
  for (const [name, text] of Object.entries(hostile)) {
    const ours = {
      name,
      run(count: number): void {
        for (let index = 0; index < count; index += 1) extractJson(text);
      },
    };
    const [oursNs = [], referenceNs = []] = await measure([ours, reference], { rounds: 24, sampleMs: 50 });
    rows.push(
      toRow({
        name: `extract.${name}`,
        unit: 'ms',
        goal: 3,
        ours: oursNs,
        reference: { name: reference.name, series: referenceNs },
      }),
    );
  }
  return rows;
}

function toPlainJson(): string {
  const records: unknown[] = [];
  for (let index = 0; records.length * 90 < megabyte; index += 1) {
    records.push({ id: index, name: `record ${index}`, tags: ['a', 'b'], score: index / 7, note: 'some plain text' });
  }
  return JSON.stringify(records).slice(0, -1).concat(']');
}
