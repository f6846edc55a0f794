import { contextOf } from '../../../core/observation/context-of.ts';
import type { AgentObservation, ObservationStatus } from '../../../core/observation/observation.ts';
import { writeDelayMs } from '../../../core/observation/write-due.ts';
import { halfJitter } from '../../../kube/backoff.ts';
import { KubeError } from '../../../kube/client.ts';
import { keyText } from '../../../kube/resources.ts';
import type { StatusWriter } from '../../../kube/status-writer.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { describeError, type Logger } from '../../../runtime/logger.ts';
import type { Counter } from '../../../runtime/metrics.ts';
import type { ApiServerOutage } from '../../api-server-outage.ts';
import { mergeArrival } from '../../status/receive.ts';
import type { AgentKey, Arrival } from '../store.ts';
import type { Observations } from './observations.ts';
import { Waiting } from './waiting.ts';

export interface CoalescerOptions {
  observations: Observations;
  writer: StatusWriter<AgentObservation, ObservationStatus>;
  clock: Clock;
  logger: Logger;
  apiServer: ApiServerOutage;
  /** By result: written, unchanged, gone, failed, refused. */
  writes: Counter;
}

/** Heartbeats that were accepted and are not written yet, of one object. */
interface Pending {
  key: AgentKey;
  waiting: Waiting;
  /** The stored status with all that waits, and the version of the object that it was computed from. */
  ahead: { version: string | undefined; status: ObservationStatus } | null;
  writtenMs: number;
  /** Ends the wait for the next write. */
  wait: AbortController | null;
  dueMs: number;
  writing: Promise<void> | null;
  failures: number;
}

const RETRY = { baseMs: 500, maxMs: 8_000 };
/** Bytes of JSON that may wait over all objects: from half of it on everything is written at once, beyond it refused. */
const MAX_BYTES = 32 * 1024 * 1024;
/** How long an answer waits for a heartbeat to be stored, in milliseconds; senders wait for ten seconds. */
const PATIENCE_MS = 8_000;

/**
 * Writes what watchers wait for at once and the rest at most once in a window, per object. Reads see accepted
 * heartbeats at once, because the status is computed from the stored one and what is pending, by the function that
 * writes it too. A crash loses at most what is pending.
 */
export interface Coalescer {
  /** The object's status with what is pending. */
  statusOf(object: AgentObservation): ObservationStatus | undefined;
  /** False: the cluster does not keep up, and another heartbeat of this object would make what a crash loses more. */
  hasRoom(object: AgentObservation, arrival: Arrival): boolean;
  /** Takes an accepted heartbeat; its write follows by itself. */
  add(object: AgentObservation, arrival: Arrival): void;
  /** Takes an accepted heartbeat and resolves when it is stored; when it rejects, or takes too long, it is not taken. */
  write(object: AgentObservation, arrival: Arrival): Promise<'stored' | 'gone'>;
  /** The object is gone, and what was pending with it. */
  drop(key: AgentKey): void;
  /** Heartbeats that wait, over all objects. */
  size(): number;
  /** Writes everything that is pending, and tries again what fails until `signal` aborts. */
  close(signal: AbortSignal): Promise<void>;
}

export function createCoalescer(options: CoalescerOptions): Coalescer {
  return new PendingHeartbeats(options);
}

class PendingHeartbeats implements Coalescer {
  readonly #options: CoalescerOptions;
  readonly #byKey = new Map<string, Pending>();
  #closed = false;

  constructor(options: CoalescerOptions) {
    this.#options = options;
  }

  statusOf(object: AgentObservation): ObservationStatus | undefined {
    const pending = this.#byKey.get(keyText(object.metadata));
    if (pending === undefined || pending.waiting.length === 0) return object.status;
    const version = object.metadata.resourceVersion;
    if (pending.ahead?.version !== version || pending.ahead === null) {
      const status = merge(object, pending.waiting.arrivals);
      if (status === undefined) return undefined;
      pending.ahead = { version, status };
    }
    return pending.ahead.status;
  }

