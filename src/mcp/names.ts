import { createHash } from 'node:crypto';

/** The longest tool name a provider accepts. */
const maxNameLength = 64;
const keptLength = 55;

/**
 * The name models see for a tool of a server (mcp-host 5.1): depends on these two texts only, so it is the same in every
 * run and whatever else is connected.
 */
export function toToolName(server: string, tool: string): string {
  const name = `mcp__${server}__${tool}`.replaceAll(/[^A-Za-z0-9_-]/gu, '_');
  if (name.length <= maxNameLength) return name;
  const digest = createHash('sha256').update(`${server}/${tool}`).digest('hex').slice(0, 8);
  return `${name.slice(0, keptLength)}_${digest}`;
}

/** Whether a bare tool name matches one of the patterns; `*` is any run of characters, `?` one character. */
export function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => matchesPattern(pattern, name));
}

/** Whether the record's lists let a tool through: `deny` wins, an empty `allow` lets all through (mcp-host 3.1). */
export function isToolAllowed(
  lists: { readonly allow: readonly string[]; readonly deny: readonly string[] },
  name: string,
): boolean {
  if (matchesAny(lists.deny, name)) return false;
  return lists.allow.length === 0 || matchesAny(lists.allow, name);
}

/**
 * Without a regular expression: a pattern such as `*a*a*a*b` would make one backtrack without end (WK8). Greedy with one
 * step back to the last `*`, so the work is at most pattern times name.
 */
function matchesPattern(pattern: string, name: string): boolean {
  const wanted = Array.from(pattern);
  const given = Array.from(name);
  let at = 0;
  let star = -1;
  let resume = 0;
  for (let index = 0; index < given.length;) {
    if (wanted[at] === '*') {
      star = at;
      resume = index;
      at += 1;
    } else if (at < wanted.length && (wanted[at] === '?' || wanted[at] === given[index])) {
      at += 1;
      index += 1;
    } else if (star >= 0) {
      at = star + 1;
      resume += 1;
      index = resume;
    } else {
      return false;
    }
  }
  while (wanted[at] === '*') at += 1;
  return at === wanted.length;
}
