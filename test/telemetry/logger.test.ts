import { expect, test } from 'vitest';
import { withFields } from '../../src/protocol/deps.ts';
import { createLogger, type LoggerOptions } from '../../src/telemetry/logger.ts';
import { toPrintable, toPrintableLine } from '../../src/telemetry/printable.ts';

function record(options: Omit<LoggerOptions, 'write'> = {}) {
  const lines: string[] = [];
  return { lines, logger: createLogger({ ...options, write: (line) => lines.push(line) }) };
}

test('the text form is that of mcp-host 12.2', () => {
  const { lines, logger } = record();

  logger.info('mcp.servers.save', { target: 'vibe::mcp', server_count: 3 });

  expect(lines).toEqual(['INFO vibe::mcp: mcp.servers.save server_count=3\n']);
});

test('the JSON form is one object a line with target, msg and the fields', () => {
  const { lines, logger } = record({ format: 'json' });

  logger.warn('mcp.server.noise', { target: 'vibe::mcp', server_name: 'a', lines: 2 });

  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '')).toEqual({
    level: 'warn',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as unknown,
    target: 'vibe::mcp',
    msg: 'mcp.server.noise',
    server_name: 'a',
    lines: 2,
  });
});

test.each([
  ['info', ['info vibe', 'warn vibe', 'info vibe::mcp']],
  ['mcp=debug', ['info vibe', 'warn vibe', 'debug vibe::mcp', 'info vibe::mcp']],
  ['warn,vibe::mcp=info', ['warn vibe', 'info vibe::mcp']],
  ['off', []],
  ['WARN', ['warn vibe']],
])('with the filter %s exactly the right lines are written', (filter, expected) => {
  const { lines, logger } = record({ filter, format: 'json' });

  logger.debug('x');
  logger.info('x');
  logger.warn('x');
  withFields(logger, { target: 'vibe::mcp' }).debug('x');
  withFields(logger, { target: 'vibe::mcp' }).info('x');

  const seen = lines.map((line) => JSON.parse(line) as { level: string; target: string });
  expect(seen.map(({ level, target }) => `${level} ${target}`)).toEqual(expected);
});

test('an unknown level is named once and the rest of the filter holds', () => {
  const { lines, logger } = record({ filter: 'loud,mcp=debug' });

  logger.debug('x', { target: 'vibe::mcp' });

  expect(lines).toEqual([
    'WARN vibe: VIBE_LOG: ignoring `loud`; levels are trace, debug, info, warn, error, off\n',
    'DEBUG vibe::mcp: x\n',
  ]);
});

const hostile = 'a\u001b[2Jb\r\nERROR vibe: forged\u009b1m\u202ec\u007f';

test.each(['text', 'json'] as const)('outside text cannot break a %s line or drive a terminal (PD9)', (format) => {
  const { lines, logger } = record({ format });

  logger.info(hostile, { note: hostile, list: [hostile], [hostile]: 1 });

  expect(lines).toHaveLength(1);
  expect(lines[0]?.slice(0, -1)).not.toMatch(/[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u);
  if (format === 'json') expect((JSON.parse(lines[0] ?? '') as { note: string }).note).toBe(hostile);
});

test('fields named like secrets are replaced and an error brings its message only (PD8)', () => {
  const { lines, logger } = record();
  const error = Object.assign(new Error('spawn failed'), { command: 'x --token canary', env: { A: 'canary' } });

  logger.error('x', { error, token: 'canary', provider: { api_key: 'canary' }, env: { A: 'canary' } });

  expect(lines.join('')).not.toContain('canary');
  expect(lines[0]).toContain('error="spawn failed"');
});

test('values JSON does not know do not break logging', () => {
  const loop: Record<string, unknown> = {};
  loop['self'] = loop;
  const { lines, logger } = record();

  logger.info('x', { big: 10n, loop, nothing: undefined, call: () => 1 });

  expect(lines[0]).toContain('big=10');
});

test('a terminal text keeps its lines and tabs, a one-line text shows them', () => {
  expect(toPrintable('a\tb\n\u001b[31mred\u0007\u2066')).toBe('a\tb\n\\x1b[31mred\\x07\\u2066');
  expect(toPrintableLine('a\tb\nc')).toBe('a\\tb\\nc');
  expect(toPrintable('gr\u00fc\u00df \u{1f600} \ud800')).toBe('gr\u00fc\u00df \u{1f600} \ufffd');
});
