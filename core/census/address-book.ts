import type { LaneTarget } from '../egress/lane-use.ts';
import { setNewest } from '../untrusted/set-newest.ts';
import { addressText, neighbourhoodOf, parseIp } from './address.ts';
import type { SocketAddress } from './socket-table.ts';

/** The hosts whose addresses the census compares. Names are lower case, IPv6 addresses without brackets. */
export interface KnownHosts {
  /** Hosts to which the agent may connect: declared hosts, upstreams of lanes and services of the product. */
  expected: ReadonlySet<string>;
  /** Other hosts, which are resolved only to name a finding. */
  others: ReadonlySet<string>;
  /** Ends of expected names, with the dot: `.example.com`. They cannot be resolved. */
  domains: readonly string[];
  /** Whether the manifest also declares hosts that cannot be read here, such as references. */
  isPartial: boolean;
  /** Expected hosts to which only the lanes may connect, at one port. */
  lanes: readonly LaneTarget[];
}

/**
 * `expected`: no finding. `undeclared`: no declared host has the address. `unknown`: the address cannot be attributed to
 * one host, so that it is never a violation. `name`: the only host that is known to have the address. `lanes`: only the upstreams of
 * these lanes have the address, so that a connection bypasses them.
 */
export interface Attribution {
  state: 'expected' | 'undeclared' | 'unknown';
  name: string | null;
  lanes?: readonly string[];
}

/** How long an address counts after it was last in a response. Clients keep connections and responses for a while. */
const EXPIRY_MS = 3_600_000;
/** Of an upstream of a lane: longer than its findings are kept, which would lose the lane. */
const LANE_EXPIRY_MS = 25 * EXPIRY_MS;
/** Some hosts resolve to other addresses each time. */
const MAX_ADDRESSES_PER_HOST = 256;
const MAX_HOSTS = 1_000;

/** Addresses of known hosts, and the attribution of a connection to one of them. */
export class AddressBook {
  #known: KnownHosts = { expected: new Set(), others: new Set(), domains: [], isPartial: false, lanes: [] };
  /** Expected hosts that are IP addresses. */
  #expectedAddresses = new Set<string>();
  /** Host -> address -> monotonic milliseconds of its expiry. */
  readonly #addresses = new Map<string, Map<string, number>>();
  /** Expected hosts for which no lookup has ended. */
  readonly #unresolved = new Set<string>();

