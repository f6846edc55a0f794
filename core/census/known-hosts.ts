import type { HostPatterns } from '../egress/declared.ts';
import type { LaneTarget } from '../egress/lane-use.ts';
import type { Vendor } from '../vendors/vendor.ts';
import { VENDORS } from '../vendors/vendors.ts';
import type { KnownHosts } from './address-book.ts';

/**
 * The hosts that the census compares.
 * @param product hosts and addresses that are expected for another reason: upstreams of lanes, the services of the product
 * and the DNS servers
 * @param lanes the upstreams to which only the lanes may connect
 */
export function knownHostsOf(
  declared: HostPatterns,
  product: readonly string[],
  lanes: readonly LaneTarget[],
): KnownHosts {
  const expected = new Set([...declared.exact, ...product.map((host) => host.toLowerCase())]);
  const others = new Set(VENDOR_HOSTS.filter((host) => !expected.has(host)));
  const { domains, unresolved } = declared;
  return { expected, others, domains, isPartial: unresolved.length > 0, lanes };
}

/** The hosts of model vendors: the most useful names of a finding. */
const VENDOR_HOSTS: readonly string[] = Object.values<Vendor>(VENDORS).flatMap(({ api }) => {
  const baseUrl = api?.baseUrl ?? null;
  return baseUrl === null || baseUrl.startsWith('http://localhost') ? [] : [new URL(baseUrl).hostname];
});

/** The addresses of `nameserver` lines in the content of `/etc/resolv.conf`. */
export function nameserversIn(resolvConf: string): string[] {
  return [...resolvConf.matchAll(/^\s*nameserver\s+(\S+)/gm)].flatMap(([, address]) => address ?? []);
}
