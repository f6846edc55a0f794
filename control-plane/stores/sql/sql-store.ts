import { randomUUID } from 'node:crypto';
import { pointOf } from '../../../core/fleet/point-of.ts';
import type { ObservationStatus } from '../../../core/shapes/observation.ts';
import { isLive, worstOf } from '../../../core/observation/phase.ts';
import { withoutProof, withProof } from '../../../core/observation/proofs.ts';
import { knownInstance } from '../../../core/observation/worst-instances.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { silentLogger, type Logger } from '../../../runtime/logger.ts';
import { hasToken, registeredStatus, withOnlyToken, withToken } from '../../status/changes.ts';
import { receive, type Received } from '../../status/receive.ts';
import type { AuditEventStore } from '../audit-events.ts';
import type { HistoryStore } from '../history.ts';
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
  StopRows,
  Store,
  TokenGrant,
  TokenOutcome,
} from '../store.ts';
import { ageAgents } from './age-agents.ts';
import { agentTable } from './agent-table.ts';
import { auditEventsOf } from './audit-event-table.ts';
import { putAuditHead } from './audit-head-table.ts';
import { ChangedAgents } from './changed-agents.ts';
import { historyOf, recordHistory } from './history-tables.ts';
import { Housekeeping } from './housekeeping.ts';
import { logFailures } from './log-failures.ts';
import { newNameTable } from './new-name-table.ts';
import { heartbeatTable, reportTable } from './report-table.ts';
import { DEFAULT_RETENTION, type SqlRetention } from './retention.ts';
import type { SqlDatabase, SqlSession } from './sql-database.ts';
import { stopRows } from './stop-table.ts';

export interface SqlStoreOptions {
  clock: Clock;
  rateLimitSeconds: number;
  /** Default: DEFAULT_RETENTION. */
  retention?: SqlRetention;
  /** Whether the cluster no longer has this workload; default: there is no cluster that can respond. */
  isGone?: (key: AgentKey, at: Date) => Promise<boolean>;
  logger?: Logger;
}

/** A store in a database. Several processes may share the database: each change locks the row of its agent first. */
export class SqlStore implements Store {
  readonly history: HistoryStore;
  readonly auditEvents: AuditEventStore;
  readonly stops: StopRows;
  readonly #database: SqlDatabase;
  readonly #agents: ReturnType<typeof agentTable>;
  readonly #clock: Clock;
  readonly #rateLimitSeconds: number;
  readonly #keepHeartbeats: number;
  readonly #housekeeping: Housekeeping;
  readonly #changed: ChangedAgents;

