import type { AgentDetail } from '../../core/shapes/agent-detail.ts';
import type { EgressReport } from '../../core/shapes/egress.ts';
import type { Grade, Phase, Runtime } from '../../core/shapes/values.ts';
import type { Heartbeat } from '../../core/shapes/heartbeat.ts';
import type { CompareManifests } from '../../core/observation/manifest-change.ts';
import type { AgentStop } from '../../core/organisation/stops.ts';
import type { ObservationStatus, TokenHash } from '../../core/shapes/observation.ts';
import type { OrganisationStatus } from '../../core/shapes/organisation.ts';
import type { ProofSet } from '../../core/evidence/proof-set.ts';
import type { ProofWrites } from '../../core/evidence/proof.ts';
import type { ProofRecord } from '../../core/shapes/proof.ts';
import type { Receipt, StoredGap, StoredHealth } from '../../core/shapes/stored.ts';
import type { UsageWindow } from '../../core/shapes/usage.ts';
import type { AuditEventStore } from './audit-events.ts';
import type { HistoryStore } from './history.ts';

/** The key of an agent: names are unique in a namespace. */
export interface AgentKey {
  namespace: string;
  name: string;
}

/** One agent, the same in every store. `status` has the shape of the AgentObservation's status. */
export interface AgentRecord extends AgentKey, Pick<AgentDetail, 'agentId' | 'runtime' | 'source'> {
  /** The configured heartbeat interval of the agent, in seconds; null: the sender's own. */
  heartbeatSeconds: number | null;
  status: ObservationStatus;
}

export interface Registration extends AgentKey {
  runtime: Runtime;
  /** The agent's id in the primary store; left out: the store assigns an id. */
  agentId?: string;
  /** From the manifest in the registration; null: the registration has no manifest. */
  manifest: { hash: string; model: { provider: string; id: string } } | null;
}

export type RegisterOutcome =
  | { kind: 'created' | 'exists'; record: AgentRecord }
  /** The name belongs to a workload of this cluster, which does not need registration. */
  | { kind: 'taken' };

/** A heartbeat and its sender, after the credential was checked. */
export interface Arrival extends AgentKey {
  /** A pod of a workload, or a registered agent. Only a heartbeat of a pod can create its agent. */
  source: 'sidecar' | 'remote';
  instance: string;
  /** The UID of the pod. */
  uid?: string;
  heartbeat: Heartbeat;
  /** The proofs after this heartbeat, if another store has already decided them. */
  proofs?: ProofSet;
  /** Where the proofs of this agent are written. Default: local. */
  proofWrites?: ProofWrites;
  /** Compares two manifests. */
  compare?: CompareManifests;
  /** Compares the agent with the rules of the organisation. */
  judge?: (status: ObservationStatus) => OrganisationStatus | undefined;
  /** The stop of the agent; null: it has none; absent: the stops are not known. */
  stop?: AgentStop | null;
  at: Date;
}

export type HeartbeatOutcome =
  | { kind: 'accepted'; record: AgentRecord }
  /** The same heartbeat, or an older heartbeat of the same process: nothing changed. */
  | { kind: 'repeat' }
  /** `isNewName`: the agent has too many new instance names; else this instance sent too early. */
  | { kind: 'limited'; retryAfterSeconds: number; isNewName?: true }
  /** A pod with the name of a registered agent, or the reverse: the heartbeat does not belong to that agent. */
  | { kind: 'taken' }
  /** Registered agents: removed concurrently. Pods: the observation does not exist yet. */
  | { kind: 'unknown' };

/**
 * The last report of one instance. A member is null if the store does not keep it. The Kubernetes store keeps the details of
 * the worst instance and a summary of the others.
 */
export interface InstanceReport extends Receipt {
  gap: Pick<StoredGap, 'score' | 'grade' | 'source' | 'issues' | 'issuesTotal'>;
  health: Omit<StoredHealth, keyof Receipt>;
  /** Also null if the heartbeat had no evidence. */
  evidence: StoredGap['evidence'];
  /** Also null if the heartbeat had no audit. */
  audit: StoredGap['audit'];
  /** Also null if the heartbeat had none. Only the summary, if the store does not keep the rest. */
  egress: EgressReport | null;
  /** Also null if the heartbeat had no usage window. */
  usage: UsageWindow | null;
}

