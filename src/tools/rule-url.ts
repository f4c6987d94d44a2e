import type { JudgedArgument } from './rule-judgement.ts';
import { escapeWildcards, matchesWildcard, parseWildcard, type Wildcard } from './wildcards.ts';

/**
 * An address. Patterns are `[scheme://]host[:port][/path]`: without a scheme http and https, without a path every path,
 * without a port the usual one where something is allowed and every port where it is not; `*` in the host stands for a part
 * of the name and never crosses into the path.
 */
export function openUrlArgument(text: string): JudgedArgument {
  const url = parseUrl(text);
  if (url === undefined) {
    return { mayBe: () => true, isCoveredBy: () => false, problem: 'the address cannot be read', exact: '' };
  }
  // why: a server may read `%61` as `a` and a letter in either case, so what forbids looks at every spelling
  const paths = [url.path, decode(url.path)].map((path) => path.toLowerCase());
  return {
    mayBe: (pattern) => {
      const asked = parsePattern(pattern.toLowerCase());
      return isSameServer(asked, url, 'any port') && paths.some((path) => matchesWildcard(asked.path, path));
    },
    isCoveredBy: (patterns) =>
      !url.hasUser &&
      patterns.some((pattern) => {
        const asked = parsePattern(pattern);
        return isSameServer(asked, url, 'usual port') && matchesWildcard(asked.path, url.path);
      }),
    exact: `${url.scheme}://${url.host}${url.port === '' ? '' : `:${url.port}`}${escapeWildcards(url.path)}`,
  };
}

interface Address {
  readonly scheme: string;
  readonly host: string;
  readonly port: string;
  /** With the query. */
  readonly path: string;
  readonly hasUser: boolean;
}

function parseUrl(text: string): Address | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, hostname, port, pathname, search, username, password } = new URL(text);
  return {
    scheme: protocol.slice(0, -1),
    host: hostname.replace(/\.$/, ''),
    port,
    path: pathname + search,
    hasUser: username !== '' || password !== '',
  };
}

interface AddressPattern {
  readonly scheme: string | undefined;
  readonly host: string;
  readonly port: string | undefined;
  readonly path: Wildcard;
}

function parsePattern(pattern: string): AddressPattern {
  const found = /^(?:([a-z][a-z0-9+.-]*|\*):\/\/)?(\[[^\]]*\]|[^/:?#]*)(?::(\d+|\*))?(.*)$/is.exec(pattern.trim());
  const [, scheme, host = '', port, path = ''] = found ?? [];
  return {
    scheme: scheme === '*' ? undefined : scheme?.toLowerCase(),
    host: toHostPattern(host.toLowerCase()),
    port,
    path: parseWildcard(path === '' || path === '/*' ? '*' : path),
  };
}

const usualPorts: ReadonlyMap<string, string> = new Map([
  ['http', '80'],
  ['https', '443'],
]);

function isSameServer(asked: AddressPattern, url: Address, without: 'any port' | 'usual port'): boolean {
  const isScheme = asked.scheme === undefined ? usualPorts.has(url.scheme) : asked.scheme === url.scheme;
  const usual = usualPorts.get(url.scheme);
  const port = url.port === '' ? usual : url.port;
  const isPort =
    asked.port === undefined ? without === 'any port' || port === usual : asked.port === '*' || asked.port === port;
  return isScheme && isPort && matchesWildcard(parseWildcard(asked.host), url.host);
}

/** A host as addresses spell it: `bücher.example` is `xn--bcher-kva.example`. */
function toHostPattern(host: string): string {
  const plain = host.replace(/\.$/, '');
  return !plain.includes('*') && URL.canParse(`http://${plain}`) ? new URL(`http://${plain}`).hostname : plain;
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // a stray `%` stands for itself
  }
}
