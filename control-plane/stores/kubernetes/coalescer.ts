import { contextOf } from '../../../core/observation/context-of.ts';
import type { AgentObservation } from '../../../core/observation/observation.ts';
import type { ObservationStatus } from '../../../core/shapes/observation.ts';
import { writeDelayMs } from '../../../core/observation/write-due.ts';
import { halfJitter } from '../../../kube/backoff.ts';
import { KubeError } from '../../../kube/client.ts';
import { keyText } from '../../../kube/resources.ts';
import { slept, type Clock } from '../../../runtime/clock.ts';
import { describeError, type Logger } from '../../../runtime/logger.ts';
import type { Counter, Metrics } from '../../../runtime/metrics.ts';
import type { ApiServerOutage } from '../../outage-log.ts';
import { mergeArrival } from '../../status/receive.ts';
import type { AgentKey, Arrival } from '../store.ts';
import { HeartbeatQueue } from './heartbeat-queue.ts';
import type { Observations } from './observations.ts';

export interface CoalescerOptions {
  observations: Observations;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  apiServer: ApiServerOutage;
}

/** Accepted heartbeats of one object that are not written yet. */
interface Pending {
  key: AgentKey;
  queue: HeartbeatQueue;
  /** The stored status merged with the queued heartbeats, and the resourceVersion that it was computed from. */
  projected: { version: string | undefined; status: ObservationStatus } | null;
  writtenMs: number;
  /** Cancels the timer of the next write. */
  timer: AbortController | null;
  dueMs: number;
  writing: Promise<void> | null;
  failures: number;
}

const RETRY = { baseMs: 500, maxMs: 8_000 };
/** Maximum JSON bytes in all queues; heartbeats above it are rejected. Above half of it heartbeats are written immediately. */
const MAX_BYTES = 32 * 1024 * 1024;
/** Maximum time that a response waits until a heartbeat is stored, in milliseconds; senders wait ten seconds. */
const STORE_TIMEOUT_MS = 8_000;
const STORE_TIMEOUT = {
  status: 0,
  reason: 'unreachable',
  message: `the API server did not store the heartbeat within ${STORE_TIMEOUT_MS} ms`,
  retryAfterMs: null,
};

/**
 * Writes significant status changes immediately, and other changes at most once per window and object. Reads include
 * accepted heartbeats, because the status is computed from the stored status and the pending heartbeats, with the same
 * function as for the write. A crash loses at most the pending heartbeats.
 */
export class Coalescer {
  readonly #options: CoalescerOptions;
  /** By result: written, unchanged, gone, failed, refused. */
  readonly #writes: Counter;
  readonly #byKey = new Map<string, Pending>();
  #closed = false;