  constructor(options: SqlStoreOptions & { database: SqlDatabase }) {
    const { clock, retention = DEFAULT_RETENTION, logger = silentLogger, isGone = null } = options;
    const database = logFailures(options.database, { clock, logger });
    this.history = historyOf(database);
    this.auditEvents = auditEventsOf(database);
    this.stops = stopRows(database);
    this.#database = database;
    this.#agents = agentTable(database.forUpdate);
    this.#clock = clock;
    this.#rateLimitSeconds = options.rateLimitSeconds;
    this.#keepHeartbeats = retention.heartbeats;
    this.#changed = new ChangedAgents({
      ...{ database, agents: this.#agents },
      read: (at, work) => this.#read(at, work),
    });
    this.#housekeeping = new Housekeeping({
      ...{ database, agents: this.#agents, clock, retention, logger, isGone },
    });
  }

  async start(): Promise<void> {
    await this.#database.open();
    this.#housekeeping.start();
  }

  async close(): Promise<void> {
    await this.#housekeeping.close();
    await this.#database.close();
  }

  unready(): string | null {
    return this.#database.unready();
  }

  register(registration: Registration, at: Date): Promise<RegisterOutcome> {
    return this.#database.transaction(async (session) => {
      const known = await this.#agents.lock(session, registration);
      if (known?.source === 'sidecar') return { kind: 'taken' };
      const agent = known ?? newAgent(registration, 'remote');
      const { agentId } = agent;
      const status = registeredStatus(known?.status, { ...registration, agentId }, { at, context: {} });
      const record = { ...agent, runtime: registration.runtime, status };
      await this.#agents.put(session, { agent: record, at, isNew: known === null });
      await recordHistory(session, { key: record, before: known?.status, after: status, at, point: null });
      return { kind: known === null ? 'created' : 'exists', record };
    });
  }

  replaceTokens(grant: TokenGrant): Promise<TokenOutcome> {
    return this.#changeTokens(grant, (status) => withOnlyToken(status, grant.token));
  }

  addToken(grant: TokenGrant): Promise<TokenOutcome> {
    return this.#changeTokens(grant, (status) => withToken(status, grant.token, grant.at));
  }

  hasToken({ token, agentId, at, ...key }: TokenGrant): Promise<boolean> {
    // Time does not change the tokens of a status, so due agents need no update here.
    return this.#database.read(async (session) => {
      const agent = await this.#agents.get(session, key);
      return agent?.agentId === agentId && hasToken(agent.status, token.hash, at);
    });
  }

  find(key: AgentKey, at: Date): Promise<AgentRecord | null> {
    return this.#read(at, (session) => this.#agents.get(session, key));
  }

  findByName(name: string, at: Date): Promise<AgentRecord[]> {
    return this.#read(at, (session) => this.#agents.byName(session, name));
  }

  list(query: ListQuery, at: Date): Promise<AgentPage> {
    return this.#read(at, async (session) => {
      // One more row than the limit shows whether there is a next page.
      const { agents, total } = await this.#agents.page(session, { ...query, limit: query.limit + 1 });
      const page = agents.slice(0, query.limit);
      const last = page.at(-1);
      const next = agents.length > page.length && last !== undefined ? last : null;
      return { agents: page, total, next: next && { namespace: next.namespace, name: next.name } };
    });
  }

  namespaces(): Promise<readonly string[]> {
    return this.#database.read((session) => this.#agents.namespaces(session));
  }

  report(key: AgentKey, instance: string | null, at: Date): Promise<InstanceReport | null> {
    return this.#read(at, async (session) => {
      const name = instance ?? reporterOf((await this.#agents.get(session, key))?.status, at);
      return name === null ? null : reportTable.get(session, key, name);
    });
  }

  changes(position: string | null, at: Date): Promise<FleetChanges> {
    return this.#changed.since(position, at);
  }

  heartbeat(arrival: Arrival): Promise<HeartbeatOutcome> {
    return this.#database.transaction(async (session) => {
      const known = await this.#agents.lock(session, arrival);
      if (known === null && arrival.source === 'remote') return { kind: 'unknown' };
      if (known !== null && known.source !== arrival.source) return { kind: 'taken' };
      const isNewRemote = arrival.source === 'remote' && !knownInstance(known?.status, arrival.instance);
      const received = receive(known?.status, arrival, {
        context: {},
        rateLimitSeconds: this.#rateLimitSeconds,
        newNames: isNewRemote ? await newNameTable.of(session, arrival) : [],
      });
      if (received.kind !== 'accepted') return received;
      return { kind: 'accepted', record: await this.#accept(session, { known, arrival, received }) };
    });
  }

  putProof({ record, at, ...key }: ProofWrite): Promise<'stored' | 'unknown-agent'> {
    return this.#database.transaction(async (session) => {
      const agent = await this.#agents.lock(session, key);
      if (agent === null) return 'unknown-agent';
      await this.#update(session, { ...agent, status: withProof(agent.status, record) }, at);
      return 'stored';
    });
  }

  removeProof({ ruleId, at, ...key }: ProofRemoval): Promise<'removed' | 'no-proof' | 'unknown-agent'> {
    return this.#database.transaction(async (session) => {
      const agent = await this.#agents.lock(session, key);
      if (agent === null) return 'unknown-agent';
      const status = withoutProof(agent.status, ruleId, at);
      if (status === null) return 'no-proof';
      await this.#update(session, { ...agent, status }, at);
      return 'removed';
    });
  }

  /** Outside a cluster, workloads do not exist. A workload in the database is left from a cluster and may be removed. */
  remove(key: AgentKey): Promise<'removed' | 'unknown-agent'> {
    return this.#database.transaction(async (session) => {
      const isRemoved = await this.#agents.remove(session, key, this.#clock.now());
      return isRemoved ? 'removed' : 'unknown-agent';
    });
  }

  async #accept(session: SqlSession, { known, arrival, received }: Acceptance): Promise<AgentRecord> {
    const { status, isNewName } = received;
    const { at, heartbeat } = arrival;
    const log = heartbeat.auditLog;
    const record = { ...(known ?? newAgent(arrival, 'sidecar')), status };
    const change = { key: record, before: known?.status, after: status, at };
    const point = pointOf(change.before, status, at);
    // The row of the agent first: the other rows refer to it. PostgreSQL gets all statements without waiting for each result.
    await Promise.all([
      this.#agents.put(session, { agent: record, at, isNew: known === null, isHeartbeat: true }),
      isNewName && arrival.source === 'remote' ? newNameTable.add(session, arrival, at) : null,
      reportTable.put(session, arrival, change),
      heartbeatTable.add(session, arrival, { point, keep: this.#keepHeartbeats }),
      recordHistory(session, { ...change, point }),
      log === undefined ? null : putAuditHead(session, arrival, { log, at }),
    ]);
    return record;
  }

  #changeTokens(
    { agentId, at, token: _, ...key }: TokenGrant,
    change: (status: ObservationStatus) => ObservationStatus | null,
  ): Promise<TokenOutcome> {
    return this.#database.transaction(async (session) => {
      const agent = await this.#agents.lock(session, key);
      if (agent?.agentId !== agentId) return 'unknown-agent';
      const status = change(agent.status);
      if (status === null) return 'too-many';
      await this.#update(session, { ...agent, status }, at);
      return 'stored';
    });
  }

  #update(session: SqlSession, agent: AgentRecord, at: Date): Promise<number> {
    return this.#agents.put(session, { agent, at, isNew: false });
  }

  /** Reads return the status at `at`, so changes caused by time alone are written first. */
  async #read<T>(at: Date, work: (session: SqlSession) => Promise<T>): Promise<T> {
    for (;;) {
      const read = await this.#database.transaction(async (session) =>
        (await ageAgents(session, this.#agents, at)) ? null : { result: await work(session) },
      );
      if (read !== null) return read.result;
    }
  }
}

interface Acceptance {
  known: AgentRecord | null;
  arrival: Arrival;
  received: Extract<Received, { kind: 'accepted' }>;
}

/** The instance whose report represents the agent: the worst live instance, or the worst of all if none is live. */
function reporterOf(status: ObservationStatus | undefined, at: Date): string | null {
  const instances = status?.instances ?? [];
  const live = instances.filter((instance) => isLive(instance, at));
  return worstOf(live.length > 0 ? live : instances)?.name ?? null;
}

function newAgent(
  { namespace, name, agentId = `agt_${randomUUID().replaceAll('-', '')}` }: AgentKey & { agentId?: string },
  source: AgentRecord['source'],
): Omit<AgentRecord, 'status'> {
  return { namespace, name, agentId, source, runtime: 'k8s', heartbeatSeconds: null };
}
