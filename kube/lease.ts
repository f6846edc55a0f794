import type { Clock } from '../runtime/clock.ts';
import { describeError, type Logger } from '../runtime/logger.ts';
import type { KubeClient } from './client.ts';
import { createObject, expectOk, getObject } from './objects.ts';
import { LEASES, objectPath, type ObjectKey } from './resources.ts';
import type { Lease, LeaseSpec } from './types.ts';

export interface LeaderElectionOptions {
  client: KubeClient;
  lease: ObjectKey & { namespace: string };
  /** Tells this process from every other; the pod's name and a random part. */
  identity: string;
  logger: Logger;
  clock: Clock;
  /** Runs while this process leads. Its signal aborts when leadership is lost or given up; it must then end soon. */
  lead: (signal: AbortSignal) => Promise<void>;
  timing?: LeaseTiming;
}

/** Milliseconds. */
export interface LeaseTiming {
  /** How long others wait for a leader that says nothing. */
  leaseMs: number;
  /** A leader that could not renew for this long stops leading; shorter than `leaseMs`, so that no two lead. */
  renewWithinMs: number;
  /** How often a leader renews. */
  retryMs: number;
  /** How often the others look whether the lease is free: so late they notice that it was given up. */
  lookMs: number;
}

const TIMING: LeaseTiming = { leaseMs: 15_000, renewWithinMs: 10_000, retryMs: 2_000, lookMs: 500 };

/** One leader among the replicas of a process, by a coordination.k8s.io Lease. */
export interface LeaderElection {
  start(): void;
  /** False from the moment on at which the lease was not renewed in time, whether or not this process has noticed yet. */
  isLeader(): boolean;
  /** Ends `lead`, then releases the lease so that another replica takes over at once. */
  close(): Promise<void>;
}

export function createLeaderElection(options: LeaderElectionOptions): LeaderElection {
  return new Election(options);
}

