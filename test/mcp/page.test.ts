import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { events } from '../../src/bus/events.ts';
import { defaultMcpTimeouts } from '../../src/protocol/mcp.ts';
import { knownRecordFields } from '../../src/mcp/record.ts';

const root = path.join(import.meta.dirname, '..', '..');
const page = readFileSync(path.join(root, 'docs', 'reference', 'mcp.md'), 'utf8');

test('the page names every field of a record', () => {
  expect(knownRecordFields.size).toBeGreaterThan(15);
  expect([...knownRecordFields].filter((field) => !page.includes(`\`${field}\``))).toEqual([]);
});

test('the page states every default limit', () => {
  const missing = Object.entries(defaultMcpTimeouts).filter(([field, ms]) => {
    const row = page.split('\n').find((line) => line.includes(`\`${field}\``) && line.includes(' ms'));
    return row?.includes(`${ms.toLocaleString('en').replaceAll(',', ' ')} ms`) !== true;
  });

  expect(missing).toEqual([]);
});

test('the page lists every event with its fields', () => {
  const types = Object.entries(events).filter(([type]) => type.startsWith('mcp_'));
  expect(types.length).toBeGreaterThan(5);

  for (const [type, schema] of types) {
    const row = page.split('\n').find((line) => line.startsWith(`| \`${type}\` |`));
    const fields = [...(row ?? '').matchAll(/`([a-z_]+)`/g)].map(([, name]) => name).slice(1);
    expect(fields, type).toEqual(Object.keys(schema.shape));
  }
});

function sources(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
}

test('the page lists every log line the code writes, and no other', () => {
  const folder = path.join(root, 'src', 'mcp');
  const written = new Set(
    sources(folder).flatMap((file) =>
      [...readFileSync(path.join(folder, file), 'utf8').matchAll(/'(mcp\.[a-z_.]+)'/g)].map(([, name]) => name),
    ),
  );
  written.delete('mcp.json');
  const listed = new Set(
    [...page.matchAll(/`(mcp\.[a-z_.]+)`/g)].map(([, name]) => name).filter((name) => name !== 'mcp.json'),
  );

  expect(written.size).toBeGreaterThan(15);
  expect([...listed].toSorted((a, b) => (a ?? '').localeCompare(b ?? ''))).toEqual(
    [...written].toSorted((a, b) => (a ?? '').localeCompare(b ?? '')),
  );
});
