/** Elements whose text is not for readers. */
const hidden: ReadonlySet<string> = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'iframe',
  'object',
  'select',
]);
/** Elements that start on a new line; those with a blank line around them. */
const blocks: ReadonlySet<string> = new Set(
  'address article aside blockquote body br dd details dialog div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hr html legend li main nav ol p pre section summary table tbody td tfoot th thead title tr ul'.split(
    ' ',
  ),
);
const spaced: ReadonlySet<string> = new Set(
  'blockquote dl figure h1 h2 h3 h4 h5 h6 hr ol p pre table title ul'.split(' '),
);

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  copy: '©',
  reg: '®',
  trade: '™',
  hellip: '…',
  mdash: '—',
  ndash: '–',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  laquo: '«',
  raquo: '»',
  bull: '•',
  middot: '·',
  times: '×',
  euro: '€',
  pound: '£',
  deg: '°',
  larr: '←',
  rarr: '→',
};

/** The readable text of an HTML page: one line per block, headings and list items marked. Time grows with its length only. */
export function toPlainText(html: string): string {
  const writer = createWriter();
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf('<', at);
    const end = open < 0 ? html.length : open;
    writer.text(html.slice(at, end));
    if (open < 0) break;
    at = readMarkup(html, open, writer);
  }
  return writer.end();
}

/** Reads one tag or comment at `open`. @returns where the text goes on */
function readMarkup(html: string, open: number, writer: Writer): number {
  if (html.startsWith('<!--', open)) return after(html, '-->', open + 4);
  if (html.startsWith('<!', open) || html.startsWith('<?', open)) return after(html, '>', open);
  const isClosing = html[open + 1] === '/';
  const nameStart = open + (isClosing ? 2 : 1);
  let nameEnd = nameStart;
  while (/[A-Za-z0-9:-]/.test(html[nameEnd] ?? '') && nameEnd - nameStart < 64) nameEnd += 1;
  const name = html.slice(nameStart, nameEnd).toLowerCase();
  if (!/^[a-z]/.test(name)) {
    writer.text('<');
    return open + 1;
  }
  const close = tagEnd(html, nameEnd);
  if (hidden.has(name) && !isClosing) return skipElement(html, name, close);
  writer.tag(name, isClosing);
  return close;
}

/** Where a tag ends, `>` inside quoted attributes not counted. */
function tagEnd(html: string, from: number): number {
  let quote = '';
  for (let at = from; at < html.length; at += 1) {
    const character = html[at] ?? '';
    if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === '>') return at + 1;
    else if ((character === '"' || character === "'") && html[at - 1] === '=') quote = character;
  }
  return html.length;
}

function skipElement(html: string, name: string, from: number): number {
  const pattern = new RegExp(`</${name}\\b`, 'gi');
  pattern.lastIndex = from;
  const found = pattern.exec(html);
  return found === null ? html.length : after(html, '>', found.index);
}

function after(html: string, mark: string, from: number): number {
  const at = html.indexOf(mark, from);
  return at < 0 ? html.length : at + mark.length;
}

interface Writer {
  text(raw: string): void;
  tag(name: string, isClosing: boolean): void;
  end(): string;
}

function createWriter(): Writer {
  const parts: string[] = [];
  let line = '';
  let preformatted = 0;

  function breakLine(blank: boolean): void {
    const text = preformatted > 0 ? line : line.trim();
    if (text !== '') parts.push(text);
    line = '';
    if (blank && parts.length > 0 && parts.at(-1) !== '') parts.push('');
  }

  return {
    text(raw) {
      const text = decodeEntities(raw);
      if (preformatted === 0) {
        const joined = text.replaceAll(/\s+/g, ' ');
        line += line.endsWith(' ') || line === '' ? joined.trimStart() : joined;
        return;
      }
      const pieces = text.split('\n');
      for (const [index, piece] of pieces.entries()) {
        line += piece;
        if (index < pieces.length - 1) {
          parts.push(line);
          line = '';
        }
      }
    },
    tag(name, isClosing) {
      if (!blocks.has(name)) return;
      if ((name === 'td' || name === 'th') && !isClosing) {
        if (line.trim() !== '') line += ' | ';
        return;
      }
      if (name === 'td' || name === 'th') return;
      breakLine(spaced.has(name));
      if (name === 'pre') preformatted = Math.max(0, preformatted + (isClosing ? -1 : 1));
      if (isClosing) return;
      if (name === 'li') line = '- ';
      else if (/^h[1-6]$/.test(name)) line = `${'#'.repeat(Number(name[1]))} `;
    },
    end() {
      breakLine(false);
      return parts.join('\n').trim();
    },
  };
}

function decodeEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replaceAll(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{2,8}));/g, (whole, decimal, hex, name) => {
    if (typeof name === 'string') return Object.hasOwn(entities, name) ? (entities[name] ?? whole) : whole;
    const code = typeof hex === 'string' ? Number.parseInt(hex, 16) : Number(decimal);
    const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return isCharacter ? String.fromCodePoint(code) : '\ufffd';
  });
}
