import dns from 'node:dns';
import { BlockList, isIP, isIPv6, type LookupFunction } from 'node:net';
import { isOwnAddress } from './own-address.ts';

/** Why an address from the manifest is not probed; null: it is probed. */
export type AddressGuard = (address: string, port: number) => string | null;

/** Link-local addresses, which clouds use for metadata services, and other known metadata addresses. */
const METADATA = new BlockList();
METADATA.addSubnet('169.254.0.0', 16);
METADATA.addSubnet('fe80::', 10, 'ipv6');
METADATA.addSubnet('64:ff9b::a9fe:0', 112, 'ipv6');
// AWS, Google Cloud, Alibaba Cloud, Azure.
METADATA.addSubnet('fd00:ec2::', 32, 'ipv6');
METADATA.addAddress('fd20:ce::254', 'ipv6');
METADATA.addAddress('100.100.100.200');
METADATA.addAddress('168.63.129.16');

/**
 * Prevents a manifest from directing probes at targets that only this process can access: metadata services and the
 * process's own ports.
 */
export function createAddressGuard(ownPorts: readonly number[]): AddressGuard {
  return (address, port) => {
    if (METADATA.check(address, isIPv6(address) ? 'ipv6' : 'ipv4'))
      return 'link-local and metadata addresses are not probed';
    if (ownPorts.includes(port) && isOwnAddress(address)) return "the sidecar's own ports are not probed";
    return null;
  };
}

/** The guard's reason, as the lookup error of a host name whose addresses are all blocked. */
export class RefusedAddress extends Error {}

/**
 * Connection options that only allow addresses that the guard has checked: none for an IP address, a `lookup` function
 * for a host name. `refusal`: why the address must not be connected to.
 */
export function guarded(
  guard: AddressGuard | undefined,
  host: string,
  port: number,
): { refusal: string } | { refusal: null; lookup?: LookupFunction } {
  if (guard === undefined) return { refusal: null };
  if (isIP(host) > 0) return { refusal: guard(host, port) };
  const lookup: LookupFunction = (name, options, callback) => {
    // Not imported by name: the sidecar replaces `dns.lookup` for `localhost`.
    dns.lookup(name, { ...options, all: true }, (error, found) => {
      const reasons = error === null ? found.map(({ address }) => guard(address, port)) : [];
      const allowed = error === null ? found.filter((_, index) => reasons[index] === null) : [];
      const [first] = allowed;
      if (first === undefined) callback(error ?? new RefusedAddress(reasons[0] ?? 'no address'), []);
      else if (options.all === true) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
  return { refusal: null, lookup };
}
