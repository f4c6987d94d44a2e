import { describe, expect, test } from 'vitest';
import { toChildEnvironment } from '../../src/transport/environment.ts';

const host = { PATH: '/bin', HOME: '/h', LC_ALL: 'C', SECRET_KEY: 's', OTHER: 'o', GONE: undefined };

test('inherit passes everything on but the names of secrets; what is declared wins', () => {
  const env = toChildEnvironment({
    policy: 'inherit',
    host,
    secretNames: ['SECRET_KEY'],
    declared: { OTHER: 'x', EMPTY: '' },
    platform: 'linux',
  });

  expect(env).toEqual({ PATH: '/bin', HOME: '/h', LC_ALL: 'C', OTHER: 'x', EMPTY: '' });
});

test('minimal passes the safe list on, with and without declared variables (PL10)', () => {
  const safe = { PATH: '/bin', HOME: '/h', LC_ALL: 'C' };

  expect(toChildEnvironment({ policy: 'minimal', host, platform: 'linux' })).toEqual(safe);
  expect(toChildEnvironment({ policy: 'minimal', host, declared: { A: '1' }, platform: 'linux' })).toEqual({
    ...safe,
    A: '1',
  });
});

test('a secret that is declared on purpose is passed on', () => {
  const options = { policy: 'inherit', host, secretNames: ['SECRET_KEY'], platform: 'linux' } as const;

  expect(toChildEnvironment({ ...options, declared: { SECRET_KEY: 'given' } })['SECRET_KEY']).toBe('given');
});

test('a variable called __proto__ is data', () => {
  const env = toChildEnvironment({
    policy: 'inherit',
    host: JSON.parse('{"__proto__":"x"}') as Record<string, string>,
  });

  expect(Object.entries(env)).toEqual([['__proto__', 'x']]);
});

describe('on Windows', () => {
  const windows = { Path: 'C:\\bin', SystemRoot: 'C:\\Windows', Api_Key: 's', APPDATA: 'a', Other: 'o' };

  test('names compare without case', () => {
    const env = toChildEnvironment({
      policy: 'inherit',
      host: windows,
      secretNames: ['API_KEY'],
      declared: { PATH: 'D:\\bin' },
      platform: 'win32',
    });

    expect(env).toEqual({ PATH: 'D:\\bin', SystemRoot: 'C:\\Windows', APPDATA: 'a', Other: 'o' });
  });

  test('the safe list holds what programs do not start without', () => {
    const env = toChildEnvironment({ policy: 'minimal', host: windows, platform: 'win32' });

    expect(env).toEqual({ Path: 'C:\\bin', SystemRoot: 'C:\\Windows', APPDATA: 'a' });
  });
});
