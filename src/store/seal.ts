import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** A sealed value is version ‖ nonce ‖ tag ‖ ciphertext, by AES-256-GCM (mcp-host 10.5). */
const version = 1;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + nonceBytes + tagBytes;
const algorithm = 'aes-256-gcm';

/** Seals a text for one row: under another name it does not open. */
export function seal(key: Buffer, row: string, text: string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(boundTo(row));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([Buffer.from([version]), nonce, cipher.getAuthTag(), sealed]);
}

/** The text of a sealed value; undefined when it does not open: another key, another row, or damage. */
export function unseal(key: Buffer, row: string, value: Uint8Array): string | undefined {
  const bytes = Buffer.from(value);
  if (bytes.length < headBytes || bytes[0] !== version) return undefined;
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(1, 1 + nonceBytes), { authTagLength: tagBytes });
  decipher.setAAD(boundTo(row));
  decipher.setAuthTag(bytes.subarray(1 + nonceBytes, headBytes));
  try {
    return decipher.update(bytes.subarray(headBytes), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    // why: which of the reasons it was cannot be told apart
    return undefined;
  }
}

function boundTo(row: string): Buffer {
  return Buffer.from(`vibe-secret:${version}:${row}`);
}
