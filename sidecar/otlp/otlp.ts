import type { Clock } from '../../runtime/clock.ts';
import { listen, type Listener } from '../../runtime/http-listener.ts';
import type { Logger } from '../../runtime/logger.ts';
import { withUploadBudget } from '../../runtime/upload-budget.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import { startOnLoopback } from '../loopback.ts';
import type { PolicyEvaluator } from '../policy/policy-evaluator.ts';
import { Forwarder } from './forwarder.ts';
import { createReceiver, MAX_BODY_BYTES } from './receiver.ts';
import { RequestTraces } from './request-traces.ts';
import { SpanRecorder } from './span-recorder.ts';

const MAX_CONNECTIONS = 64;
const MAX_UNANSWERED = 4;
const MAX_HEADER_FIELDS = 128;
const MAX_UNREAD_BYTES = 1024 * 1024;
/** Bytes of bodies that arrive at the same time. */
const MAX_ARRIVING_BYTES = 2 * MAX_BODY_BYTES;
const TIMES = { headMs: 10_000, requestMs: 60_000 } as const;
const [BODY_MS, SLOW_RATE] = [30_000, 64 * 1024] as const;
/** At most one warning about invalid exports in this time. */
const WARN_EVERY_MS = 60_000;

export interface OtlpOptions {
  port: number;
  /** Base URL of a collector; null: nothing is forwarded. */
  forwardUrl: URL | null;
  ringSize: number;
  audit: AuditLog;
  policy: Pick<PolicyEvaluator, 'review'>;
  clock: Clock;
  logger: Logger;
}

/** Receives OpenTelemetry spans of the agent and records their evidence. */
export class Otlp {
  readonly traces: RequestTraces;
  readonly recorder: SpanRecorder;
  readonly forwarder: Forwarder | null;
  /** Responses by status, since the start of the process. */
  readonly responses = new Map<number, number>([[200, 0]]);
  /** Connections that were closed and requests that were rejected because of a limit. */
  overload = 0;
  readonly #options: OtlpOptions;
  #listeners: Listener[] = [];
  #warnedAtMs = -Infinity;

  constructor(options: OtlpOptions) {
    const { clock, logger, forwardUrl, ringSize } = options;
    this.#options = options;
    this.traces = new RequestTraces(clock, ringSize);
    this.recorder = new SpanRecorder({ ...options, traces: this.traces });
    this.forwarder = forwardUrl === null ? null : new Forwarder({ url: forwardUrl, clock, logger });
  }

  /** Starts to listen on loopback; rejects if the port is in use. */
  async start(): Promise<void> {
    const { clock, logger, port } = this.#options;
    const { forwarder } = this;
    const receiver = createReceiver({
      onSpans: (spans) => this.recorder.record(spans),
      forward: forwarder === null ? null : (each) => forwarder.add(each),
      onResponse: (status) => this.responses.set(status, (this.responses.get(status) ?? 0) + 1),
      onMalformed: (reason) => this.#warn(reason),
      onError: (error) => logger.error('OTLP export could not be recorded', { error }),
    });
    const limits = { bytes: MAX_ARRIVING_BYTES, bodyMs: BODY_MS, slowRate: SLOW_RATE, clock };
    const handler = withUploadBudget(receiver, limits);
    await startOnLoopback(
      async (host) => void this.#listeners.push(await this.#listen(handler, host, port)),
      () => this.close(0),
    );
  }

  /** Waits `graceMs` milliseconds for exports that are being received or forwarded. */
  async close(graceMs: number): Promise<void> {
    const listeners = this.#listeners;
    this.#listeners = [];
    await Promise.all(listeners.map((each) => each.close(graceMs)));
    await this.forwarder?.close(graceMs);
  }

  #listen(handler: Parameters<typeof withUploadBudget>[0], host: string, port: number): Promise<Listener> {
    const count = (): unknown => (this.overload += 1);
    return listen({
      ...{ handler, host, port, timeouts: TIMES, clock: this.#options.clock },
      limits: {
        maxConnections: MAX_CONNECTIONS,
        maxUnfinishedHeads: MAX_CONNECTIONS,
        maxUnanswered: MAX_UNANSWERED,
        maxHeaderFields: MAX_HEADER_FIELDS,
        maxUnreadBytes: MAX_UNREAD_BYTES,
        groupOf: () => host,
        onRefused: count,
        onCut: count,
      },
    });
  }

  #warn(reason: string): void {
    const { clock, logger } = this.#options;
    if (clock.monotonicMs() - this.#warnedAtMs < WARN_EVERY_MS) return;
    this.#warnedAtMs = clock.monotonicMs();
    logger.warn('OTLP export is not valid', { reason });
  }
}
