import { present } from '../untrusted/present.ts';
import { reportedName } from '../untrusted/reported-name.ts';
import { declaredModelName, modelNamesOf } from '../facts/sightings.ts';
import { parseAddress } from '../facts/address.ts';
import { reachTargets } from '../facts/declared.ts';
import { modelVendorOf } from '../vendors/vendors.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { referenceOf } from '../manifest/references.ts';

/** What a manifest declares about outgoing calls, computed once per manifest. */
export interface DeclaredEgress {
  /** Ids as declared: model, fallback, `spec.egress.models`; each once. */
  models: readonly string[];
  /** The names under which requested ids are looked up. */
  modelNames: ReadonlySet<string>;
  tools: ToolPatterns;
  /** Names of `spec.mcp.servers`. */
  mcpServers: ReadonlySet<string>;
  hosts: HostPatterns;
}

export interface ToolPatterns {
  exact: ReadonlySet<string>;
  /** Starts of names. */
  prefixes: readonly string[];
}

export interface HostPatterns {
  /** Lower case, IPv6 addresses without brackets. */
  exact: ReadonlySet<string>;
  /** Ends of names with the dot: `.example.com`. */
  domains: readonly string[];
  /** Manifest paths of addresses that are references or cannot be read, so that their hosts are unknown. */
  unresolved: readonly string[];
}

export function declaredEgressOf(manifest: Manifest): DeclaredEgress {
  const { model, tools = [], mcp, egress } = manifest.spec;
  const models = [model.id, ...(model.fallback ? [model.fallback.id] : []), ...(egress?.models ?? [])];
  const patterns = (egress?.tools ?? []).map(reportedName);
  const names = patterns.filter((name) => !name.endsWith('*'));
  return {
    models: [...new Set(models)],
    modelNames: new Set(models.map((id) => declaredModelName(id.toWellFormed()))),
    tools: {
      exact: new Set([...tools.map(({ name }) => reportedName(name)), ...names]),
      prefixes: patterns.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1)),
    },
    mcpServers: new Set((mcp?.servers ?? []).map(({ name }) => name)),
    hosts: hostsOf(manifest),
  };
}

/** Whether the requested id is a declared id, with or without a date, in any case, and with any path of a gateway. */
export function isDeclaredModel({ modelNames }: DeclaredEgress, id: string): boolean {
  return modelNamesOf(id.toWellFormed()).some((name) => modelNames.has(name));
}

/** @param mcpTools the names that `mcpToolsIn` returned */
export function isDeclaredTool(
  { tools }: Pick<DeclaredEgress, 'tools'>,
  name: string,
  mcpTools: ReadonlySet<string> = new Set(),
): boolean {
  const known = reportedName(name);
  return (
    tools.exact.has(known) || mcpTools.has(name) || tools.prefixes.some((start) => known.startsWith(start))
  );
}

/** null: not known, because the manifest has addresses whose hosts are unknown. */
export function isDeclaredHost({ hosts }: Pick<DeclaredEgress, 'hosts'>, host: string): boolean | null {
  const name = hostName(host);
  if (hosts.exact.has(name) || hosts.domains.some((domain) => name.endsWith(domain))) return true;
  return hosts.unresolved.length > 0 ? null : false;
}

/** What frameworks put between the name of an MCP server and the name of its tool. */
export const SEPARATORS = ['__', '_', '-', '.', ':', '/'];

/**
 * The names that are tools of declared MCP servers: the names that a server lists, alone or after the server's name, and the
 * vendor's tool `mcp:<server>`.
 * @param listed the tools of each server, as they were listed on its lane
 * @param vendorTools those of the names that the vendor of the model runs: a tool of this name on a server is another tool
 */
export function mcpToolsIn(
  { mcpServers }: Pick<DeclaredEgress, 'mcpServers'>,
  names: readonly string[],
  listed: ReadonlyMap<string, readonly string[]>,
  vendorTools: readonly string[] = [],
): Set<string> {
  const forms = [...mcpServers].map((server) => formsOf(server, listed.get(server) ?? NOT_LISTED));
  const isDeclared = (name: string): boolean =>
    vendorTools.includes(name)
      ? name.startsWith(VENDOR_MCP) && mcpServers.has(name.slice(VENDOR_MCP.length))
      : forms.some((each) => each.has(name));
  return new Set(names.filter(isDeclared));
}

/** Before the name of an MCP server in the id of its lane. */
export const MCP_LANE = 'mcp:';

/** The tools that each MCP server listed on its lane. */
export function listedTools(
  calls: readonly { lane: string; toolsOffered: readonly string[] }[],
): Map<string, readonly string[]> {
  const ofServers = calls.filter(({ lane }) => lane.startsWith(MCP_LANE));
  const byServer = Map.groupBy(ofServers, ({ lane }) => lane.slice(MCP_LANE.length));
  return new Map(
    [...byServer].map(([server, own]) => [server, own.flatMap(({ toolsOffered }) => toolsOffered)]),
  );
}

/** Before the name of an MCP server that the vendor of a model calls. */
const VENDOR_MCP = 'mcp:';

/**
 * On the lane of an MCP server: the names that are its own tools. Names count per server, so those of another server do not, and an
 * undeclared server has none. Until the lane has seen its list, every name counts.
 */
export function toolsOfServer(
  { mcpServers }: Pick<DeclaredEgress, 'mcpServers'>,
  server: string,
  { names, listed }: { names: readonly string[]; listed: readonly string[] | undefined },
): readonly string[] {
  if (!mcpServers.has(server)) return [];
  return listed === undefined ? names : names.filter((name) => listed.includes(name));
}

