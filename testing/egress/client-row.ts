import type { VendorLaneName } from '../../core/egress/lane-variables.ts';
import type { Packages } from '../frameworks/row.ts';

/** Whether a row runs in `make test`, or only in `make soak`. */
export type Weight = 'light' | 'soak';

/** What the value of a variable before injection may refer to. */
export interface Addresses {
  /** The vendor without TLS. */
  plain: string;
  /** The MCP server over streamable HTTP, and over the older HTTP+SSE transport. */
  mcp: string;
  mcpSse: string;
  /** The MCP server with OAuth. */
  mcpProtected: string;
}

interface Common {
  name: string;
  packages: Packages;
  /** The package of the client. Its language is that of the program. */
  client: string;
  /** In `programs/`. */
  program: string;
  /** Variables that select what the program does. */
  options?: Readonly<Record<string, string>>;
  weight: Weight;
  /** Text that differs between runs. */
  random?: readonly RegExp[];
}

/** A client of models. */
export interface ClientRow extends Common {
  lane: VendorLaneName | 'compatible:corp';
  /** The only variable that injection writes which the program gets. */
  variable: string;
  /** Variables of the agent before injection. */
  before?: (at: Addresses) => Record<string, string>;
  /** Calls of the program in which nothing is denied. Those whose names begin with `tools` run tools. */
  forms: readonly string[];
  /** Paths of requests that are not calls of a model, such as a list of models. */
  lookups?: RegExp;
  /** The client writes results of tools as text, so that the lane does not see which tools ran. */
  writesResultsAsText?: true;
  /** The client's own class of error for a 403, and how many requests it sends until it raises it. */
  denial: { type: string; attempts: number } | null;
}

/** A client of MCP servers. */
export interface McpClientRow extends Common {
  isSse?: true;
}

export const languageOf = ({ program }: Pick<Common, 'program'>): 'JavaScript' | 'Python' =>
  program.endsWith('.py') ? 'Python' : 'JavaScript';

/** What the run of one row verified: a row of the documentation. */
export interface ClientResult {
  name: string;
  version: string;
  lane: ClientRow['lane'];
  variable: string;
  /** Calls in which nothing was denied: received as without a lane, and recorded with the vendor's tokens. */
  forms: { name: string; calls: number; tokens: number }[];
  /** Forms in which a forbidden call did not reach the agent, and its run finished. */
  removed: string[];
  /** The error for a denied request; null: the client offers no tools. */
  denial: ClientRow['denial'];
}

/** The same for a client of MCP servers. */
export interface McpClientResult {
  name: string;
  version: string;
  transport: 'streamable HTTP' | 'HTTP+SSE';
}
