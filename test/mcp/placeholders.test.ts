import { describe, expect, test } from 'vitest';
import { fillPlaceholders } from '../../src/mcp/placeholders.ts';
import { requireServerRecord } from '../../src/mcp/record.ts';
import { failureOf } from './support.ts';

const values = {
  env: { TOKEN: 't0ken', EMPTY: '', TRICKY: '${env:TOKEN}', __proto__: undefined },
  workspaceFolder: '/srv/space',
  userHome: '/home/me',
  secret: async (name: string) => (name === 'db' ? 's3cret' : undefined),
  accessToken: async () => 'acc3ss',
};

async function fill(text: string): Promise<string | undefined> {
  const filled = await fillPlaceholders(requireServerRecord({ name: 's', command: 'x', args: [text] }), values);
  return filled.record.args[0];
}

describe('placeholders (mcp-host 3.2)', () => {
  test.each([
    ['plain', 'plain'],
    ['a ${TOKEN} b ${env:TOKEN}', 'a t0ken b t0ken'],
    ['${MISSING:-fallback}', 'fallback'],
    ['${EMPTY:-fallback}', 'fallback'],
    ['${MISSING:-}', ''],
    ['${MISSING:-a:-b}', 'a:-b'],
    ['${EMPTY}', ''],
    ['${workspaceFolder}/x', '/srv/space/x'],
    ['${userHome}', '/home/me'],
    ['${secret:db}', 's3cret'],
    ['${oauth.access_token}', 'acc3ss'],
    ['$${TOKEN}', '${TOKEN}'],
    ['$$ ${TOKEN}', '$$ t0ken'],
    ['${TRICKY}', '${env:TOKEN}'],
    ['${unclosed', '${unclosed'],
  ])('%s becomes %s', async (text, expected) => {
    expect(await fill(text)).toBe(expected);
  });

  test.each([
    ['${MISSING}', '`${MISSING}` is not set'],
    ['${env:MISSING}', '`${MISSING}` is not set'],
    ['${input:key}', '`${input:key}` is not a known placeholder'],
    ['${secret:none}', '`${secret:none}` is not stored'],
    ['${toString}', '`${toString}` is not set'],
    ['${}', 'is not a known placeholder'],
  ])('%s fails naming only the variable', async (text, problem) => {
    const failure = await failureOf(fill(text));

    expect(failure.code).toBe('config_invalid');
    expect(failure.message).toContain(problem);
    expect(failure.message).not.toContain('t0ken');
  });

  test('values of env and headers and every secret are remembered as texts to hide', async () => {
    const record = requireServerRecord({
      name: 's',
      command: 'x',
      args: ['${secret:db}'],
      env: { A: '${TOKEN}', B: 'plain' },
    });

    const filled = await fillPlaceholders(record, values);

    expect(filled.secrets.toSorted()).toEqual(['plain', 's3cret', 't0ken']);
  });

  test('paths of the sandbox are filled in', async () => {
    const sandbox = { read: ['${userHome}/data'], write: ['${workspaceFolder}'] };
    const record = requireServerRecord({ name: 's', command: 'x', sandbox });

    const filled = await fillPlaceholders(record, values);

    expect(filled.record.sandbox).toEqual({ read: ['/home/me/data'], write: ['/srv/space'] });
  });

  test('a filled address is judged like a written one', async () => {
    const record = requireServerRecord({ name: 's', url: '${BASE:-http://example.org}/mcp' });

    expect((await failureOf(fillPlaceholders(record, values))).message).toContain('url may use http only');
  });
});