class Election implements LeaderElection {
  readonly #options: LeaderElectionOptions;
  readonly #timing: LeaseTiming;
  readonly #stop = new AbortController();
  #loop: Promise<void> | null = null;
  #leading = false;
  /** When the renewal that worked last was sent; until `renewWithinMs` later nobody else can have taken the lease. */
  #renewedMs = -Infinity;
  /** The last look failed. */
  #isRefused = false;
  /** The Lease as this process stored it last. Null: another may have written since, so it is read first. */
  #held: Lease | null = null;
  /** The lease's last version, and when this clock saw it: the holder's own clock is never compared. */
  #seen: { version: string | undefined; atMs: number } | null = null;

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
    this.#timing = options.timing ?? TIMING;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  isLeader(): boolean {
    return this.#leading && this.#leftMs() > 0;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      if (await this.#hold()) await this.#term();
      await this.#pause();
    }
  }

  /** From winning the lease to losing or releasing it. */
  async #term(): Promise<void> {
    const { clock, logger, lead, identity } = this.#options;
    const lost = new AbortController();
    this.#leading = true;
    logger.info('leads', { identity });
    const over = AbortSignal.any([lost.signal, this.#stop.signal]);
    const work = lead(over).catch((error: unknown) => {
      logger.error('cannot lead', { error: describeError(error) });
      lost.abort('failed');
    });
    while (!over.aborted && this.#leftMs() > 0) {
      await clock.sleep(Math.min(this.#timing.retryMs, this.#leftMs()), over).catch(() => undefined);
      if (!over.aborted && this.#leftMs() > 0) await this.#hold(this.#leftMs());
    }
    const keeps = over.aborted;
    lost.abort();
    await work;
    this.#leading = false;
    if (keeps) await this.#release();
    else logger.warn('loses the lead', { identity });
  }

  async #pause(): Promise<void> {
    const { retryMs, lookMs } = this.#timing;
    const ms = this.#isRefused ? retryMs : lookMs;
    await this.#options.clock.sleep(ms, this.#stop.signal).catch(() => undefined);
  }

  /** Milliseconds for which the lease is this process's for certain. */
  #leftMs(): number {
    return this.#renewedMs + this.#timing.renewWithinMs - this.#options.clock.monotonicMs();
  }

  /** Takes or renews the lease; false when another holds it or the API server does not help. */
  async #hold(limitMs = this.#timing.renewWithinMs): Promise<boolean> {
    const { clock, logger, lease } = this.#options;
    const askedMs = clock.monotonicMs();
    // One lost answer must leave time for another try.
    const limit = AbortSignal.timeout(Math.ceil(Math.min(limitMs, this.#timing.renewWithinMs / 2)));
    try {
      const isHeld = await this.#ask(limit);
      this.#isRefused = false;
      if (isHeld) this.#renewedMs = askedMs;
      return isHeld;
    } catch (error) {
      this.#isRefused = true;
      logger.warn('leader election fails', { lease: lease.name, error: describeError(error) });
      return false;
    }
  }

  async #ask(limit: AbortSignal): Promise<boolean> {
    const { client, lease, clock, identity } = this.#options;
    const held = this.#held;
    this.#held = null;
    // A renewal is one request, as in client-go: half the load, and half the time on a slow API server.
    if (held !== null && (await this.#put({ ...held, spec: this.#specFor(held.spec) }, limit))) return true;
    const current = await getObject(client, LEASES, lease, limit);
    if (!current) {
      const spec = this.#specFor(undefined);
      const made = await createObject(client, LEASES, { metadata: lease, spec });
      if (made.outcome === 'created') this.#held = made.object;
      return made.outcome === 'created';
    }
    const version = current.metadata.resourceVersion;
    if (this.#seen?.version !== version) this.#seen = { version, atMs: clock.monotonicMs() };
    const holder = current.spec?.holderIdentity ?? '';
    const limitMs = (current.spec?.leaseDurationSeconds ?? 0) * 1000;
    const isExpired = clock.monotonicMs() - (this.#seen?.atMs ?? 0) > limitMs;
    if (holder !== '' && holder !== identity && !isExpired) {
      this.#renewedMs = -Infinity;
      return false;
    }
    return await this.#put({ ...current, spec: this.#specFor(current.spec) }, limit);
  }

  /** False: another replica has changed the Lease (409), or it was deleted (404). */
  async #put(lease: Lease, signal: AbortSignal): Promise<boolean> {
    const answer = await this.#options.client.send<Lease>({
      method: 'PUT',
      path: objectPath(LEASES, this.#options.lease),
      body: lease,
      signal,
    });
    if (!answer.ok && [404, 409].includes(answer.status)) return false;
    this.#held = expectOk(answer);
    this.#seen = {
      version: this.#held.metadata.resourceVersion,
      atMs: this.#options.clock.monotonicMs(),
    };
    return true;
  }

  #specFor(before: LeaseSpec | undefined): LeaseSpec {
    const { identity, clock } = this.#options;
    const now = microTime(clock.now());
    const same = before?.holderIdentity === identity;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(this.#timing.leaseMs / 1000),
      acquireTime: same ? (before.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: (before?.leaseTransitions ?? 0) + (same || !before?.acquireTime ? 0 : 1),
    };
  }

  async #release(): Promise<void> {
    const { client, lease, identity, logger, clock } = this.#options;
    try {
      const limit = AbortSignal.timeout(this.#timing.renewWithinMs / 2);
      const current = await getObject(client, LEASES, lease, limit);
      if (current?.spec?.holderIdentity !== identity) return;
      // As client-go does it: without a holder and for one second, so that even a replica which only looks at times takes over.
      const spec = {
        ...current.spec,
        holderIdentity: '',
        leaseDurationSeconds: 1,
        renewTime: microTime(clock.now()),
      };
      await this.#put({ ...current, spec }, limit);
      logger.info('releases the lead', { identity });
    } catch (error) {
      logger.warn('cannot release the lead', { error: describeError(error) });
    }
  }
}

/** Kubernetes' MicroTime wants six digits. */
export function microTime(date: Date): string {
  return date.toISOString().replace('Z', '000Z');
}
