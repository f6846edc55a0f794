import { contextOf } from '../../../core/observation/context-of.ts';
import { isMirrored } from '../../../core/observation/mirrored.ts';
import type { AgentObservation } from '../../../core/observation/observation.ts';
import type { ObservationStatus } from '../../../core/shapes/observation.ts';
import { withoutProof, withProof } from '../../../core/observation/proofs.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { keyText } from '../../../kube/resources.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Metrics } from '../../../runtime/metrics.ts';
import { createApiServerOutage, type ApiServerOutage } from '../../outage-log.ts';
import { hasToken, registeredStatus, withOnlyToken, withToken } from '../../status/changes.ts';
import { withoutEgressLists } from '../../status/egress-lists.ts';
import { MAX_NEW_INSTANCES, receive } from '../../status/receive.ts';
import { compareKeys } from '../compare-keys.ts';
import type {
  AgentKey,
  AgentPage,
  AgentRecord,
  Arrival,
  FleetChanges,
  HeartbeatOutcome,
  InstanceReport,
  ListQuery,
  ProofRemoval,
  ProofWrite,
  RegisterOutcome,
  Registration,
  Store,
  TokenGrant,
  TokenOutcome,
} from '../store.ts';
import { ageRemoteAgents } from './age-remote.ts';
import { ChangeLog } from './change-log.ts';
import { Coalescer } from './coalescer.ts';
import { EgressReports } from './egress-reports.ts';
import { Observations, type Update } from './observations.ts';
import { pageOf } from './page.ts';
import { gone, guarded, overloaded, rejectMirrored, unavailable } from './problems.ts';
import { agentIdOf, recordOf, reportOf } from './record.ts';

export interface KubernetesStoreOptions {
  client: KubeClient;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  rateLimitSeconds: number;
  /** Shared with the other callers of the API server; default: a new tracker. */
  apiServer?: ApiServerOutage;
  /** How often remote agents are checked for staleness, in milliseconds; default 10,000. */
  sweepMs?: number;
  /** How long `close` may take to write pending heartbeats, in milliseconds; default 12,000. */
  closeMs?: number;
}

const SWEEP_MS = 10_000;
/**
 * Timeout for the last writes when the process ends, in milliseconds. Of a pod's grace period of 30 s, 5 s pass before the
 * signal, and requests in flight may take 10 s.
 */
const CLOSE_MS = 12_000;

/**
 * Keeps each agent in its AgentObservation. The state of heartbeats is coalesced, so a crash may lose one window of state.
 * Tokens and proofs are written to the cluster before the response.
 */
export class KubernetesStore implements Store {
  /** The AgentObservation contains only the latest state. */
  readonly history = null;
  readonly auditEvents = null;
  readonly #options: KubernetesStoreOptions;
  readonly #observations: Observations;
  readonly #heartbeats: Coalescer;
  readonly #apiServer: ApiServerOutage;
  /** Times when this replica accepted new instance names of an agent, in milliseconds, oldest first. */
  readonly #newNames = new Map<string, number[]>();
  readonly #changes = new ChangeLog();
  readonly #egress = new EgressReports();
  readonly #stop = new AbortController();
  #sweeps: Promise<void> | null = null;
  #closing: Promise<void> | null = null;

  constructor(options: KubernetesStoreOptions) {
    this.#options = options;
    const { client, clock, logger, metrics } = options;
    this.#apiServer = options.apiServer ?? createApiServerOutage({ clock, logger });
    const onChange = (key: AgentKey): void => this.#changes.record(key);
    const onGone = (key: AgentKey): void => {
      this.#heartbeats.drop(key);
      this.#newNames.delete(keyText(key));
      this.#egress.remove(keyText(key));
    };
    const observations = new Observations({ client, clock, logger, metrics, onChange, onGone });
    this.#observations = observations;
    this.#heartbeats = new Coalescer({ observations, clock, logger, metrics, apiServer: this.#apiServer });
  }

