import type { Runtime } from '../../core/observation/runtimes.ts';
import type { AuditSummary } from '../../core/audit/summary.ts';
import type { EvidenceReport } from '../../core/evidence/evidence.ts';
import type { GapReport, Grade } from '../../core/gap/gap.ts';
import type { HealthReport } from '../../core/health/health.ts';
import type { Heartbeat } from '../../core/heartbeat/heartbeat.ts';
import type { ObservationStatus, Phase, TokenHash } from '../../core/observation/observation.ts';
import type { ProofSet } from '../../core/proof/proof-set.ts';
import type { ProofRecord } from '../../core/proof/proof.ts';
import type { UsageWindow } from '../../core/usage/usage.ts';

/** An agent's address: names are unique in a namespace. */
export interface AgentKey {
  namespace: string;
  name: string;
}

/** One agent as every store knows it; what the AgentObservation's status says is the same value everywhere. */
export interface AgentRecord extends AgentKey {
  /** `agt_…`; stays the same until the agent is deleted. */
  agentId: string;
  runtime: Runtime;
  /** sidecar: a workload of this cluster; remote: registered with the admin key. */
  source: 'sidecar' | 'remote';
  /** The interval that the agent's senders are asked to keep, in seconds; null: theirs. */
  heartbeatSeconds: number | null;
  status: ObservationStatus;
}

export interface Registration extends AgentKey {
  runtime: Runtime;
  /** The id that the agent already has where the record is kept; left out: the store gives it one. */
  agentId?: string;
  /** From the manifest that came along; null: none did. */
  manifest: { hash: string; model: { provider: string; id: string } } | null;
}

export type RegisterOutcome =
  | { kind: 'created' | 'exists'; record: AgentRecord }
  /** The name belongs to a workload of this cluster, which needs no registration. */
  | { kind: 'taken' };

/** Whoever sent a heartbeat, after its credential was checked. */
export interface Arrival extends AgentKey {
  /** A pod of a workload, or a registered agent. Only a pod may make its agent known by sending. */
  source: 'sidecar' | 'remote';
  instance: string;
  /** The pod's uid. */
  uid?: string;
  heartbeat: Heartbeat;
  /** The proofs after this heartbeat, where another store has decided on them. */
  proofs?: ProofSet;
  at: Date;
}

export type HeartbeatOutcome =
  | { kind: 'accepted'; record: AgentRecord }
  /** The same heartbeat, or an older one of the same process: nothing changed. */
  | { kind: 'repeat' }
  /** `isNewName`: not this instance was too early, its agent had too many new names. */
  | { kind: 'limited'; retryAfterSeconds: number; isNewName?: true }
  /** A pod with the name of a registered agent, or the other way round: what it says is not that agent's. */
  | { kind: 'taken' }
  /** Registered agents: removed meanwhile. Pods: the observation is not there yet. */
  | { kind: 'unknown' };

/**
 * What one instance last reported. null members are what the store does not keep: the Kubernetes store has the details
 * of the worst instance and a summary of the others.
 */
export interface InstanceReport {
  instance: string;
  /** ISO 8601 */
  receivedAt: string;
  gap: Nullable<GapReport, 'source' | 'issues'> & {
    /** Only where `issues` was cut. */
    issuesTotal?: number;
  };
  health: Nullable<HealthReport, 'status' | 'summary' | 'checks'>;
  /** null also where the heartbeat had none. */
  evidence: Nullable<EvidenceReport, 'items'> | null;
  /** null also where the heartbeat had none. */
  audit: Nullable<AuditSummary, 'failed' | 'suppressions'> | null;
  /** null also where the heartbeat had no usage window. */
  usage: UsageWindow | null;
}

type Nullable<T, K extends keyof T> = { [P in keyof T]: P extends K ? T[P] | null : T[P] };

export interface ListQuery {
  limit: number;
  /** Resume after this agent; null: from the start. */
  after: AgentKey | null;
  phase?: Phase;
  grade?: Grade;
  namespace?: string;
  /** Without those that another control plane has told of. */
  onlyOwn?: boolean;
}

/** A page of agents ordered by namespace, then name. */
export interface AgentPage {
  agents: AgentRecord[];
  /** All that match, on every page. */
  total: number;
  /** The last agent of this page while there is more. */
  next: AgentKey | null;
}

export interface ProofWrite extends AgentKey {
  record: ProofRecord;
  at: Date;
}

export interface ProofRemoval extends AgentKey {
  ruleId: string;
  at: Date;
}

export type TokenOutcome = 'stored' | 'unknown-agent' | 'too-many';

export interface TokenGrant extends AgentKey {
  /** The agent for which the caller's token was made; another one under the same name must not get it. */
  agentId: string;
  token: TokenHash;
  at: Date;
}

/**
 * Where the fleet's state is kept. Every implementation passes testing/store-contract.ts, so that nobody can tell
 * which one runs. What a method has answered survives the end of the process, with one exception that the Kubernetes
 * store documents: the state of a heartbeat may be coalesced; tokens and proofs never are.
 *
 * A store that cannot reach its storage rejects with an error, which the edge shows as 503.
 */
export interface Store {
  start(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
  /** null: it serves; else the reason why not. */
  unready(): string | null;

  /** Makes a remote agent known, or finds it; keeps its id, takes the new runtime and manifest. */
  register(registration: Registration, at: Date): Promise<RegisterOutcome>;
  /** The token becomes the agent's only one: what was issued before is revoked. */
  replaceTokens(grant: TokenGrant): Promise<TokenOutcome>;
  /** One more token; the others live to their own expiry. */
  addToken(grant: TokenGrant): Promise<TokenOutcome>;
  /** Whether the token is one of the agent's live ones. */
  hasToken(grant: TokenGrant): Promise<boolean>;

  find(key: AgentKey, at: Date): Promise<AgentRecord | null>;
  /** All agents of that name, ordered by namespace. */
  findByName(name: string, at: Date): Promise<AgentRecord[]>;
  list(query: ListQuery, at: Date): Promise<AgentPage>;
  /** Of one instance, or of the worst live one; null: no heartbeat yet, or no such instance. */
  report(key: AgentKey, instance: string | null, at: Date): Promise<InstanceReport | null>;

  heartbeat(arrival: Arrival): Promise<HeartbeatOutcome>;
  putProof(write: ProofWrite): Promise<'stored' | 'unknown-agent'>;
  removeProof(removal: ProofRemoval): Promise<'removed' | 'no-proof' | 'unknown-agent'>;
  /** Revokes and removes. `workload`: it is made from a workload of the cluster, and goes with that alone. */
  remove(key: AgentKey): Promise<'removed' | 'unknown-agent' | 'workload'>;
}
