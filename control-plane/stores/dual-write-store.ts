import type { Clock } from '../../runtime/clock.ts';
import { proofSetOf } from '../../core/observation/proofs.ts';
import { describeError, type Logger } from '../../runtime/logger.ts';
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
} from './store.ts';

export interface MirrorOptions {
  /** Serves all reads and decides all outcomes. */
  primary: Store;
  /** Receives the changes, so that the agents are also visible in the cluster. */
  mirror: Store;
  clock: Clock;
  logger: Logger;
}

/** Maximum time that a response waits for the mirror, in milliseconds. */
const MIRROR_TIMEOUT_MS = 2_000;

/**
 * A database inside a cluster. The database is the source of truth, and the AgentObservations are written as well. A failed
 * mirror write is logged and does not change the response; the next heartbeat repairs the mirror.
 */
export function createDualWriteStore(options: MirrorOptions): Store {
  return new DualWriteStore(options);
}

class DualWriteStore implements Store {
  readonly #options: MirrorOptions;
  readonly #primary: Store;
  readonly #mirror: Store;
  #failing = false;

  constructor(options: MirrorOptions) {
    this.#options = options;
    this.#primary = options.primary;
    this.#mirror = options.mirror;
  }

  async start(signal: AbortSignal): Promise<void> {
    await this.#primary.start(signal);
    await this.#mirror.start(signal);
  }

  async close(): Promise<void> {
    await this.#mirror.close();
    await this.#primary.close();
  }

  unready(): string | null {
    return this.#primary.unready();
  }

  async register(registration: Registration, at: Date): Promise<RegisterOutcome> {
    const outcome = await this.#primary.register(registration, at);
    if (outcome.kind === 'taken') return outcome;
    const { agentId } = outcome.record;
    await this.#reflect(() => this.#mirror.register({ ...registration, agentId }, at));
    return outcome;
  }

  replaceTokens(grant: TokenGrant): Promise<TokenOutcome> {
    return this.#primary.replaceTokens(grant);
  }

  addToken(grant: TokenGrant): Promise<TokenOutcome> {
    return this.#primary.addToken(grant);
  }

  hasToken(grant: TokenGrant): Promise<boolean> {
    return this.#primary.hasToken(grant);
  }

  find(key: AgentKey, at: Date): Promise<AgentRecord | null> {
    return this.#primary.find(key, at);
  }

  findByName(name: string, at: Date): Promise<AgentRecord[]> {
    return this.#primary.findByName(name, at);
  }

  list(query: ListQuery, at: Date): Promise<AgentPage> {
    return this.#primary.list(query, at);
  }

  report(key: AgentKey, instance: string | null, at: Date): Promise<InstanceReport | null> {
    return this.#primary.report(key, instance, at);
  }

  async heartbeat(arrival: Arrival): Promise<HeartbeatOutcome> {
    const outcome = await this.#primary.heartbeat(arrival);
    if (outcome.kind !== 'accepted') return outcome;
    const { record } = outcome;
    const heartbeatSeconds = await this.#reflect(async () => {
      // A heartbeat alone does not carry a control-plane proof that the mirror missed.
      const decided = { ...arrival, proofs: proofSetOf(record.status) };
      const mirrored = await this.#mirror.heartbeat(decided);
      if (mirrored.kind === 'unknown' && record.source === 'remote') await this.#adopt(record, decided);
      // Only the observation contains the interval.
      return mirrored.kind === 'accepted' ? mirrored.record.heartbeatSeconds : null;
    });
    return { kind: 'accepted', record: { ...record, heartbeatSeconds: heartbeatSeconds ?? null } };
  }

  async putProof(write: ProofWrite): Promise<'stored' | 'unknown-agent'> {
    const outcome = await this.#primary.putProof(write);
    if (outcome === 'stored') await this.#reflect(() => this.#mirror.putProof(write));
    return outcome;
  }

  async removeProof(removal: ProofRemoval): Promise<'removed' | 'no-proof' | 'unknown-agent'> {
    const outcome = await this.#primary.removeProof(removal);
    if (outcome === 'removed') await this.#reflect(() => this.#mirror.removeProof(removal));
    return outcome;
  }

  async remove(key: AgentKey): Promise<'removed' | 'unknown-agent' | 'workload'> {
    const outcome = await this.#primary.remove(key);
    if (outcome === 'removed') await this.#reflect(() => this.#mirror.remove(key));
    return outcome;
  }

  /** Adds an agent to the mirror that was registered while there was no cluster. */
  async #adopt({ namespace, name, runtime, agentId }: AgentRecord, arrival: Arrival): Promise<void> {
    const registration = { namespace, name, runtime, agentId, manifest: null };
    await this.#mirror.register(registration, arrival.at);
    await this.#mirror.heartbeat(arrival);
  }

  /** null: the change failed or exceeded the timeout. After the timeout the change continues in the background. */
  async #reflect<T>(change: () => Promise<T>): Promise<T | null> {
    const { clock, logger } = this.#options;
    const done = change().then(
      (result) => {
        this.#failing = false;
        return result;
      },
      (error: unknown) => {
        if (!this.#failing) logger.warn('failed to write AgentObservation', { error: describeError(error) });
        this.#failing = true;
        return null;
      },
    );
    const timer = new AbortController();
    const timeout = clock.sleep(MIRROR_TIMEOUT_MS, timer.signal).then(
      () => null,
      () => null,
    );
    const result = await Promise.race([done, timeout]);
    timer.abort();
    return result;
  }
}