  /** Does not wait for the cluster. The process is live, and becomes ready when the AgentObservations are listed. */
  start(): Promise<void> {
    this.#observations.start();
    const { clock, logger, sweepMs: everyMs = SWEEP_MS } = this.#options;
    this.#sweeps = ageRemoteAgents({
      ...{ clock, logger, everyMs, signal: this.#stop.signal },
      list: () => this.#observations.list(),
      write: (key, update) => this.#write(key, update),
    });
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.#closing ??= this.#drainAndClose();
    return this.#closing;
  }

  async #drainAndClose(): Promise<void> {
    this.#stop.abort();
    await this.#sweeps;
    const { clock, closeMs = CLOSE_MS } = this.#options;
    const timeout = new AbortController();
    const drained = this.#heartbeats.close(timeout.signal);
    await Promise.race([drained, clock.sleep(closeMs).then(() => timeout.abort())]);
    const lost = this.#heartbeats.size();
    if (lost > 0)
      this.#options.logger.warn('stopped with unwritten heartbeats: API server did not accept them in time', {
        heartbeats: lost,
      });
    await this.#observations.close();
  }

  unready(): string | null {
    if (!this.#observations.isSynced()) return 'the AgentObservation cache is not synced';
    return this.#observations.isFresh() ? null : 'no recent response from the API server';
  }

  async register(registration: Registration, at: Date): Promise<RegisterOutcome> {
    const made = await this.#guard(this.#observations.ensureRemote(registration));
    if (made === undefined) throw gone(registration);
    if (made.object.spec.source === 'sidecar') return { kind: 'taken' };
    rejectMirrored(made.object);
    const object = await this.#write(registration, (current) =>
      registeredStatus(
        current.status,
        { ...registration, agentId: registration.agentId ?? agentIdOf(current) },
        { at, context: contextOf(current) },
      ),
    );
    if (object === null) throw gone(registration);
    return { kind: made.created ? 'created' : 'exists', record: this.#record(object) };
  }

  replaceTokens(grant: TokenGrant): Promise<TokenOutcome> {
    return this.#changeTokens(grant, (status) => withOnlyToken(status, grant.token));
  }

  addToken(grant: TokenGrant): Promise<TokenOutcome> {
    return this.#changeTokens(grant, (status) => withToken(status, grant.token, grant.at));
  }

  async hasToken({ agentId, token, at, ...key }: TokenGrant): Promise<boolean> {
    const holds = (object: AgentObservation | undefined): boolean =>
      object?.status !== undefined &&
      agentIdOf(object) === agentId &&
      hasToken(object.status, token.hash, at);
    // Another replica may have issued the token recently.
    return holds(this.#observations.get(key)) || holds(await this.#guard(this.#observations.refresh(key)));
  }

  async find(key: AgentKey): Promise<AgentRecord | null> {
    await this.#requireSynced();
    const object = this.#observations.get(key);
    return object === undefined ? null : this.#record(object);
  }

  async findByName(name: string): Promise<AgentRecord[]> {
    return (await this.#all()).filter((agent) => agent.name === name);
  }

  async list(query: ListQuery): Promise<AgentPage> {
    return pageOf(await this.#all(query.onlyOwn), query);
  }

  async namespaces(): Promise<readonly string[]> {
    await this.#requireSynced();
    return this.#observations.namespaces();
  }

  async report(key: AgentKey, instance: string | null): Promise<InstanceReport | null> {
    const agent = await this.find(key);
    const report = agent && reportOf(agent.name, agent.status, instance);
    return report && { ...report, egress: this.#egress.of(keyText(key), report.instance) ?? report.egress };
  }

  async changes(position: string | null): Promise<FleetChanges> {
    await this.#requireSynced();
    const current = this.#changes.position;
    if (position === null) return { position: current, changed: [], removed: [] };
    const keys = this.#changes.since(position);
    if (keys === null) return { position: current, changed: await this.#all(), removed: [], isAll: true };
    const found = keys.map((key) => ({ key, object: this.#observations.get(key) }));
    return {
      position: current,
      changed: found.flatMap(({ object }) => (object === undefined ? [] : this.#record(object))),
      removed: found.flatMap(({ key, object }) => (object === undefined ? key : [])),
    };
  }

  async heartbeat(arrived: Arrival): Promise<HeartbeatOutcome> {
    const arrival = withoutEgressLists(arrived);
    if (this.#observations.get(arrival) === undefined) await this.#guard(this.#observations.refresh(arrival));
    // No await from here until the heartbeat is queued, so that concurrent heartbeats see each other.
    const object = this.#observations.get(arrival);
    if (object === undefined) return { kind: 'unknown' };
    rejectMirrored(object);
    if (object.spec.source !== arrival.source) return { kind: 'taken' };
    const before = this.#heartbeats.statusOf(object);
    const { rateLimitSeconds } = this.#options;
    const newNames = this.#newNames.get(keyText(arrival)) ?? [];
    const received = receive(before, arrival, { context: contextOf(object), rateLimitSeconds, newNames });
    if (received.kind !== 'accepted') return received;
    const { status, isNewName } = received;
    if (!this.#heartbeats.hasRoom(object, arrival)) throw overloaded();
    if (isNewName && arrival.source === 'remote')
      this.#newNames.set(keyText(arrival), [...newNames, arrival.at.getTime()].slice(-MAX_NEW_INSTANCES));
    if (status.proofRevision === before?.proofRevision) {
      this.#heartbeats.add(object, arrival, status);
    } else {
      const outcome = await this.#guard(this.#heartbeats.write(object, arrival, status));
      if (outcome === 'gone') return { kind: 'unknown' };
    }
    this.#changes.record(arrival);
    if (status.reportedBy === arrival.instance)
      this.#egress.put(keyText(arrival), arrival.instance, arrived.heartbeat.egress);
    return { kind: 'accepted', record: recordOf(object, status) };
  }

  async putProof({ record, at: _, ...key }: ProofWrite): Promise<'stored' | 'unknown-agent'> {
    const object = await this.#write(key, (current) => {
      rejectMirrored(current);
      return withProof(statusIn(current), record);
    });
    return object === null ? 'unknown-agent' : 'stored';
  }

  async removeProof({ ruleId, at, ...key }: ProofRemoval): Promise<'removed' | 'no-proof' | 'unknown-agent'> {
    let hasProof = false;
    const object = await this.#write(key, (current) => {
      rejectMirrored(current);
      const status = withoutProof(statusIn(current), ruleId, at);
      hasProof = status !== null;
      return status;
    });
    if (object === null) return 'unknown-agent';
    return hasProof ? 'removed' : 'no-proof';
  }

  async remove(key: AgentKey): Promise<'removed' | 'unknown-agent' | 'workload'> {
    const object = this.#observations.get(key) ?? (await this.#guard(this.#observations.read(key)));
    if (object === undefined) return 'unknown-agent';
    if (object.spec.source === 'sidecar') return 'workload';
    rejectMirrored(object);
    const removed = await this.#guard(this.#observations.remove(object));
    return removed ? 'removed' : 'unknown-agent';
  }

  async #changeTokens(
    grant: TokenGrant,
    change: (status: ObservationStatus) => ObservationStatus | null,
  ): Promise<TokenOutcome> {
    let outcome: TokenOutcome = 'unknown-agent';
    await this.#write(grant, (current) => {
      outcome = 'unknown-agent';
      if (agentIdOf(current) !== grant.agentId) return null;
      const status = change(statusIn(current));
      outcome = status === null ? 'too-many' : 'stored';
      return status;
    });
    return outcome;
  }

  /** The object after the write; null: the object does not exist. */
  async #write(key: AgentKey, update: Update): Promise<AgentObservation | null> {
    const result = await this.#guard(this.#observations.write(key, update));
    return result.outcome === 'missing' ? null : result.object;
  }

  #record(object: AgentObservation): AgentRecord {
    return recordOf(object, this.#heartbeats.statusOf(object) ?? { phase: 'Pending' });
  }

  async #all(onlyOwn = false): Promise<AgentRecord[]> {
    await this.#requireSynced();
    return this.#observations
      .list()
      .filter((object) => !onlyOwn || !isMirrored(object))
      .map((object) => this.#record(object))
      .sort(compareKeys);
  }

  #requireSynced(): Promise<void> {
    return this.#observations.isSynced()
      ? Promise.resolve()
      : Promise.reject(unavailable('the AgentObservation cache is not synced; try again'));
  }

  #guard<T>(request: Promise<T>): Promise<T> {
    return guarded(this.#apiServer, request);
  }
}

const statusIn = (object: AgentObservation): ObservationStatus => object.status ?? { phase: 'Pending' };
