import { hostName, SEPARATORS } from '../egress/declared.ts';
import { modelNamesOf } from '../facts/sightings.ts';
import { vendorNameOf, type VendorName } from '../vendors/vendors.ts';
import { covers, matches, matchesSome } from './pattern.ts';

/** How models, tools and hosts are compared with patterns. The manifest, the observation and the calls on lanes use the same. */

/** Vendors whose APIs have only models of their own. */
const MAKERS: ReadonlySet<string> = new Set<VendorName>([
  ...(['openai', 'anthropic', 'google', 'mistral', 'cohere', 'deepseek', 'xai'] as const),
]);

/** Whether the path in front of a model's id, which gateways add, names another maker than this vendor. */
function isOfAnother(vendor: string, id: string): boolean {
  const makers = id
    .split('/')
    .slice(0, -1)
    .map(vendorNameOf)
    .filter((name) => MAKERS.has(name));
  return MAKERS.has(vendor) && makers.length > 0 && !makers.includes(vendor);
}

/**
 * Whether a pattern allows a model of one of these vendors. The id counts in any case, with and without its date and the path of a gateway.
 * A pattern without a slash is compared with the id alone. `anthropic/claude` is not a model of OpenAI, also if its client is.
 */
export function allowsModel(allowed: readonly string[], vendors: readonly string[], id: string): boolean {
  const lower = id.toWellFormed().toLowerCase();
  const ids = [...new Set([lower, ...modelNamesOf(id.toWellFormed())])];
  const ofVendors = vendors.filter((vendor) => !isOfAnother(vendorNameOf(vendor), lower));
  const withVendor = ofVendors.flatMap((vendor) =>
    [...new Set([vendor.toLowerCase(), vendorNameOf(vendor)])].flatMap((name) =>
      ids.map((each) => `${name}/${each}`),
    ),
  );
  const names = [...ids, ...withVendor];
  return allowed.some((pattern) => names.some((name) => matches(pattern.toLowerCase(), name)));
}

/** The lengths of the names of MCP servers: at every other place of a long name no server can end. */
const knownLengths = new WeakMap<ReadonlySet<string>, readonly number[]>();

function lengthsOf(servers: ReadonlySet<string>): readonly number[] {
  const lengths = knownLengths.get(servers) ?? [...new Set([...servers].map(({ length }) => length))];
  knownLengths.set(servers, lengths);
  return lengths;
}

/** The name, and if it begins with the name of an MCP server, the name of the tool alone. */
function toolNames(name: string, servers: ReadonlySet<string>): string[] {
  const names = [name];
  for (const whole of [name, name.startsWith('mcp__') ? name.slice(5) : ''])
    for (const at of lengthsOf(servers))
      for (const separator of SEPARATORS)
        if (whole.startsWith(separator, at) && servers.has(whole.slice(0, at)))
          names.push(whole.slice(at + separator.length));
  return names;
}

/** The patterns of tools of one rule. */
export interface ToolRule {
  allowed?: readonly string[];
  forbidden?: readonly string[];
}

/**
 * Why a tool is outside the rule; null: it is not.
 * @param isPattern a declared name such as `files_*` stands for all names with this start: it must be allowed as a whole, and none of
 * its names may be forbidden. The name of a call is not a pattern.
 */
export function toolProblem(
  { allowed, forbidden }: ToolRule,
  name: string,
  { servers, isPattern = false }: { servers: ReadonlySet<string>; isPattern?: boolean },
): string | null {
  const start = isPattern && name.endsWith('*') ? name.slice(0, -1) : null;
  const names = toolNames(name.toWellFormed(), servers);
  // A start of the name of a server stands for all its tools.
  const hasServer = (whole: string): boolean =>
    [...servers].some((server) => server.startsWith(whole) || `mcp__${server}`.startsWith(whole));
  const starts = start === null ? [] : [...toolNames(start, servers), ...(hasServer(start) ? [''] : [])];
  const isForbidden = (pattern: string): boolean =>
    start === null ? matchesAnyOf(pattern, names) : starts.some((each) => matchesSome(pattern, each));
  const found = forbidden?.find(isForbidden);
  if (found !== undefined) return `tool ${name} is forbidden by ${found}`;
  if (allowed === undefined || allowed.some((pattern) => matchesAnyOf(pattern, names))) return null;
  return `tool ${name} is not one of ${allowed.join(', ')}`;
}

const matchesAnyOf = (pattern: string, names: readonly string[]): boolean =>
  names.some((name) => matches(pattern, name));

/** The start of an IPv4 address. A host name such as `10.example.com` must not match it. */
const ADDRESSES = /^[\d.]+\*$/;
const IPV4 = /^[\d.]+$/;

const LOOPBACK = /^(localhost|.*\.localhost|127(\.\d{1,3}){3}|::1)$/;

/** Whether a pattern allows a host, or a declared pattern of hosts such as `*.example.com` as a whole. Loopback hosts are always allowed. */
export function allowsHost(allowed: readonly string[], host: string): boolean {
  const name = hostName(host);
  const isAllowed = (pattern: string): boolean =>
    covers(pattern.toLowerCase(), name) && (IPV4.test(name) || !ADDRESSES.test(pattern));
  return LOOPBACK.test(name) || allowed.some(isAllowed);
}
