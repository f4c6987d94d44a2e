import { lookup as lookupName } from 'node:dns/promises';
import { isIP } from 'node:net';
import { isPublicAddress } from '../../transport/public-address.ts';
import { isLoopbackHost } from '../server-url.ts';
import { oauthError } from './errors.ts';

/** All addresses of a host name. */
export type LookupAddresses = (host: string) => Promise<readonly string[]>;

export const lookupAddresses: LookupAddresses = async (host) =>
  (await lookupName(host, { all: true })).map(({ address }) => address);

export interface AddressRules {
  /** Addresses the user wrote down: their origins are trusted as they are. */
  readonly typed: readonly string[];
  readonly lookup: LookupAddresses;
}

/**
 * Judges addresses a server names in its metadata (OA6): https, no user name, and no host of this machine or a private
 * network, unless the user wrote down that origin, or a server on this machine.
 */
export interface AddressCheck {
  /** @throws EngineError `oauth_insecure_url`; the error of the look-up for an unknown name */
  require(url: URL): Promise<void>;
}

export function createAddressCheck(rules: AddressRules): AddressCheck {
  const typed = rules.typed.filter((text) => URL.canParse(text)).map((text) => new URL(text));
  const origins = new Set(typed.map((url) => url.origin));
  const allowsLoopback = typed.some((url) => isLoopbackHost(url.hostname));

  async function isAllowed(url: URL): Promise<boolean> {
    if (url.username !== '' || url.password !== '') return false;
    const isLoopback = isLoopbackHost(url.hostname);
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback)) return false;
    if (origins.has(url.origin)) return true;
    if (isLoopback) return allowsLoopback;
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const addresses = isIP(host) === 0 ? await rules.lookup(host) : [host];
    return addresses.length > 0 && addresses.every(isPublicAddress);
  }

  return {
    async require(url) {
      if (!(await isAllowed(url))) throw oauthError('oauth_insecure_url');
    },
  };
}
