import type { UnseenEgress } from '../shapes/egress.ts';

/** What the egress lanes and the socket census of one sidecar observed in the last 24 hours. */
export interface EgressFacts {
  /** Ids of the lanes, such as `openai` or `mcp:files`; empty: no lane. */
  lanes: readonly string[];
  /** Those of them that had a call since the sidecar started, other than a list of models. */
  usedLanes: ReadonlySet<string>;
  /** Requested model id -> number of calls. */
  models: ReadonlyMap<string, number>;
  /** Tool -> number of requests that offer it. */
  toolsOffered: ReadonlyMap<string, number>;
  /** Tool -> number of calls in responses of models. */
  toolsCalled: ReadonlyMap<string, number>;
  /** Tool -> number of results in requests to models. */
  toolsExecuted: ReadonlyMap<string, number>;
  /** The MCP servers that responded on their lanes, by name. */
  mcpServers: ReadonlyMap<string, McpServerFacts>;
  /** Of the calls that belong to requests with reported tokens. */
  tokens: { prompt: number; completion: number; unknownCalls: number };
  /** Of the same requests, as the agent reported them; null: no such request. */
  reportedTokens: { prompt: number; completion: number } | null;
  /** Of all calls; absent: no vendor stated tokens. `costUsd` null: the price of no call is known. */
  usage?: { prompt: number; completion: number; costUsd: number | null };
  /** Host -> number of connections or calls, by the lanes and CONNECT. */
  hosts: ReadonlyMap<string, number>;
  /** Number of calls that passed because the policy engine could not evaluate them, since the sidecar started; absent: none. */
  failedOpen?: number;
  /** null: no census. */
  census: CensusFacts | null;
}

export interface McpServerFacts {
  /** The tools that it has listed since the sidecar started. Until it lists them: the tools that it has run. */
  toolsListed: readonly string[];
  hasListed: boolean;
  /** Tool -> number of calls. */
  toolsCalled: ReadonlyMap<string, number>;
}

export interface CensusFacts {
  unseenEgress: readonly UnseenEgress[];
  /** Number of connections that were opened and closed without a look at their address. */
  unexplainedOpens: number;
}

/** Calls that the agent reports in headers, events, spans and the usage of its responses. */
export interface ReportedCalls {
  /** null: no request reports its tools. */
  tools: ReadonlySet<string> | null;
  /** Model ids; null: no request reports a model. */
  models: ReadonlySet<string> | null;
  /** Model ids of responses whose requests named the same model; absent: none. They are no evidence of an undeclared model. */
  requestedModels?: ReadonlySet<string>;
  /** Model id -> number of reported calls since the sidecar started; absent: not counted. */
  calls?: ReadonlyMap<string, number>;
}
