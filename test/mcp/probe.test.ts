import { describe, expect, test } from 'vitest';
import { classifyProbe, type ProbeOutcome, type ProbeVerdict } from '../../src/mcp/probe.ts';

const both = ['stdio', 'http'] as const;
const discover = (supportedVersions: unknown): ProbeOutcome => ({
  kind: 'result',
  result: { supportedVersions, capabilities: {} },
});
const refused = (data: unknown): ProbeOutcome => ({ kind: 'rpc_error', code: -32_022, data });
const judge = (outcome: ProbeOutcome, transport: 'stdio' | 'http', isSecond = false): ProbeVerdict =>
  classifyProbe(outcome, { transport, isSecond });

describe.each(both)('verdicts on %s (mcp-host 4.2, MP2)', (transport) => {
  test('a list with our version is modern', () => {
    expect(judge(discover(['2025-11-25', '2026-07-28']), transport).kind).toBe('modern');
  });

  test.each([[['2027-01-01']], [['2025-11-25']], [['2025-06-18', '2024-11-05']]])(
    'a list without it, %j, is refused and named, never answered with initialize',
    (versions) => {
      expect(judge(discover(versions), transport)).toEqual({
        kind: 'refuse',
        code: 'version_mismatch',
        offered: versions,
      });
    },
  );

  test('-32022 that offers our version is asked once more, and only once', () => {
    const outcome = refused({ supported: ['2026-07-28'], requested: '2026-07-28' });

    expect(judge(outcome, transport).kind).toBe('again');
    expect(judge(outcome, transport, true)).toMatchObject({ kind: 'refuse', code: 'version_mismatch' });
  });

  test.each([[['2027-01-01']], [['2025-11-25']]])('-32022 with %j is refused', (supported) => {
    expect(judge(refused({ supported }), transport)).toMatchObject({ code: 'version_mismatch', offered: supported });
  });

  test.each([undefined, null, {}, { supported: [] }, { supported: 'x' }, { supported: [1] }])(
    '-32022 with the data %j is legacy',
    (data) => {
      expect(judge(refused(data), transport)).toEqual({ kind: 'legacy', restart: false, cause: 'answer' });
    },
  );

  test.each([-32_601, -32_602, -32_600, -32_000, -32_020, -32_021, 1])(
    'any other error code, %d, is legacy',
    (code) => {
      expect(judge({ kind: 'rpc_error', code, data: undefined }, transport).kind).toBe('legacy');
    },
  );

  test.each([null, 'x', [], {}, { supportedVersions: [] }, { supportedVersions: ['2026-07-28'] }])(
    'the malformed result %j is legacy',
    (result) => {
      expect(judge({ kind: 'result', result }, transport).kind).toBe('legacy');
    },
  );

  test('an answer that is neither result nor error is legacy', () => {
    expect(judge({ kind: 'malformed' }, transport).kind).toBe('legacy');
  });
});

test('silence is legacy on stdio and an error on HTTP', () => {
  expect(judge({ kind: 'silence' }, 'stdio')).toEqual({ kind: 'legacy', restart: false, cause: 'silence' });
  expect(judge({ kind: 'silence' }, 'http')).toEqual({ kind: 'refuse', code: 'connect_timeout' });
});

test('an exit restarts a program once and is an error on HTTP', () => {
  expect(judge({ kind: 'closed' }, 'stdio')).toEqual({ kind: 'legacy', restart: true, cause: 'exit' });
  expect(judge({ kind: 'closed' }, 'http')).toEqual({ kind: 'refuse', code: 'connect_failed' });
});

test.each([
  [401, { kind: 'refuse', code: 'needs_auth' }],
  [403, { kind: 'refuse', code: 'auth_forbidden' }],
  [500, { kind: 'refuse', code: 'http_error', status: 500, content_type: 'text/html' }],
  [503, { kind: 'refuse', code: 'http_error', status: 503, content_type: 'text/html' }],
  [200, { kind: 'refuse', code: 'http_error', status: 200, content_type: 'text/html' }],
  [307, { kind: 'legacy', restart: false, cause: 'answer' }],
  [404, { kind: 'legacy', restart: false, cause: 'answer' }],
  [405, { kind: 'legacy', restart: false, cause: 'answer' }],
  [400, { kind: 'legacy', restart: false, cause: 'answer' }],
])('HTTP %d without a message', (status, verdict) => {
  expect(judge({ kind: 'status', status, content_type: 'text/html' }, 'http')).toEqual(verdict);
});
