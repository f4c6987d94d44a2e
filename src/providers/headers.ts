import { EngineError } from '../protocol/error.ts';
import { isJsonObject, type JsonObject } from '../protocol/json.ts';

/**
 * The table `extra.headers`, names in lower case; these headers win over our own.
 * @throws EngineError `config` naming a header that cannot be sent, never its value
 */
export function extraHeaders(extra: JsonObject): Readonly<Record<string, string>> {
  const table = extra['headers'];
  if (table === undefined) return {};
  if (!isJsonObject(table)) throw new EngineError('config', '`extra.headers` must be a table of texts');
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(table)) {
    const fits = typeof value === 'string' && /^[\t\x20-\x7e]*$/.test(value) && /^[\w!#$%&'*+.^`|~-]+$/.test(name);
    if (!fits) throw new EngineError('config', `\`extra.headers\`: the header \`${name}\` cannot be sent`);
    headers[name.toLowerCase()] = value;
  }
  return headers;
}

/** Texts that must not appear in messages: the key, and configured headers that look like one. */
export function secretValues(key: string | undefined, headers: Readonly<Record<string, string>>): readonly string[] {
  const named = Object.entries(headers).filter(([name]) => /auth|key|token|secret|cookie/.test(name));
  return [...(key === undefined ? [] : [key]), ...named.map(([, value]) => value.replace(/^bearer\s+/i, ''))];
}
