import type { Check } from '../shapes/health.ts';
import type { EgressFacts, ReportedCalls } from './egress-facts.ts';
import type { BehaviorFacts } from '../behavior/summarize-behavior.ts';
import type { ProofRecord } from '../shapes/proof.ts';

/** The result of one probe. `unknown`: not probed, with the reason. */
export type Reach =
  | { state: 'reachable'; latencyMs: number }
  | { state: 'unreachable'; reason: string }
  | { state: 'unknown'; reason: string };

/** The result of one GET to the upstream: the status, or the reason why there was no response. */
export type HttpResult =
  | { answered: true; status: number; latencyMs: number }
  | { answered: false; reason: string };

/** The path where A2A clients expect the agent card. */
export const AGENT_CARD_PATH = '/.well-known/agent-card.json';

/** The result of a GET to an endpoint whose path the manifest may declare. */
export type EndpointResult = HttpResult & {
  /** The path that was probed; absent: the default path. */
  path?: string;
  /** Why the default path was probed instead of the declared path. */
  unresolved?: string;
};

/** `tools`: the names that the response lists; null: the response has no list of tools. */
export type CapabilitiesResult = EndpointResult & { tools?: readonly string[] | null; isHtml?: boolean };

/** `isCard`: the response is a JSON object with a 2xx status; `tools`: the ids of its skills, null if it lists none. */
export type AgentCardResult = HttpResult & { isCard: boolean; tools: readonly string[] | null };

/** What the sidecar knows about the environment of the agent. */
export type EnvironmentFacts =
  /** The sidecar shares the agent's environment (local use). `names`: the variables that are set. */
  | { kind: 'own'; names: ReadonlySet<string> }
  /** In a cluster: the names that the webhook passed; `partial`: the container also has `envFrom`. */
  | { kind: 'declared'; names: ReadonlySet<string>; partial: boolean };

/** The secret backend that this process can read, and the manifest's `$secret:` names that it contains. */
export type SecretFacts = { backend: 'none' } | { backend: 'env' | 'file'; found: ReadonlySet<string> };

/** The parsed and size-limited report of the agent's `GET /platform/health`. */
export interface AgentReport {
  checks: Check[];
}

/** Why a 2xx response of the agent's `GET /platform/health` is not a valid report. */
export interface InvalidReport {
  /** For example `checks[3].status`; empty: the whole response. */
  field: string;
  /** For example `must be a string`. */
  reason: string;
}

/** The result of the policy engine query for the report. */
export type PolicyFacts =
  /** No engine is configured. */
  | { state: 'none' }
  | { state: 'unreachable' }
  /** The engine responds without a result, or does not deny a canary. In the second case it may still return denials. */
  | { state: 'not-loaded'; denials?: readonly string[]; problem?: string }
  | { state: 'answered'; denials: readonly string[]; problem?: string };

/**
 * All inputs of one report except the manifest. The facts are gathered once by I/O; `check` and `assess` are pure functions
 * of the manifest and the facts.
 */
export interface Facts {
  at: Date;
  /** null: no valid report. */
  agentReport: AgentReport | null;
  /** null: the report is valid, or the agent has none. */
  invalidReport: InvalidReport | null;
  /** Whether the agent's port responds at all. null: no upstream (reporter, CLI), so there is no check. */
  upstream: Reach | null;
  /** Upstream `GET /health`, or `spec.api.healthEndpoint`; null: not probed, which is not an issue. */
  health: EndpointResult | null;
  /** Upstream `GET /capabilities`, or `spec.api.capabilitiesEndpoint`; null: not probed. */
  capabilities: CapabilitiesResult | null;
  /** Upstream `GET /.well-known/agent-card.json`; null or absent: not probed. */
  agentCard?: AgentCardResult | null;
  /** The agent's tool registry, known only to the reporter. null: the reporter has no registry; absent: not a reporter. */
  registeredTools?: ReadonlySet<string> | null;
  environment: EnvironmentFacts;
  secrets: SecretFacts;
  /** `$file:` path -> readability; a path that this process cannot check is absent. */
  files: ReadonlyMap<string, 'readable' | 'unreadable'>;
  /** Probe results by check id: `service:<name>`, `mcp:<name>`, `memory:<role>`, `tracing:<backend>`, `model:<provider>/<id>`. */
  reach: ReadonlyMap<string, Reach>;
  behavior: BehaviorFacts;
  policy: PolicyFacts;
  proofs: readonly ProofRecord[];
  /** The agent name of the pod (`platform.io/agent-name`); null outside a cluster. */
  podAgentName: string | null;
  /** Why the manifest file on disk is invalid and not in effect; null: the file is in effect. */
  manifestInvalid: string | null;
  /** What the agent's outgoing calls show; null or absent: no egress lane and no census. */
  egress?: EgressFacts | null;
  /** What the agent reports about its calls; absent: not gathered. */
  reported?: ReportedCalls;
}
