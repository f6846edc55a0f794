import { randomUUID } from 'node:crypto';
import type { ObservationStatus } from '../../../core/observation/observation.ts';
import { isLive, worstOf } from '../../../core/observation/phase.ts';
import { withoutProof, withProof } from '../../../core/observation/proofs.ts';
import { statusOf } from '../../../core/observation/status-of.ts';
import { slept, type Clock } from '../../../runtime/clock.ts';
import { Problem } from '../../../runtime/problem.ts';
import { hasToken, registeredStatus, withOnlyToken, withToken } from '../../status/changes.ts';
import { receive } from '../../status/receive.ts';
import type {
  AgentKey,
  AgentPage,
  AgentRecord,
  Arrival,
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
import { transaction } from './open-database.ts';
import { openTables, type Tables } from './tables.ts';

export interface SqliteStoreOptions {
  /** Directory of the database file; created if missing. */
  directory: string;
  clock: Clock;
  rateLimitSeconds: number;
}

/** How often agents are checked for staleness, in milliseconds. Every read checks as well. */
const SWEEP_MS = 10_000;

/** The embedded store. SQLite is synchronous, so every operation completes before the next one starts. */
export class SqliteStore implements Store {
  readonly #options: SqliteStoreOptions;
  readonly #stop = new AbortController();
  #tables: Tables | null = null;
  #sweeps: Promise<void> | null = null;

  constructor(options: SqliteStoreOptions) {
    this.#options = options;
  }

  start(): Promise<void> {
    this.#tables = openTables(this.#options.directory);
    this.#sweeps = this.#sweep();
    return Promise.resolve();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#sweeps;
    this.#tables?.database.close();
    this.#tables = null;
  }

  unready(): string | null {
    return this.#tables === null ? 'the database is not open' : null;
  }

  register(registration: Registration, at: Date): Promise<RegisterOutcome> {
    return this.#change(({ agents }) => {
      const known = agents.get(registration);
      if (known?.source === 'sidecar') return { kind: 'taken' };
      const agent = known ?? newAgent(registration, 'remote');
      const { agentId } = agent;
      const status = registeredStatus(known?.status, { ...registration, agentId }, { at, context: {} });
      const record = { ...agent, runtime: registration.runtime, status };
      agents.put(record, at);
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
    return this.#read(at, ({ agents }) => {
      const agent = agents.get(key);
      return agent?.agentId === agentId && hasToken(agent.status, token.hash, at);
    });
  }

  find(key: AgentKey, at: Date): Promise<AgentRecord | null> {
    return this.#read(at, ({ agents }) => agents.get(key));
  }

  findByName(name: string, at: Date): Promise<AgentRecord[]> {
    return this.#read(at, ({ agents }) => agents.byName(name));
  }

  list(query: ListQuery, at: Date): Promise<AgentPage> {
    return this.#read(at, (tables) => {
      // One more row than the limit shows whether there is a next page.
      const { agents, total } = tables.agents.page({ ...query, limit: query.limit + 1 });
      const page = agents.slice(0, query.limit);
      const last = page.at(-1);
      const next = agents.length > page.length && last !== undefined ? last : null;
      return { agents: page, total, next: next && { namespace: next.namespace, name: next.name } };
    });
  }

  report(key: AgentKey, instance: string | null, at: Date): Promise<InstanceReport | null> {
    return this.#read(at, ({ agents, reports }) => {
      const name = instance ?? reporterOf(agents.get(key)?.status, at);
      return name === null ? null : reports.get(key, name);
    });
  }

  heartbeat(arrival: Arrival): Promise<HeartbeatOutcome> {
    return this.#change(({ agents, reports, newNames }) => {
      const known = agents.get(arrival);
      if (known === null && arrival.source === 'remote') return { kind: 'unknown' };
      if (known !== null && known.source !== arrival.source) return { kind: 'taken' };
      const { rateLimitSeconds } = this.#options;
      const received = receive(known?.status, arrival, {
        context: {},
        rateLimitSeconds,
        newNames: newNames.of(arrival),
      });
      if (received.kind !== 'accepted') return received;
      const record = { ...(known ?? newAgent(arrival, 'sidecar')), status: received.status };
      agents.put(record, arrival.at);
      if (received.isNewName && arrival.source === 'remote') newNames.add(arrival, arrival.at);
      const listed = (record.status.instances ?? []).map((each) => each.name);
      reports.put(arrival, listed);
      return { kind: 'accepted', record };
    });
  }

  putProof({ record, at, ...key }: ProofWrite): Promise<'stored' | 'unknown-agent'> {
    return this.#change(({ agents }) => {
      const agent = agents.get(key);
      if (agent === null) return 'unknown-agent';
      agents.put({ ...agent, status: withProof(agent.status, record) }, at);
      return 'stored';
    });
  }

  removeProof({ ruleId, at, ...key }: ProofRemoval): Promise<'removed' | 'no-proof' | 'unknown-agent'> {
    return this.#change(({ agents }) => {
      const agent = agents.get(key);
      if (agent === null) return 'unknown-agent';
      const status = withoutProof(agent.status, ruleId, at);
      if (status === null) return 'no-proof';
      agents.put({ ...agent, status }, at);
      return 'removed';
    });
  }

  remove(key: AgentKey): Promise<'removed' | 'unknown-agent'> {
    return this.#change(({ agents }) => (agents.delete(key) ? 'removed' : 'unknown-agent'));
  }

  #changeTokens(
    { agentId, at, token: _, ...key }: TokenGrant,
    change: (status: ObservationStatus) => ObservationStatus | null,
  ): Promise<TokenOutcome> {
    return this.#change(({ agents }) => {
      const agent = agents.get(key);
      if (agent?.agentId !== agentId) return 'unknown-agent';
      const status = change(agent.status);
      if (status === null) return 'too-many';
      agents.put({ ...agent, status }, at);
      return 'stored';
    });
  }

  async #change<T>(work: (tables: Tables) => T): Promise<T> {
    const tables = this.#tables;
    if (tables === null) throw unavailable(new Error('the database is not open'));
    try {
      return await Promise.resolve(transaction(tables.database, () => work(tables)));
    } catch (error) {
      throw isSqliteError(error) ? unavailable(error) : error;
    }
  }

  /** Reads return the status at `at`, so changes caused by time alone are written first. */
  #read<T>(at: Date, work: (tables: Tables) => T): Promise<T> {
    return this.#change((tables) => {
      ageAgents(tables, at);
      return work(tables);
    });
  }

  async #sweep(): Promise<void> {
    const { clock } = this.#options;
    // The error, such as of a full disk, is ignored here: every read repeats the same work, and returns 503 if it fails again.
    while (await slept(clock, SWEEP_MS, this.#stop.signal))
      await this.#read(clock.now(), () => null).catch(() => undefined);
  }
}

function ageAgents({ agents }: Tables, at: Date): void {
  for (const agent of agents.due(at)) agents.put({ ...agent, status: statusOf(agent.status, at) }, at);
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

/** Other errors are bugs and must not become a 503. */
function isSqliteError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR';
}

function unavailable(cause: unknown): Problem {
  return new Problem(503, 'the database is unavailable; try again', {
    headers: { 'retry-after': '2' },
    cause,
  });
}
