import { describeError } from '../runtime/logger.ts';
import type { ClusterParts } from './cluster-parts.ts';
import { createObject, expectOk, getObject } from './objects.ts';
import { LEASES, objectPath, type ObjectKey } from './resources.ts';
import type { Lease, LeaseSpec } from './types.ts';

export interface LeaderElectionOptions extends ClusterParts {
  lease: ObjectKey & { namespace: string };
  /** Unique per process: the pod's name and a random part. */
  identity: string;
  /** Runs while this process is the leader. It must end soon after `signal` aborts, when leadership is lost or released. */
  lead: (signal: AbortSignal) => Promise<void>;
  timing?: LeaseTiming;
}

/** Milliseconds. */
export interface LeaseTiming {
  /** How long other replicas wait for a leader that does not renew. */
  leaseMs: number;
  /** A leader that could not renew for this long stops. Shorter than `leaseMs`, so that there are never two leaders. */
  renewWithinMs: number;
  /** How often a leader renews. */
  retryMs: number;
  /** How often the other replicas check the lease, which limits how late they detect its release. */
  checkMs: number;
}

const TIMING: LeaseTiming = { leaseMs: 15_000, renewWithinMs: 10_000, retryMs: 2_000, checkMs: 500 };

/** Elects one leader among the replicas of a process through a coordination.k8s.io Lease. */
export class LeaderElection {
  readonly #options: LeaderElectionOptions;
  readonly #timing: LeaseTiming;
  readonly #stop = new AbortController();
  #loop: Promise<void> | null = null;
  #leading = false;
  /** When the last successful renewal was sent. No other replica can acquire the lease within `renewWithinMs` after it. */
  #renewedMs = -Infinity;
  /** The last request failed. */
  #isFailing = false;
  /** The Lease as this process last stored it. Null: another process may have changed it, so it is read first. */
  #held: Lease | null = null;
  /** The last version of the lease and when this process read it. The holder's clock is never compared. */
  #lastRead: { version: string | undefined; atMs: number } | null = null;

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
    this.#timing = options.timing ?? TIMING;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** False as soon as the renewal is overdue, even if this process has not handled the loss yet. */
  isLeader(): boolean {
    return this.#leading && this.#leftMs() > 0;
  }

  /** Ends `lead`, then releases the lease so that another replica becomes leader immediately. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { retryMs, checkMs } = this.#timing;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      if (await this.#hold()) await this.#term();
      await this.#options.clock.sleep(this.#isFailing ? retryMs : checkMs, signal).catch(() => undefined);
    }
  }

  /** From winning the lease to losing or releasing it. */
  async #term(): Promise<void> {
    const { clock, logger, lead, identity } = this.#options;
    const lost = new AbortController();
    this.#leading = true;
    logger.info('became leader', { identity });
    const over = AbortSignal.any([lost.signal, this.#stop.signal]);
    const work = lead(over).catch((error: unknown) => {
      logger.error('leader task failed', { error: describeError(error) });
      lost.abort('failed');
    });
    while (!over.aborted && this.#leftMs() > 0) {
      await clock.sleep(Math.min(this.#timing.retryMs, this.#leftMs()), over).catch(() => undefined);
      if (!over.aborted && this.#leftMs() > 0) await this.#hold(this.#leftMs());
    }
    const isStillHolder = over.aborted;
    lost.abort();
    await work;
    this.#leading = false;
    if (isStillHolder) await this.#release();
    else logger.warn('lost leadership', { identity });
  }

  /** Milliseconds for which this process certainly still holds the lease. */
  #leftMs(): number {
    return this.#renewedMs + this.#timing.renewWithinMs - this.#options.clock.monotonicMs();
  }

  /** Acquires or renews the lease. Returns false when another process holds it or the request fails. */
  async #hold(limitMs = this.#timing.renewWithinMs): Promise<boolean> {
    const { clock, logger, lease } = this.#options;
    const sentMs = clock.monotonicMs();
    // After one lost response there must be time for another attempt.
    const limit = AbortSignal.timeout(Math.ceil(Math.min(limitMs, this.#timing.renewWithinMs / 2)));
    try {
      const isHeld = await this.#acquireOrRenew(limit);
      this.#isFailing = false;
      if (isHeld) this.#renewedMs = sentMs;
      return isHeld;
    } catch (error) {
      this.#isFailing = true;
      logger.warn('failed to acquire or renew Lease', { lease: lease.name, error: describeError(error) });
      return false;
    }
  }

  async #acquireOrRenew(limit: AbortSignal): Promise<boolean> {
    const { client, lease, clock, identity } = this.#options;
    const held = this.#held;
    this.#held = null;
    // A renewal is one request, as in client-go. Reading first would double the load, and the time on a slow API server.
    if (held !== null && (await this.#put({ ...held, spec: this.#specFor(held.spec) }, limit))) return true;
    const current = await getObject(client, LEASES, lease, limit);
    if (!current) {
      const spec = this.#specFor(undefined);
      const created = await createObject(client, LEASES, { metadata: lease, spec });
      if (created.outcome === 'created') this.#held = created.object;
      return created.outcome === 'created';
    }
    const version = current.metadata.resourceVersion;
    if (this.#lastRead?.version !== version) this.#lastRead = { version, atMs: clock.monotonicMs() };
    const holder = current.spec?.holderIdentity ?? '';
    const limitMs = (current.spec?.leaseDurationSeconds ?? 0) * 1000;
    const isExpired = clock.monotonicMs() - (this.#lastRead?.atMs ?? 0) > limitMs;
    if (holder !== '' && holder !== identity && !isExpired) {
      this.#renewedMs = -Infinity;
      return false;
    }
    return await this.#put({ ...current, spec: this.#specFor(current.spec) }, limit);
  }

  /** Returns false when another replica has changed the Lease (409) or the Lease was deleted (404). */
  async #put(lease: Lease, signal: AbortSignal): Promise<boolean> {
    const response = await this.#options.client.send<Lease>({
      method: 'PUT',
      path: objectPath(LEASES, this.#options.lease),
      body: lease,
      signal,
    });
    if (!response.ok && [404, 409].includes(response.status)) return false;
    this.#held = expectOk(response);
    this.#lastRead = {
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
      // As in client-go: no holder and a duration of one second, so that a replica that checks rarely can also acquire it.
      const spec = {
        ...current.spec,
        holderIdentity: '',
        leaseDurationSeconds: 1,
        renewTime: microTime(clock.now()),
      };
      await this.#put({ ...current, spec }, limit);
      logger.info('released leadership', { identity });
    } catch (error) {
      logger.warn('failed to release Lease, the next leader waits until it expires', {
        error: describeError(error),
      });
    }
  }
}

/** Kubernetes' MicroTime requires six fraction digits. */
export function microTime(date: Date): string {
  return date.toISOString().replace('Z', '000Z');
}
