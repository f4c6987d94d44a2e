import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { configSchema, defaultConfig } from '../../src/config/schema.ts';

const page = readFileSync(new URL('../../docs/reference/config.md', import.meta.url), 'utf8');
const sections = new Map(
  page.split(/^### /m).map((section) => [/^`\[+([a-z]+)/.exec(section)?.[1] ?? '', section] as const),
);

interface Schema {
  readonly properties?: Record<string, Schema>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
}

/** Keys of each table, from the schema itself. */
const tables = Object.entries((z.toJSONSchema(configSchema, { io: 'input' }) as Schema).properties ?? {}).map(
  ([name, schema]) => {
    const table = schema.properties ?? schema.additionalProperties?.properties ?? schema.items?.properties ?? {};
    return [name, Object.keys(table)] as const;
  },
);

test('the page is compared with real tables', () => {
  expect(tables.map(([name]) => name)).toEqual(expect.arrayContaining(['model', 'providers', 'plugins', 'limits']));
  expect(tables.flatMap(([, keys]) => keys).length).toBeGreaterThan(30);
});

test.each(tables)('the page documents every key of %s', (name, keys) => {
  const section = keys.length === 0 ? page : (sections.get(name) ?? '');

  expect((keys.length === 0 ? [name] : keys).filter((key) => !section.includes(`\`${key}\``))).toEqual([]);
});

test('the page documents no key that does not exist', () => {
  const known = new Set(tables.flatMap(([name, keys]) => [name, ...keys]));
  const documented = [...page.matchAll(/^\| (`[a-z_]+`(?:, `[a-z_]+`)*) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([a-z_]+)`/g)].map(([, key = '']) => key),
  );

  expect(documented.length).toBeGreaterThan(30);
  expect(documented.filter((key) => !known.has(key))).toEqual([]);
});

test('the page gives the defaults of the limits', () => {
  for (const [key, value] of Object.entries(defaultConfig.limits ?? {})) {
    expect(page).toMatch(new RegExp(`\\| \`${key}\` \\| [^|]*\\b${value}\\b`));
  }
});