export interface ListQuery {
  limit: number;
  /** Resume after this agent; null: from the start. */
  after: AgentKey | null;
  phase?: Phase;
  grade?: Grade;
  /** Only agents in these namespaces; null: in every namespace. */
  namespaces: readonly string[] | null;
  /** Leave out agents that are mirrored from another control plane. */
  onlyOwn?: boolean;
}

/** A page of agents ordered by namespace, then name. */
export interface AgentPage {
  agents: AgentRecord[];
  /** Number of matching agents on all pages. */
  total: number;
  /** The last agent of this page; null: there is no next page. */
  next: AgentKey | null;
}

/** What changed in the store since a position. */
export interface FleetChanges {
  /** Opaque; for the next call. */
  position: string;
  /** May contain agents that the previous call returned too. */
  changed: AgentRecord[];
  removed: AgentKey[];
  /** The given position is unknown, for example after a restart: `changed` has every agent, and others do not exist. */
  isAll?: true;
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
  /** The agent for which the caller's token was issued. Another agent with the same name must not get it. */
  agentId: string;
  token: TokenHash;
  at: Date;
}

/** The stops of a control plane without a cluster. */
export interface StopRows {
  /** All stops; null: no stop was added or removed since `revision`, which null stands before. */
  read(revision: string | null): Promise<{ revision: string; stops: AgentStop[] } | null>;
  /** Adds a stop, unless there is one of this namespace and name, and removes those that have ended. */
  add(stop: AgentStop): Promise<void>;
  /** false: there is no such stop. */
  remove(key: AgentKey): Promise<boolean>;
}

/**
 * Storage for the fleet's state. Every implementation passes testing/fleet/store-contract.ts, so all behave the same. The result of
 * a method is durable when the method resolves. The Kubernetes store has one exception: the state of a heartbeat may be
 * coalesced. Tokens and proofs are never coalesced.
 *
 * Methods reject if the storage is unreachable; the HTTP layer returns 503.
 */
export interface Store {
  start(): Promise<void>;
  close(): Promise<void>;
  /** null: ready; else the reason. */
  unready(): string | null;

  /** Creates a remote agent, or updates the runtime and manifest of a known agent and keeps its id. */
  register(registration: Registration, at: Date): Promise<RegisterOutcome>;
  /** Makes the token the agent's only token: all earlier tokens are revoked. */
  replaceTokens(grant: TokenGrant): Promise<TokenOutcome>;
  /** Adds a token; the other tokens stay valid until they expire. */
  addToken(grant: TokenGrant): Promise<TokenOutcome>;
  /** Whether the token is one of the agent's valid tokens. */
  hasToken(grant: TokenGrant): Promise<boolean>;

  find(key: AgentKey, at: Date): Promise<AgentRecord | null>;
  /** All agents with this name, ordered by namespace. */
  findByName(name: string, at: Date): Promise<AgentRecord[]>;
  list(query: ListQuery, at: Date): Promise<AgentPage>;
  /** The namespaces that have agents, in order; those of `cluster` too while it can be read. */
  namespaces(): Promise<readonly string[]>;
  /** The report of one instance, or of the worst live instance; null: no heartbeat yet, or no such instance. */
  report(key: AgentKey, instance: string | null, at: Date): Promise<InstanceReport | null>;

  /** The agents that changed after `position`; null: only the current position. */
  changes(position: string | null, at: Date): Promise<FleetChanges>;
  /**
   * The store of the AgentObservations, if this store has them only as a copy. They also contain what the operator observes
   * (conditions, drift), and workloads that never reported. Absent: no cluster, or this store reads them itself.
   */
  readonly cluster?: Store;
  /** Absent: in a cluster, the stops are AgentStops. */
  readonly stops?: StopRows;
  /** null: this store keeps no history. */
  readonly history: HistoryStore | null;
  /** null: this store keeps no audit events. */
  readonly auditEvents: AuditEventStore | null;

  heartbeat(arrival: Arrival): Promise<HeartbeatOutcome>;
  putProof(write: ProofWrite): Promise<'stored' | 'unknown-agent'>;
  removeProof(removal: ProofRemoval): Promise<'removed' | 'no-proof' | 'unknown-agent'>;
  /** Revokes the agent's tokens and removes the agent. `workload`: a workload of the cluster, not removable here. */
  remove(key: AgentKey): Promise<'removed' | 'unknown-agent' | 'workload'>;
}
