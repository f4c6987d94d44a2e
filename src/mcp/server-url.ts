import { isIP } from 'node:net';

/** Whether a text still holds something to be filled in at connect (mcp-host 3.2). */
export function hasPlaceholder(text: string): boolean {
  return text.includes('${');
}

/** What is wrong with the address of a server, as a rule; undefined when nothing is (mcp-host 3.1). */
export function checkServerUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return 'is no URL';
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must begin with http:// or https://';
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname))
    return 'may use http only for this machine (localhost)';
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  if (text.includes('#')) return 'must not hold a fragment';
  return undefined;
}

/** Whether a host name (as `URL.hostname` gives it) means this machine. */
export function isLoopbackHost(hostname: string): boolean {
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  if (isIP(host) === 4) return host.startsWith('127.');
  if (isIP(host) === 6) return host === '::1';
  return host === 'localhost' || host.endsWith('.localhost');
}