  hasRoom({ metadata }: AgentObservation, { heartbeat }: Arrival): boolean {
    const waiting = this.#byKey.get(keyText(metadata))?.waiting;
    const isBehind = waiting?.isBehind(heartbeat.intervalSeconds, this.#options.clock.monotonicMs()) ?? false;
    return !isBehind && this.#bytes() < MAX_BYTES;
  }

  add(object: AgentObservation, arrival: Arrival): void {
    const pending = this.#take(object, arrival);
    const { clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const after = this.statusOf(object);
    const delayMs =
      after === undefined || pending.waiting.isMany() || this.#bytes() > MAX_BYTES / 2
        ? 0
        : writeDelayMs(
            { before: object.status, after },
            {
              sinceLastWriteMs: nowMs - pending.writtenMs,
              intervalSeconds: arrival.heartbeat.intervalSeconds,
            },
          );
    this.#schedule(pending, nowMs + delayMs);
  }

  async write(object: AgentObservation, arrival: Arrival): Promise<'stored' | 'gone'> {
    const pending = this.#take(object, arrival, true);
    const patience = new AbortController();
    const late = this.#options.clock.sleep(PATIENCE_MS, patience.signal).then(
      () => Promise.reject(new KubeError(TOO_LATE)),
      () => undefined,
    );
    try {
      while (pending.waiting.has(arrival)) await Promise.race([this.#flush(pending), late]);
    } catch (error) {
      pending.waiting.remove([arrival]);
      pending.ahead = null;
      throw error;
    } finally {
      patience.abort();
    }
    return this.#byKey.get(keyText(pending.key)) === pending ? 'stored' : 'gone';
  }

  drop(key: AgentKey): void {
    const pending = this.#byKey.get(keyText(key));
    if (pending === undefined) return;
    pending.waiting = new Waiting();
    pending.wait?.abort();
    this.#byKey.delete(keyText(key));
  }

  size(): number {
    return [...this.#byKey.values()].reduce((sum, pending) => sum + pending.waiting.length, 0);
  }

  async close(signal: AbortSignal): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#byKey.values()].map((pending) => this.#drain(pending, signal)));
  }

  async #drain(pending: Pending, signal: AbortSignal): Promise<void> {
    pending.wait?.abort();
    for (let tries = 0; !signal.aborted; tries += 1) {
      // A write under way began before the last heartbeats came.
      await pending.writing?.catch(() => undefined);
      if (pending.waiting.length === 0) return;
      if (tries > 0)
        await this.#options.clock.sleep(halfJitter(tries - 1, RETRY), signal).catch(() => undefined);
      await this.#flush(pending).catch(() => undefined);
    }
  }

  #bytes(): number {
    return [...this.#byKey.values()].reduce((sum, pending) => sum + pending.waiting.bytes, 0);
  }

  #take(object: AgentObservation, arrival: Arrival, isAwaited = false): Pending {
    const { namespace, name } = object.metadata;
    const key = keyText({ namespace, name });
    const pending = this.#byKey.get(key) ?? {
      key: { namespace, name },
      waiting: new Waiting(),
      ahead: null,
      writtenMs: Number.NEGATIVE_INFINITY,
      wait: null,
      dueMs: Number.POSITIVE_INFINITY,
      writing: null,
      failures: 0,
    };
    this.#byKey.set(key, pending);
    // One more on what is computed already, not all of them anew.
    const before = pending.waiting.length === 0 ? null : this.statusOf(object);
    pending.waiting.add(arrival, this.#options.clock.monotonicMs(), isAwaited);
    if (before !== null) {
      const status = mergeArrival(before, arrival, contextOf(object));
      pending.ahead = { version: object.metadata.resourceVersion, status };
    }
    return pending;
  }

  /** The earliest of all times that were asked for counts. After a failure the retry's time holds. */
  #schedule(pending: Pending, dueMs: number): void {
    if (this.#closed || dueMs >= pending.dueMs || (pending.failures > 0 && pending.wait !== null)) return;
    pending.wait?.abort();
    const wait = new AbortController();
    pending.wait = wait;
    pending.dueMs = dueMs;
    void this.#wait(pending, wait, Math.max(0, dueMs - this.#options.clock.monotonicMs()));
  }

  async #wait(pending: Pending, wait: AbortController, ms: number): Promise<void> {
    try {
      if (ms > 0) await this.#options.clock.sleep(ms, wait.signal);
    } catch {
      return;
    }
    pending.wait = null;
    pending.dueMs = Number.POSITIVE_INFINITY;
    // A write under way began before the last heartbeats came.
    await pending.writing?.catch(() => undefined);
    await this.#flush(pending).catch((error: unknown) => this.#failed(pending, error));
  }

  #failed(pending: Pending, error: unknown): void {
    const { clock, logger, apiServer } = this.#options;
    const fields = { agent: keyText(pending.key), error: describeError(error) };
    if (isFinal(error)) {
      logger.error('status is refused, and its heartbeats are dropped', fields);
      return;
    }
    apiServer.failed(error);
    if (pending.failures === 0) logger.debug('status cannot be written, and is tried again', fields);
    const askedMs = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
    const delayMs = Math.max(halfJitter(pending.failures, RETRY), askedMs);
    this.#schedule(pending, clock.monotonicMs() + delayMs);
    pending.failures += 1;
  }

  /** Writes what is pending now; joins a write that is under way. */
  #flush(pending: Pending): Promise<void> {
    pending.writing ??= this.#store(pending).finally(() => (pending.writing = null));
    return pending.writing;
  }

  async #store(pending: Pending): Promise<void> {
    const { observations, writer, clock, writes, apiServer } = this.#options;
    const batch = pending.waiting.arrivals;
    if (batch.length === 0) return;
    const beganMs = clock.monotonicMs();
    try {
      const result = await writer.write(pending.key, (object) => merge(object, batch) ?? null);
      apiServer.answered();
      writes.add({ result: result.outcome === 'missing' ? 'gone' : result.outcome });
      if (result.outcome === 'missing') {
        this.drop(pending.key);
        return;
      }
      observations.remember(result.object);
      this.#settle(pending, batch);
      pending.waiting.storedAt(beganMs);
      pending.writtenMs = clock.monotonicMs();
      pending.failures = 0;
    } catch (error) {
      writes.add({ result: isFinal(error) ? 'refused' : 'failed' });
      // Tried again it would be refused again; without these heartbeats the next ones may be taken.
      if (isFinal(error)) this.#settle(pending, batch);
      throw error;
    }
  }

  #settle(pending: Pending, batch: readonly Arrival[]): void {
    pending.waiting.remove(batch);
    pending.ahead = null;
  }
}

function merge(object: AgentObservation, arrivals: readonly Arrival[]): ObservationStatus | undefined {
  const context = contextOf(object);
  // A namesake of the other source may have come in the place of what they were accepted for.
  const own = arrivals.filter(({ source }) => source === object.spec.source);
  return own.reduce<ObservationStatus | undefined>(
    (status, arrival) => mergeArrival(status, arrival, context),
    object.status,
  );
}

const TOO_LATE = {
  status: 0,
  reason: 'unreachable',
  message: `the cluster has not stored it within ${PATIENCE_MS} ms`,
  retryAfterMs: null,
};

/** The API server has judged the content, not the moment. */
function isFinal(error: unknown): boolean {
  return error instanceof KubeError && [400, 413, 422].includes(error.status);
}
