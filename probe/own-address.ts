import { BlockList, isIPv4, isIPv6, type IPVersion } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';

/** Whether this IP address belongs to this machine: loopback, the unspecified address, or an interface address. */
export function isOwnAddress(address: string): boolean {
  const family = familyOf(address);
  if (family === null) return false;
  const own = new BlockList();
  own.addSubnet('127.0.0.0', 8);
  own.addSubnet('0.0.0.0', 8);
  own.addAddress('::1', 'ipv6');
  own.addAddress('::', 'ipv6');
  for (const each of Object.values(networkInterfaces()).flat())
    if (each !== undefined) own.addAddress(each.address, each.family === 'IPv6' ? 'ipv6' : 'ipv4');
  // Also matches IPv4 addresses in IPv6 notation.
  return own.check(address, family);
}

/** null: not an IP address. Compiling the pattern of IPv6 takes Node.js nine milliseconds, so names are not compared with it. */
function familyOf(address: string): IPVersion | null {
  if (address.includes(':')) return isIPv6(address) ? 'ipv6' : null;
  return isIPv4(address) ? 'ipv4' : null;
}

/** The same for the host of a URL, without DNS: also true for `localhost` and this machine's host name. */
export function isOwnHost(host: string): boolean {
  const name = host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');
  return (
    isOwnAddress(name) ||
    name === 'localhost' ||
    name.endsWith('.localhost') ||
    name === hostname().toLowerCase()
  );
}
