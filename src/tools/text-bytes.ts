/** How many bytes at the front of a file decide whether it is text (agent-runtime 16). */
export const sniffedBytes = 8_192;

/** Control bytes that text files hold: tab, LF, CR, FF, ESC, BS. */
const textControls: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0d, 0x0c, 0x1b, 0x08]);

/** Whether the first bytes of a file say it is no text: a NUL, or more than 30 % control bytes. */
export function looksBinary(bytes: Buffer): boolean {
  const head = bytes.subarray(0, sniffedBytes);
  if (head.includes(0)) return true;
  let controls = 0;
  for (const byte of head) {
    if ((byte < 0x20 && !textControls.has(byte)) || byte === 0x7f) controls += 1;
  }
  return controls > head.length * 0.3;
}