const NOT_LISTED: readonly string[] = [];

/** The forms by list and server. A list of a server is the same object until the server lists its tools again. */
const knownForms = new WeakMap<readonly string[], Map<string, ReadonlySet<string>>>();

/** All names that are tools of a server. Built once, because each call compares its tools with them. */
function formsOf(server: string, tools: readonly string[]): ReadonlySet<string> {
  const ofList = knownForms.get(tools) ?? new Map<string, ReadonlySet<string>>();
  const forms = ofList.get(server) ?? new Set(namesOf(server, tools));
  ofList.set(server, forms);
  knownForms.set(tools, ofList);
  return forms;
}

function namesOf(server: string, tools: readonly string[]): string[] {
  const ofTool = (tool: string): string[] => [
    tool,
    `mcp__${server}__${tool}`,
    ...SEPARATORS.map((separator) => `${server}${separator}${tool}`),
  ];
  return [VENDOR_MCP + server, ...tools.flatMap(ofTool)];
}

/** A host as it is compared: lower case, without the brackets of an IPv6 address and the final dot. */
export function hostName(host: string): string {
  return host
    .toWellFormed()
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');
}

function hostsOf(manifest: Manifest): HostPatterns {
  const { exact, domains } = listedHostsOf(manifest);
  const unresolved: string[] = [];
  for (const { path, value, type } of addressesOf(manifest)) {
    if (FILE.test(value)) continue;
    const found = referenceOf(value) !== null || LOOKED_UP.test(value) ? null : hostsIn(value, type);
    if (found === null) unresolved.push(path);
    else for (const host of found) exact.add(hostName(host));
  }
  for (const { path, provider } of vendorsOf(manifest)) {
    const { baseUrl } = modelVendorOf(provider).vendor;
    if (baseUrl === null) unresolved.push(path);
    else exact.add(hostName(new URL(baseUrl).hostname));
  }
  return { exact, domains, unresolved };
}

/** The hosts of `spec.egress.hosts`. */
export function listedHostsOf({ spec: { egress } }: Manifest): { exact: Set<string>; domains: string[] } {
  const patterns = (egress?.hosts ?? []).map(hostName);
  const domains = patterns.filter((host) => host.startsWith('*.')).map((host) => host.slice(1));
  return { exact: new Set(patterns.filter((host) => !host.startsWith('*.'))), domains };
}

/** A path, or a URL without a host, such as `sqlite:///data.db`. Clients find a host in `https:///host`, and in PostgreSQL's query. */
export const FILE = /^(?:(?!(?:https?|wss?):)[a-z][a-z0-9+.-]*:\/\/\/(?!.*[?&]host)|\.{0,2}\/(?!\/))/i;

/** A name whose hosts are in DNS. */
const LOOKED_UP = /^[a-z0-9.-]+\+srv:/i;
const AUTHORITY = /:\/\/([^/?#]*)/;
/** Clients read these in different ways. */
const AMBIGUOUS = /[\\\s]/;

/** The hosts of an address, which may list several; null: one cannot be read. */
export function hostsIn(address: string, type: string | undefined): string[] | null {
  const text = address.trim();
  const [, authority] = AUTHORITY.exec(text) ?? [];
  const listed = authority === undefined ? text : authority.slice(authority.lastIndexOf('@') + 1);
  if (AMBIGUOUS.test(text) || listed.includes('%')) return null;
  // The port does not matter here, so that a host without a known port has one.
  const hosts = listed
    .split(',')
    .map((each) => (parseAddress(each, type) ?? parseAddress(each, 'https'))?.host);
  return hosts.every((host) => host !== undefined) ? hosts : null;
}

function vendorsOf({ spec: { model } }: Manifest): { path: string; provider: string }[] {
  const { provider, fallback } = model;
  const others = fallback ? [{ path: 'spec.model.fallback.provider', provider: fallback.provider }] : [];
  return [{ path: 'spec.model.provider', provider }, ...others];
}

interface Address {
  path: string;
  /** Check id of a service that is probed, such as `mcp:files`. */
  id?: string;
  value: string;
  /** Kind of service, which has a default port. */
  type?: string;
  /** Declared apart from the host. */
  port?: number;
}

/** Every address of the manifest that the agent may connect to. */
export function addressesOf(manifest: Manifest): Address[] {
  const { api, humanInTheLoop, subagents = [], observability } = manifest.spec;
  const found: Address[] = reachTargets(manifest).flatMap(({ id, path, address }) =>
    address.known
      ? { id, path, value: address.value, ...present({ type: address.type, port: address.port }) }
      : [],
  );
  const others: [path: string, value: string | undefined][] = [
    ['spec.api.auth.jwksUri', api?.auth?.jwksUri],
    ['spec.humanInTheLoop.webhookUrl', humanInTheLoop?.webhookUrl],
    ['spec.observability.metrics.endpoint', observability?.metrics?.endpoint],
    ...subagents.map(({ ref }, index): [string, string | undefined] => [
      `spec.subagents[${index}].ref.a2a.url`,
      'a2a' in ref ? ref.a2a.url : undefined,
    ]),
  ];
  // A path is served by the agent itself.
  return [...found, ...others.flatMap(([path, value]) => (isRemote(value) ? { path, value } : []))];
}

const isRemote = (value: string | undefined): value is string =>
  value !== undefined && !value.startsWith('/');
