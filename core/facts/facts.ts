import type { ProofRecord } from '../proof/proof.ts';
import type { Check } from '../health/health.ts';

/** The outcome of one probe. Unknown is a value: `unknown` was not asked, and says why. */
export type Reach =
  | { state: 'reachable'; latencyMs: number }
  | { state: 'unreachable'; reason: string }
  | { state: 'unknown'; reason: string };

/** The upstream's answer to one GET: the status where there was an answer. */
export type HttpAnswer =
  | { answered: true; status: number; latencyMs: number }
  | { answered: false; reason: string };

/** The path of each of the agent's endpoints where the manifest declares none. */
export const DEFAULT_PATHS = { health: '/health', capabilities: '/capabilities' } as const;
/** Where A2A clients look for the card of an agent. */
export const AGENT_CARD_PATH = '/.well-known/agent-card.json';

/** The answer of an endpoint whose path the manifest may declare. */
export type EndpointAnswer = HttpAnswer & {
  /** The path that was probed; absent: the default one. */
  path?: string;
  /** Why the declared path was not probed, and the default one was. */
  unresolved?: string;
};

/** `tools`: the names that the answer lists; null: it has no such list. */
export type CapabilitiesAnswer = EndpointAnswer & { tools?: readonly string[] | null; isHtml?: boolean };

/** `isCard`: the answer is a JSON object with a 2xx status; `tools`: the ids of its skills, null when it lists none. */
export type AgentCardAnswer = HttpAnswer & { isCard: boolean; tools: readonly string[] | null };

/** What the sidecar can know about the environment of the agent. */
export type EnvironmentFacts =
  /** The sidecar shares the agent's environment (local use): the set names of variables. */
  | { kind: 'own'; names: ReadonlySet<string> }
  /** In a cluster: the names that the webhook passed; `partial` while the container has `envFrom`. */
  | { kind: 'declared'; names: ReadonlySet<string>; partial: boolean };

/** The secret backend that this process can ask, and which of the manifest's `$secret:` names it found. */
export type SecretFacts = { backend: 'none' } | { backend: 'env' | 'file'; found: ReadonlySet<string> };

/** What the agent's own `GET /platform/health` said, after its hostile parts were cut. null: no valid report. */
export interface AgentReport {
  checks: Check[];
}

/** Why a 2xx response of the agent's `GET /platform/health` is not a valid report. */
export interface InvalidReport {
  /** Such as `checks[3].status`; empty: the response as a whole. */
  field: string;
  /** Such as `must be a string`. */
  reason: string;
}

/** What was observed of the declared guardrails in the newest ring entries that carry behavioral data (at most 100). */
export interface BehaviorFacts {
  /** Entries that carry behavioral data; 0: nothing is known. */
  sampled: number;
  /** Guardrail type to the number of sampled entries in which it was invoked. */
  guardrailsInvoked: ReadonlyMap<string, number>;
  /** Requests in a row, up to the newest one, that could have behavioral data and carried none; absent: not counted. */
  requestsWithout?: number;
}

/** What the policy engine said when the report asked it. */
export type PolicyFacts =
  /** No engine is configured. */
  | { state: 'none' }
  | { state: 'unreachable' }
  /** The engine answers without a result, or does not deny a canary; then it may deny this and that all the same. */
  | { state: 'not-loaded'; denials?: readonly string[] }
  | { state: 'answered'; denials: readonly string[] };

/**
 * Everything that one report is made from: gathered by I/O once, then `check` and `assess` are pure functions of
 * the manifest and this.
 */
export interface Facts {
  at: Date;
  agentReport: AgentReport | null;
  /** null: the report is valid, or the agent has none. */
  invalidReport: InvalidReport | null;
  /** Does the agent's port answer at all. null: the report is made without an upstream (reporter, CLI); no such check then. */
  upstream: Reach | null;
  /** Upstream `GET /health`, or `spec.api.healthEndpoint`; null: not asked, and nothing is concluded from it. */
  health: EndpointAnswer | null;
  /** Upstream `GET /capabilities`, or `spec.api.capabilitiesEndpoint`; null: not probed. */
  capabilities: CapabilitiesAnswer | null;
  /** Upstream `GET /.well-known/agent-card.json`; null or absent: not probed. */
  agentCard?: AgentCardAnswer | null;
  /** The agent's tool registry, which only the reporter sees. null: it was given none; absent: it cannot be seen from here. */
  registeredTools?: ReadonlySet<string> | null;
  environment: EnvironmentFacts;
  secrets: SecretFacts;
  /** `$file:` path to whether it can be read; a path that is absent cannot be seen from here. */
  files: ReadonlyMap<string, 'readable' | 'unreadable'>;
  /** Reach by check id: `service:<name>`, `mcp:<name>`, `memory:<role>`, `tracing:<backend>`; `model:<provider>/<id>` where it was asked. */
  reach: ReadonlyMap<string, Reach>;
  behavior: BehaviorFacts;
  policy: PolicyFacts;
  proofs: readonly ProofRecord[];
  /** The name under which the pod runs (`platform.io/agent-name`); null outside a cluster. */
  podAgentName: string | null;
  /** Why the manifest file on disk is not the one in force; null when it is. */
  manifestInvalid: string | null;
}
