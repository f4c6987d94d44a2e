import { describe, expect, test } from 'vitest';
import { parseServerRecord } from '../../src/mcp/record.ts';

const base = { name: 'fs', command: 'mcp-fs' };

function problemOf(raw: unknown): string | undefined {
  const check = parseServerRecord(raw);
  return check.ok ? undefined : check.problem;
}

function recordOf(raw: unknown) {
  const check = parseServerRecord(raw);
  if (!check.ok) throw new Error(check.problem);
  return check.record;
}

describe('names (mcp-host 3.1, 18)', () => {
  test.each(['a__b', 'a_', '_a', 'ü', '', 'a'.repeat(33), 'a b', '-a'])('%j is refused', (name) => {
    expect(problemOf({ ...base, name })).toContain('name must be');
  });

  test.each(['a', 'GitHub', '9lives', 'a-b_c', 'a'.repeat(32), 'a-'])('%j is accepted', (name) => {
    expect(recordOf({ ...base, name }).name).toBe(name);
  });

  test('the key of an object shape is the name', () => {
    expect(parseServerRecord({ command: 'x' }, 'by-key')).toMatchObject({ ok: true, record: { name: 'by-key' } });
  });
});

describe('what a record must say', () => {
  test.each([
    [{ name: 'fs' }, 'command or url is required'],
    [{ ...base, url: 'https://example.org' }, 'command and url exclude each other'],
    [{ name: 'fs', url: 'http://example.org/mcp' }, 'url may use http only for this machine'],
    [{ name: 'fs', url: 'https://u:p@example.org/mcp' }, 'url must not hold a user name'],
    [{ name: 'fs', url: 'https://example.org/mcp#x' }, 'url must not hold a fragment'],
    [{ name: 'fs', url: 'ftp://example.org' }, 'url must begin with'],
    [{ name: 'fs', url: 'nonsense' }, 'url is no URL'],
    [{ name: 'fs', url: 'https://a.org', serverUrl: 'https://b.org' }, 'url and serverUrl contradict'],
    [{ ...base, args: 'x' }, 'args must be a list of texts'],
    [{ ...base, args: [1] }, 'args.0 must be a list of texts'],
    [{ ...base, env: { 'A-B': 'x' } }, 'env.A-B must be'],
    [{ ...base, env: { A: 1 } }, 'env.A must be a text'],
    [{ ...base, enabled: true, disabled: true }, 'enabled and disabled contradict'],
    [{ ...base, type: 'carrier-pigeon' }, 'type must be stdio, http or sse'],
    [{ ...base, type: 'http' }, 'type http does not fit'],
    [{ name: 'fs', url: 'https://a.org', type: 'stdio' }, 'type stdio does not fit'],
    [{ name: 'fs', url: 'https://a.org', type: 'sse', transport: 'http' }, 'type and transport contradict'],
    [{ name: 'fs', url: 'https://a.org', requires_sandbox: true }, 'requires_sandbox needs a command'],
    [{ name: 'fs', url: 'https://a.org', headers: { Host: 'x' } }, 'headers.Host is set by the client'],
    [{ name: 'fs', url: 'https://a.org', headers: { 'mcp-session-id': 'x' } }, 'is set by the client'],
    [{ name: 'fs', url: 'https://a.org', headers: { 'Content-Type': 'x' } }, 'is set by the client'],
    [{ name: 'fs', url: 'https://a.org', headers: { 'X-A': 'a\r\nb' } }, 'must be one line'],
    [{ ...base, timeouts: { probe_ms: 0 } }, 'timeouts.probe_ms must be between 1 and'],
    [{ ...base, timeouts: { call_ms: 2_147_483_001 } }, 'timeouts.call_ms must be between'],
    [{ ...base, timeouts: { call_ms: '60' } }, 'timeouts.call_ms must be a whole number'],
    [{ ...base, timeouts: { call_ms: Number.NaN } }, 'timeouts.call_ms must be a whole number'],
    [{ ...base, timeouts: { call_ms: 1.5 } }, 'timeouts.call_ms must be a whole number'],
    [{ ...base, timeouts: { calls: 5 } }, 'timeouts holds an unknown name'],
    [{ ...base, sandbox: { read: ['relative'] } }, 'sandbox.read.0 must be an absolute path'],
    [{ ...base, sandbox: { read: ['${HOME}/x'] } }, 'sandbox.read.0 must be an absolute path'],
    [{ ...base, sandbox: { write: ['${workspaceFolderX}'] } }, 'sandbox.write.0 must be an absolute path'],
    [{ ...base, protocol: 'future' }, 'protocol must be auto, modern or legacy'],
    [{ ...base, oauth: { client_secret: 'x' } }, 'oauth.client_secret must not be in the file'],
    ['text', 'record must be an object'],
    [null, 'record must be an object'],
  ])('%j is refused', (raw, problem) => {
    expect(problemOf(raw)).toContain(problem);
  });

  test('a refusal never repeats a value', () => {
    expect(problemOf({ ...base, oauth: { client_secret: 'hush' } })).not.toContain('hush');
  });
});

describe('what a record may say', () => {
  test('defaults', () => {
    expect(recordOf(base)).toEqual({
      name: 'fs',
      type: 'stdio',
      type_is_fixed: false,
      command: 'mcp-fs',
      args: [],
      env: {},
      headers: {},
      enabled: true,
      protocol: 'auto',
      requires_sandbox: false,
      sandbox: { read: [], write: [] },
      timeouts: {},
      tools: { allow: [], deny: [], eager: [], pinned: [] },
    });
  });

  test.each([
    [{ disabled: true }, false],
    [{ disabled: false }, true],
    [{ enabled: false }, false],
    [{ enabled: false, disabled: true }, false],
  ])('%j', (flags, enabled) => {
    expect(recordOf({ ...base, ...flags }).enabled).toBe(enabled);
  });

  test.each([
    [{ url: 'https://example.org/mcp' }, 'http', false],
    [{ serverUrl: 'https://example.org/mcp' }, 'http', false],
    [{ url: 'http://localhost:3000/mcp', type: 'streamable-http' }, 'http', true],
    [{ url: 'http://127.0.0.1/mcp', transport: 'streamableHttp' }, 'http', true],
    [{ url: 'http://[::1]:9/sse', type: 'sse' }, 'sse', true],
  ])('%j is of type %s', (fields, type, isFixed) => {
    expect(recordOf({ name: 'web', ...fields })).toMatchObject({ type, type_is_fixed: isFixed });
  });

  test('an address with a placeholder is judged when it is filled in', () => {
    expect(recordOf({ name: 'web', url: '${BASE}/mcp' }).url).toBe('${BASE}/mcp');
  });

  test('a path of the sandbox may begin with the workspace or the home folder', () => {
    const sandbox = { read: ['${userHome}', '/srv'], write: ['${workspaceFolder}/out'] };

    expect(recordOf({ ...base, sandbox }).sandbox).toEqual(sandbox);
  });

  test('unknown fields of other hosts are no error', () => {
    expect(recordOf({ ...base, autoApprove: ['x'], icon: 1 }).name).toBe('fs');
  });
});
