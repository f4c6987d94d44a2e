import { BlockList, isIP } from 'node:net';

/** Address ranges that do not belong to the public internet (IANA special-purpose registries). */
const specialV4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const;

/** Parts of the global unicast range (`2000::/3`) that are special, some of them tunnels to any IPv4 address. */
const specialV6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const;

/** Whether an IP address, as text, is one of the public internet. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  // A zone (`fe80::1%eth0`) only means something on this machine's own networks.
  if (family === 0 || address.includes('%')) return false;
  const special = new BlockList();
  if (family === 4) {
    for (const [network, bits] of specialV4) special.addSubnet(network, bits, 'ipv4');
    return !special.check(address, 'ipv4');
  }
  const global = new BlockList();
  global.addSubnet('2000::', 3, 'ipv6');
  for (const [network, bits] of specialV6) special.addSubnet(network, bits, 'ipv6');
  return global.check(address, 'ipv6') && !special.check(address, 'ipv6');
}
