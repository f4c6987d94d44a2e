import { closeSync, fstatSync, readSync } from 'node:fs';
import { codeOf, type NotOpened } from './containment.ts';

export type FileRead =
  /** Valid until the next file is read. */
  { readonly kind: 'whole'; readonly bytes: Buffer } | { readonly kind: 'too_large' | 'special' | 'unreadable' };

/** Reads whole files one after the other into the same memory. */
export interface FileReader {
  /** Reads an opened file and closes it. */
  read(opened: { readonly ok: true; readonly fd: number } | NotOpened): FileRead;
}

/** What most files fit into. */
const firstBytes = 256 * 1_024;

/** @param maxBytes larger files are not read */
export function createFileReader(maxBytes: number): FileReader {
  let buffer = Buffer.allocUnsafeSlow(firstBytes);

  function readAll(fd: number): FileRead {
    let length = readSync(fd, buffer, 0, buffer.length, 0);
    // why: what is not full now was read to its end, so that most files cost three system calls. The handle still judges:
    // pipes and sockets refuse to be read at a position, and what yields more, such as a device, is looked at.
    if (length < buffer.length) return { kind: 'whole', bytes: buffer.subarray(0, length) };
    const stats = fstatSync(fd);
    if (!stats.isFile()) return { kind: 'special' };
    if (stats.size > maxBytes) return { kind: 'too_large' };
    buffer = Buffer.concat([buffer], Math.min(Math.max(stats.size * 2, buffer.length), maxBytes + 1));
    while (length < buffer.length) {
      const count = readSync(fd, buffer, length, buffer.length - length, length);
      if (count === 0) return { kind: 'whole', bytes: buffer.subarray(0, length) };
      length += count;
    }
    return { kind: 'too_large' };
  }

  return {
    read(opened) {
      if (!opened.ok) return { kind: opened.reason === 'failed' ? 'unreadable' : 'special' };
      try {
        return readAll(opened.fd);
      } catch (error) {
        const code = codeOf(error);
        if (code === 'EUNKNOWN') throw error;
        return { kind: code === 'ESPIPE' || code === 'EISDIR' ? 'special' : 'unreadable' };
      } finally {
        closeSync(opened.fd);
      }
    },
  };
}