  /** Replaces the known hosts; what was learned about addresses is kept. */
  setHosts(known: KnownHosts): void {
    this.#known = known;
    this.#expectedAddresses = new Set();
    this.#unresolved.clear();
    for (const host of known.expected) {
      const address = parseIp(host);
      if (address !== null) this.#expectedAddresses.add(addressText(address));
      else if (!this.#addresses.has(host)) this.#unresolved.add(host);
    }
  }

  /** The names that have to be resolved. */
  get names(): string[] {
    return [...this.#known.expected, ...this.#known.others].filter((host) => parseIp(host) === null);
  }

  /** Records the addresses of a name. An empty list means that the name has no address. */
  learned(host: string, addresses: readonly string[], nowMs: number): void {
    const name = host.toLowerCase();
    this.#unresolved.delete(name);
    let known = this.#addresses.get(name);
    if (known === undefined) {
      if (this.#addresses.size >= MAX_HOSTS) this.#forgetExpired(nowMs);
      if (this.#addresses.size >= MAX_HOSTS && !(this.#isListed(name) && this.#forgetUnlisted())) return;
      this.#addresses.set(name, (known = new Map<string, number>()));
    }
    const isOfLane = this.#known.lanes.some(({ host: upstream }) => upstream === name);
    const expiresMs = nowMs + (isOfLane ? LANE_EXPIRY_MS : EXPIRY_MS);
    for (const text of addresses) {
      const address = parseIp(text);
      if (address !== null) setNewest(known, [addressText(address), expiresMs], MAX_ADDRESSES_PER_HOST);
    }
  }

  /** Attributes a connection to this address and port. */
  attribute(address: SocketAddress, port: number, nowMs: number): Attribution {
    const text = addressText(address);
    const names = this.#namesOf(text, nowMs);
    const expected = names.filter((name) => this.#isExpected(name));
    const isDeclared = this.#expectedAddresses.has(text) || expected.length > 0;
    // Names that the agent made the CONNECT lane look up do not hide a bypass.
    const isExplained = names.every((name) => this.#isExpected(name) || !this.#isListed(name));
    const hosts = this.#expectedAddresses.has(text) ? [...expected, text] : expected;
    const lanes = isExplained ? this.#lanesPast(hosts, port) : [];
    if (lanes.length > 0) {
      const [host = null] = expected.length === 1 ? expected : [];
      return { state: 'undeclared', name: host, lanes };
    }
    if (isDeclared && expected.length === names.length) return { state: 'expected', name: null };
    if (names.length > 0) {
      const [name = null] = names.length === 1 ? names : [];
      // Ignore names that the agent chose itself: it could hide any address behind two names.
      const isShared = names.filter((each) => this.#isListed(each)).length > 1;
      const isUnknown = isShared || isDeclared || this.#known.isPartial;
      return { state: isUnknown ? 'unknown' : 'undeclared', name };
    }
    return { state: this.#mayBeExpected(address, nowMs) ? 'unknown' : 'undeclared', name: null };
  }

  /** The lanes to these hosts; empty if another declaration explains one of the hosts. */
  #lanesPast(hosts: readonly string[], port: number): string[] {
    const lanes = this.#known.lanes.filter((lane) => lane.port === port && hosts.includes(lane.host));
    return hosts.every((host) => lanes.some((lane) => lane.host === host))
      ? [...new Set(lanes.map(({ lane }) => lane))]
      : [];
  }

  #isExpected(name: string): boolean {
    const { expected, domains } = this.#known;
    return expected.has(name) || domains.some((domain) => name.endsWith(domain));
  }

  #isListed(name: string): boolean {
    return this.#isExpected(name) || this.#known.others.has(name);
  }

  /** Removes a host that the agent chose. false: there is none. */
  #forgetUnlisted(): boolean {
    for (const name of this.#addresses.keys()) if (!this.#isListed(name)) return this.#addresses.delete(name);
    return false;
  }

  /** Whether an address without a name may belong to a declared host. */
  #mayBeExpected(address: SocketAddress, nowMs: number): boolean {
    const { domains, isPartial } = this.#known;
    if (this.#unresolved.size > 0 || domains.length > 0 || isPartial) return true;
    if (isPrivate(address)) return false;
    const neighbourhood = neighbourhoodOf(address);
    for (const [name, addresses] of this.#addresses) {
      if (!this.#isExpected(name)) continue;
      for (const [text, expiresMs] of addresses) {
        const known = parseIp(text);
        if (expiresMs > nowMs && known !== null && neighbourhoodOf(known) === neighbourhood) return true;
      }
    }
    return false;
  }

  #namesOf(text: string, nowMs: number): string[] {
    const names: string[] = [];
    for (const [name, addresses] of this.#addresses)
      if ((addresses.get(text) ?? -Infinity) > nowMs) names.push(name);
    return names;
  }

  #forgetExpired(nowMs: number): void {
    for (const [name, addresses] of this.#addresses) {
      for (const [text, expiresMs] of addresses) if (expiresMs <= nowMs) addresses.delete(text);
      if (addresses.size === 0) this.#addresses.delete(name);
    }
  }
}

/** Whether the address is not shared by the customers of a provider: private networks and unique local addresses. */
function isPrivate({ family, words }: SocketAddress): boolean {
  if (family === 6) return words[0] >>> 25 === 0xfc >>> 1;
  const word = words[3];
  const [first, second] = [word >>> 24, (word >>> 16) & 0xff];
  if (first === 10) return true;
  if (first === 172) return second >= 16 && second < 32;
  if (first === 192) return second === 168;
  return first === 100 && second >= 64 && second < 128;
}
