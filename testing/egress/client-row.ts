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
  /** The client's own class of error for a 403, and how many requests it sends until it raises it. */
  denial: { type: string; attempts: number } | null;
}

/** A client of MCP servers. */
export interface McpClientRow extends Common {
  isSse?: true;
}

export const languageOf = ({ program }: Pick<Common, 'program'>): 'JavaScript' | 'Python' =>
  program.endsWith('.py') ? 'Python' : 'JavaScript';
