/** Why SQL text is destructive (rule 11), as a few words; nothing when it is not. */
export function destructiveSql(text: string): string | undefined {
  // Servers disagree on whether a backslash escapes a quote and on what starts a comment, so every reading is checked.
  for (const escapes of [true, false]) {
    for (const comments of [true, false]) {
      const reason = judgeStatements(withoutTexts(text, escapes, comments));
      if (reason !== undefined) return reason;
    }
  }
  return undefined;
}

/** The statements without quoted texts and, on demand, comments; what a server may execute after all stays in. */
function withoutTexts(text: string, escapes: boolean, comments: boolean): string {
  // MySQL executes what stands in `/*! … */`; `execute`, `prepare` and `do` execute what stands in quotes.
  const visible = text.replaceAll(/\/\*!\d*([^]*?)\*\//g, ' $1 ');
  const runsTexts = /\b(?:execute|prepare|do)\b|\$\w*\$/i.test(visible);
  const inner = escapes ? String.raw`[^Q\\]|\\[^]|QQ` : '[^Q]|QQ';
  const quoted = ["'", '"', '`'].map((quote) => `${quote}(?:${inner.replaceAll('Q', quote)})*${quote}`);
  const pattern = new RegExp(
    [...quoted, ...(comments ? [String.raw`(?:--|#)[^\n]*`, String.raw`\/\*[^]*?\*\/`] : [])].join('|'),
    'g',
  );
  if (runsTexts) return visible.replaceAll("'", ' ');
  return visible.replaceAll(pattern, (found) => (found.startsWith("'") ? " '' " : /^["`]/.test(found) ? found : ' '));
}

function judgeStatements(text: string): string | undefined {
  const statements = text.split(';');
  if (statements.some((statement) => /\bdrop\b/i.test(statement))) return '`DROP`';
  if (statements.some((statement) => /\btruncate\b/i.test(statement) && !/\btruncate\s*\(\s*[^)]+,/i.test(statement)))
    return '`TRUNCATE`';
  return statements.some(deletesEverything) ? '`DELETE` without `WHERE`' : undefined;
}

function deletesEverything(statement: string): boolean {
  for (const match of statement.matchAll(/\bdelete\b(?!\s*(?:=|,|\)))/gi)) {
    const before = statement.slice(0, match.index);
    // `ON DELETE CASCADE`, `FOR DELETE`, a column or a permission of that name.
    if (/\b(?:on|for|grant|revoke|before|after|or)\s*$/i.test(before)) continue;
    const condition = /\bwhere\b([^]*)$/i.exec(upToClosing(statement.slice(match.index)))?.[1];
    if (condition === undefined || isAlwaysTrue(condition)) return true;
  }
  return false;
}

/** The text up to the bracket that closes one opened before it. */
function upToClosing(text: string): string {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '(') depth += 1;
    else if (text[at] === ')') {
      depth -= 1;
      if (depth < 0) return text.slice(0, at);
    }
  }
  return text;
}

function isAlwaysTrue(condition: string): boolean {
  const plain = condition
    .replace(/\b(?:returning|limit|order\s+by)\b[^]*$/i, '')
    .replaceAll(/[\s()]/g, '')
    .toLowerCase();
  return (
    plain === '' ||
    /^(?:true|[1-9]\d*|not(?:false|0))$/.test(plain) ||
    /^(.+)=\1$/.test(plain) ||
    /or(?:true|1=1|'*'='*'|1)$/.test(plain)
  );
}
