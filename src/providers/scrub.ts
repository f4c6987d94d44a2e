const keyPattern = /\bsk-[A-Za-z0-9_-]{6,}/g;
const bearerPattern = /\b(bearer\s+)[A-Za-z0-9._~+/=-]+/gi;
const assignmentPattern =
  /\b((?:x-api-key|api[_-]?key|access[_-]?token|refresh[_-]?token|token)["']?\s*[=:]\s*["']?)[^\s&"',;]+/gi;

/**
 * Text without secrets: keys of the `sk-` form, bearer tokens, values assigned to key and token names, and the given
 * secrets wherever they stand. Source: agent-runtime section 15, "Scrubbing".
 */
export function scrubSecrets(text: string, secrets: readonly string[] = []): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret.length >= shortestSecret) clean = clean.replaceAll(secret, '***');
  }
  return clean
    .replaceAll(keyPattern, 'sk-***')
    .replaceAll(bearerPattern, '$1***')
    .replaceAll(assignmentPattern, '$1***');
}

// why: a local server is often given a key such as `x`; replacing that would only garble the message
const shortestSecret = 6;
