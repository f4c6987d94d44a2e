/** How many bytes at the front of a file decide whether it is text (agent-runtime 16). */
export const sniffedBytes = 8_192;

/** Whether the first bytes of a file say it is no text: a NUL, or more than 30 % control bytes. */
export function looksBinary(bytes: Buffer): boolean {
  const head = bytes.subarray(0, sniffedBytes);
  if (head.includes(0)) return true;
  let controls = 0;
  // why: by index; an iterator over bytes costs several times as much, and this runs for each file that is read
  for (let at = 0; at < head.length; at += 1) if (isControl(head[at] ?? 0)) controls += 1;
  return controls > head.length * 0.3;
}

/** Control bytes that do not occur in text files: all but tab, LF, CR, FF, ESC, BS. */
function isControl(byte: number): boolean {
  if (byte >= 0x20) return byte === 0x7f;
  return byte !== 0x09 && byte !== 0x0a && byte !== 0x0d && byte !== 0x0c && byte !== 0x1b && byte !== 0x08;
}