  constructor(options: CoalescerOptions) {
    this.#options = options;
    const { metrics } = options;
    this.#writes = metrics.counter(
      'platform_control_plane_status_writes_total',
      'AgentObservation status writes for heartbeats, by result.',
    );
    metrics.gauge(
      'platform_control_plane_pending_heartbeats',
      'Accepted heartbeats that are not yet written to the cluster.',
      () => [{ value: this.size() }],
    );
  }

  /** The object's status merged with its pending heartbeats. */
  statusOf(object: AgentObservation): ObservationStatus | undefined {
    const pending = this.#byKey.get(keyText(object.metadata));
    if (pending === undefined || pending.queue.length === 0) return object.status;
    const version = object.metadata.resourceVersion;
    if (pending.projected?.version !== version || pending.projected === null) {
      const status = merge(object, pending.queue.arrivals);
      if (status === undefined) return undefined;
      pending.projected = { version, status };
    }
    return pending.projected.status;
  }

  /** False: the API server does not keep up, and another heartbeat would increase the loss after a crash. */
  hasRoom({ metadata }: AgentObservation, { heartbeat }: Arrival): boolean {
    const queue = this.#byKey.get(keyText(metadata))?.queue;
    const isBehind = queue?.isBehind(heartbeat.intervalSeconds, this.#options.clock.monotonicMs()) ?? false;
    return !isBehind && this.#bytes() < MAX_BYTES;
  }

  /**
   * Queues an accepted heartbeat and schedules its write.
   * @param status the result of `statusOf` merged with the heartbeat
   */
  add(object: AgentObservation, arrival: Arrival, status: ObservationStatus): void {
    const pending = this.#enqueue(object, arrival, { status, isAwaited: false });
    const nowMs = this.#options.clock.monotonicMs();
    const { intervalSeconds } = arrival.heartbeat;
    const delayMs =
      pending.queue.isMany() || this.#bytes() > MAX_BYTES / 2
        ? 0
        : writeDelayMs(
            { before: object.status, after: status },
            { sinceLastWriteMs: nowMs - pending.writtenMs, intervalSeconds },
          );
    this.#schedule(pending, nowMs + delayMs);
  }

  /**
   * Writes an accepted heartbeat and resolves when it is stored. On an error or timeout the heartbeat is removed again.
   * @param status the result of `statusOf` merged with the heartbeat
   */
  async write(
    object: AgentObservation,
    arrival: Arrival,
    status: ObservationStatus,
  ): Promise<'stored' | 'gone'> {
    const pending = this.#enqueue(object, arrival, { status, isAwaited: true });
    const timer = new AbortController();
    const timeout = this.#options.clock.sleep(STORE_TIMEOUT_MS, timer.signal).then(
      () => Promise.reject(new KubeError(STORE_TIMEOUT)),
      () => undefined,
    );
    try {
      while (pending.queue.has(arrival)) await Promise.race([this.#flush(pending), timeout]);
    } catch (error) {
      pending.queue.remove([arrival]);
      pending.projected = null;
      throw error;
    } finally {
      timer.abort();
    }
    return this.#byKey.get(keyText(pending.key)) === pending ? 'stored' : 'gone';
  }

  #enqueue(
    object: AgentObservation,
    arrival: Arrival,
    { status, isAwaited }: { status: ObservationStatus; isAwaited: boolean },
  ): Pending {
    const { namespace, name } = object.metadata;
    const key = keyText({ namespace, name });
    const pending = this.#byKey.get(key) ?? {
      key: { namespace, name },
      queue: new HeartbeatQueue(),
      projected: null,
      writtenMs: Number.NEGATIVE_INFINITY,
      timer: null,
      dueMs: Number.POSITIVE_INFINITY,
      writing: null,
      failures: 0,
    };
    this.#byKey.set(key, pending);
    pending.queue.add(arrival, this.#options.clock.monotonicMs(), isAwaited);
    pending.projected = { version: object.metadata.resourceVersion, status };
    return pending;
  }

  /** Schedules the next write. The earliest requested time applies; after a failure the time of the retry applies. */
  #schedule(pending: Pending, dueMs: number): void {
    if (this.#closed || dueMs >= pending.dueMs || (pending.failures > 0 && pending.timer !== null)) return;
    pending.timer?.abort();
    const timer = new AbortController();
    pending.timer = timer;
    pending.dueMs = dueMs;
    void this.#flushAfter(pending, timer, Math.max(0, dueMs - this.#options.clock.monotonicMs()));
  }

  async #flushAfter(pending: Pending, timer: AbortController, ms: number): Promise<void> {
    if (ms > 0 && !(await slept(this.#options.clock, ms, timer.signal))) return;
    pending.timer = null;
    pending.dueMs = Number.POSITIVE_INFINITY;
    // A write in progress does not contain the heartbeats that arrived after its start.
    await pending.writing?.catch(() => undefined);
    await this.#flush(pending).catch((error: unknown) => this.#failed(pending, error));
  }

  /** Writes the pending heartbeats, or joins a write in progress. */
  #flush(pending: Pending): Promise<void> {
    pending.writing ??= this.#store(pending).finally(() => (pending.writing = null));
    return pending.writing;
  }

  async #store(pending: Pending): Promise<void> {
    const { observations, clock, apiServer } = this.#options;
    const batch = pending.queue.arrivals;
    if (batch.length === 0) return;
    const beganMs = clock.monotonicMs();
    try {
      const result = await observations.write(pending.key, (object) => merge(object, batch) ?? null);
      apiServer.succeeded();
      this.#writes.add({ result: result.outcome === 'missing' ? 'gone' : result.outcome });
      if (result.outcome === 'missing') {
        this.drop(pending.key);
        return;
      }
      this.#settle(pending, batch);
      pending.queue.storedAt(beganMs);
      pending.writtenMs = clock.monotonicMs();
      pending.failures = 0;
    } catch (error) {
      this.#writes.add({ result: isFinal(error) ? 'refused' : 'failed' });
      // A retry would be rejected again. Without this batch the next heartbeats may be accepted.
      if (isFinal(error)) this.#settle(pending, batch);
      throw error;
    }
  }

  #settle(pending: Pending, batch: readonly Arrival[]): void {
    pending.queue.remove(batch);
    pending.projected = null;
  }

  #failed(pending: Pending, error: unknown): void {
    const { clock, logger, apiServer } = this.#options;
    const fields = { agent: keyText(pending.key), error: describeError(error) };
    if (isFinal(error)) {
      logger.error('AgentObservation status rejected, heartbeats dropped', fields);
      return;
    }
    apiServer.failed(error);
    if (pending.failures === 0) logger.debug('failed to write AgentObservation status, retrying', fields);
    const retryAfterMs = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
    const delayMs = Math.max(halfJitter(pending.failures, RETRY), retryAfterMs);
    this.#schedule(pending, clock.monotonicMs() + delayMs);
    pending.failures += 1;
  }

  /** Discards the pending heartbeats of a deleted object. */
  drop(key: AgentKey): void {
    const pending = this.#byKey.get(keyText(key));
    if (pending === undefined) return;
    pending.queue = new HeartbeatQueue();
    pending.timer?.abort();
    this.#byKey.delete(keyText(key));
  }

  /** Number of pending heartbeats of all objects. */
  size(): number {
    return [...this.#byKey.values()].reduce((sum, pending) => sum + pending.queue.length, 0);
  }

  /** Writes all pending heartbeats, and retries failed writes until `signal` aborts. */
  async close(signal: AbortSignal): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#byKey.values()].map((pending) => this.#drain(pending, signal)));
  }

  async #drain(pending: Pending, signal: AbortSignal): Promise<void> {
    pending.timer?.abort();
    for (let tries = 0; !signal.aborted; tries += 1) {
      // A write in progress does not contain the heartbeats that arrived after its start.
      await pending.writing?.catch(() => undefined);
      if (pending.queue.length === 0) return;
      if (tries > 0) await slept(this.#options.clock, halfJitter(tries - 1, RETRY), signal);
      await this.#flush(pending).catch(() => undefined);
    }
  }

  #bytes(): number {
    // Runs for each heartbeat, so it creates no list.
    let sum = 0;
    for (const { queue } of this.#byKey.values()) sum += queue.bytes;
    return sum;
  }
}

function merge(object: AgentObservation, arrivals: readonly Arrival[]): ObservationStatus | undefined {
  const context = contextOf(object);
  // The object may have been replaced by an agent of the same name from the other source.
  const own = arrivals.filter(({ source }) => source === object.spec.source);
  return own.reduce<ObservationStatus | undefined>(
    (status, arrival) => mergeArrival(status, arrival, context),
    object.status,
  );
}

/** The API server rejected the content, so a retry cannot succeed. */
function isFinal(error: unknown): boolean {
  return error instanceof KubeError && [400, 413, 422].includes(error.status);
}
