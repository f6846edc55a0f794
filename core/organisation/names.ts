import { hostName } from '../egress/declared.ts';
import { modelNamesOf } from '../facts/sightings.ts';
import { vendorNameOf } from '../vendors/vendors.ts';
import { covers, matches, overlap } from './pattern.ts';

/** How models, tools and hosts are compared with patterns. The manifest, the observation and the calls on lanes use the same. */

/**
 * Whether a pattern allows a model of one of these vendors. The id counts in any case, with and without its date and the path of a gateway.
 * A pattern without a slash is compared with the id alone.
 */
export function allowsModel(allowed: readonly string[], vendors: readonly string[], id: string): boolean {
  const lower = id.toWellFormed().toLowerCase();
  const ids = [...new Set([lower, ...modelNamesOf(id.toWellFormed())])];
  const withVendor = vendors.flatMap((vendor) =>
    [...new Set([vendor.toLowerCase(), vendorNameOf(vendor)])].flatMap((name) =>
      ids.map((each) => `${name}/${each}`),
    ),
  );
  const names = [...ids, ...withVendor];
  return allowed.some((pattern) => names.some((name) => matches(pattern.toLowerCase(), name)));
}

/** A name that an agent may use for a tool of an MCP server, and the name of the tool alone. */
function toolNames(name: string, servers: readonly string[]): string[] {
  const starts = servers.flatMap((server) => [
    `mcp__${server}__`,
    ...['__', '_', '-', '.', ':', '/'].map((separator) => server + separator),
  ]);
  return [name, ...starts.flatMap((start) => (name.startsWith(start) ? [name.slice(start.length)] : []))];
}

/** The patterns of tools of one rule. */
export interface ToolRule {
  allowed?: readonly string[];
  forbidden?: readonly string[];
}

/**
 * Why a tool is outside the rule; null: it is not. `name` may be a declared pattern such as `files_*`: it must be allowed as a whole,
 * and none of its names may be forbidden.
 */
export function toolProblem(rule: ToolRule, name: string, servers: readonly string[]): string | null {
  const names = toolNames(name.toWellFormed(), servers);
  const forbidden = rule.forbidden?.find((pattern) => names.some((each) => overlap(pattern, each)));
  if (forbidden !== undefined) return `tool ${name} is forbidden by ${forbidden}`;
  const { allowed } = rule;
  if (allowed === undefined || allowed.some((pattern) => names.some((each) => covers(pattern, each))))
    return null;
  return `tool ${name} is not one of ${allowed.join(', ')}`;
}

const LOOPBACK = /^(localhost|.*\.localhost|127(\.\d{1,3}){3}|::1)$/;

/** Whether a pattern allows a host, or a declared pattern of hosts such as `*.example.com` as a whole. Loopback hosts are always allowed. */
export function allowsHost(allowed: readonly string[], host: string): boolean {
  const name = hostName(host);
  return LOOPBACK.test(name) || allowed.some((pattern) => covers(pattern.toLowerCase(), name));
}
