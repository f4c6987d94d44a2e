import { withoutOpenEnd } from './output-collector.ts';
import { looksBinary } from './text-bytes.ts';
import type { WebResponse } from './web-request.ts';

export type BodyText =
  | { readonly ok: true; readonly text: string }
  /** `cut`: a complete body ends inside a character (reliability FR2); `binary`: it is no text, whatever its type says. */
  | { readonly ok: false; readonly reason: 'cut' | 'binary' };

/**
 * The text of an answer. Its encoding is what a byte order mark says, else the header, else, in HTML, the page itself; UTF-8
 * where nobody says or nobody knows the name.
 */
export function decodeBody(response: WebResponse): BodyText {
  const { body, isCut } = response;
  const decoder = openDecoder(markedEncoding(body) ?? response.charset ?? declaredEncoding(response));
  const isWide = decoder.encoding.startsWith('utf-16');
  if (!isWide && looksBinary(body)) return { ok: false, reason: 'binary' };
  const whole = decoder.encoding === 'utf-8' ? withoutOpenEnd(body) : body;
  if (!isCut && whole.length < body.length) return { ok: false, reason: 'cut' };
  return { ok: true, text: decoder.decode(whole) };
}

function markedEncoding(body: Buffer): string | undefined {
  const mark = body.toString('latin1', 0, 3);
  if (mark === '\u00ef\u00bb\u00bf') return 'utf-8';
  if (mark.startsWith('\u00ff\u00fe')) return 'utf-16le';
  return mark.startsWith('\u00fe\u00ff') ? 'utf-16be' : undefined;
}

/** Where browsers look for it too, in bytes. */
const declarationBytes = 1_024;

/** `<meta charset="…">`, or the same inside a `content` attribute. */
function declaredEncoding({ contentType, body }: WebResponse): string | undefined {
  if (contentType !== '' && !contentType.includes('html')) return undefined;
  return /<meta\b[^>]*?\bcharset\s*=\s*["']?([^\s"'/>;]+)/i.exec(body.toString('latin1', 0, declarationBytes))?.[1];
}

function openDecoder(charset: string | undefined): { readonly encoding: string; decode(bytes: Buffer): string } {
  try {
    return new TextDecoder(charset ?? 'utf-8');
  } catch {
    return new TextDecoder('utf-8'); // an unknown name; most pages are UTF-8 whatever they say
  }
}
