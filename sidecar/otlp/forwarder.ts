import { request as httpRequest, Agent, type IncomingMessage } from 'node:http';
import { request as httpsRequest, Agent as TlsAgent } from 'node:https';
import { slept, type Clock } from '../../runtime/clock.ts';
import { describeError, type Logger } from '../../runtime/logger.ts';

/** An export as the agent sent it. */
export interface Export {
  /** `/v1/traces`, `/v1/metrics` or `/v1/logs`. */
  path: string;
  contentType: string;
  contentEncoding: string | null;
  body: Buffer;
}

/**
 * Why an export was not forwarded. `full`: the queue was full. `failed`: the collector did not accept it in three attempts.
 * `rejected`: the collector responded with a status that a retry does not change.
 */
export const DROP_REASONS = ['full', 'failed', 'rejected'] as const;
type DropReason = (typeof DROP_REASONS)[number];

/** Bounds of the queue. One export has at most 4 MiB. */
const MAX_EXPORTS = 64;
const MAX_BYTES = 8 * 1024 * 1024;

const TIMEOUT_MS = 10_000;
/** Milliseconds before the second and the third attempt. */
const RETRY_MS = [1_000, 4_000] as const;
/** Statuses after which OTLP/HTTP allows a retry. */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

export interface ForwarderOptions {
  /** Base URL of the collector. */
  url: URL;
  clock: Pick<Clock, 'sleep'>;
  logger: Logger;
}

/** Forwards exports to a collector, one after the other. The agent never waits for the collector. */
export class Forwarder {
  /** Since the start of the process. */
  forwarded = 0;
  readonly dropped: Record<DropReason, number> = { full: 0, failed: 0, rejected: 0 };
  /** Bytes of the exports that wait or are being sent. */
  bytes = 0;
  readonly #options: ForwarderOptions;
  readonly #agent: Agent;
  readonly #queue: Export[] = [];
  readonly #closing = new AbortController();
  /** Resolves when the queue is empty. */
  #sending: Promise<void> = Promise.resolve();
  #isSending = false;
  #isFailing = false;

  constructor(options: ForwarderOptions) {
    this.#options = options;
    const isTls = options.url.protocol === 'https:';
    this.#agent = new (isTls ? TlsAgent : Agent)({ keepAlive: true, maxSockets: 1 });
  }

  /** Number of exports that wait or are being sent. */
  get queued(): number {
    return this.#queue.length;
  }

  /** Adds an export to the queue; if the queue is full, the export is dropped. */
  add(each: Export): void {
    if (this.#queue.length >= MAX_EXPORTS || this.bytes + each.body.length > MAX_BYTES) {
      this.#drop('full', { queued: this.#queue.length });
      return;
    }
    this.#queue.push(each);
    this.bytes += each.body.length;
    if (!this.#isSending) this.#sending = this.#sendAll();
  }

  /** Stops when everything is forwarded, or after `graceMs` milliseconds: then the rest is dropped. */
  async close(graceMs: number): Promise<void> {
    const ended = new AbortController();
    const { clock } = this.#options;
    await Promise.race([this.#sending, slept(clock, graceMs, ended.signal)]);
    ended.abort();
    this.#closing.abort();
    await this.#sending;
    this.#agent.destroy();
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true;
    for (let [each] = this.#queue; each !== undefined; [each] = this.#queue) {
      await this.#deliver(each);
      this.#queue.shift();
      this.bytes -= each.body.length;
    }
    this.#isSending = false;
  }

  async #deliver(each: Export): Promise<void> {
    for (const waitMs of [...RETRY_MS, null]) {
      const result = await this.#send(each).catch(describeError);
      if (typeof result === 'number' && result >= 200 && result < 300) {
        this.#delivered();
        return;
      }
      const fields = typeof result === 'number' ? { status: result } : { error: result };
      const isFinal = typeof result === 'number' && !RETRYABLE.has(result);
      if (isFinal || waitMs === null || this.#closing.signal.aborted) {
        this.#drop(isFinal ? 'rejected' : 'failed', fields);
        return;
      }
      await slept(this.#options.clock, waitMs, this.#closing.signal);
    }
  }

  #delivered(): void {
    this.forwarded += 1;
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#options.logger.info('OTLP exports are forwarded again', { dropped: { ...this.dropped } });
  }

  /** Logs one warning until an export is forwarded again. */
  #drop(reason: DropReason, fields: { queued?: number; status?: number; error?: string }): void {
    this.dropped[reason] += 1;
    if (this.#isFailing || this.#closing.signal.aborted) return;
    this.#isFailing = true;
    this.#options.logger.warn('OTLP export dropped', { reason, ...fields });
  }

  /** One request. Resolves with the status of the response. */
  #send({ path, contentType, contentEncoding, body }: Export): Promise<number> {
    const url = new URL(this.#options.url);
    url.pathname = url.pathname.replace(/\/$/, '') + path;
    const options = {
      method: 'POST',
      agent: this.#agent,
      signal: AbortSignal.any([this.#closing.signal, AbortSignal.timeout(TIMEOUT_MS)]),
      headers: {
        'content-type': contentType,
        'content-length': body.length,
        ...(contentEncoding !== null && { 'content-encoding': contentEncoding }),
      },
    };
    return new Promise((resolve, reject) => {
      const onResponse = (response: IncomingMessage): void => {
        response
          .on('end', () => resolve(response.statusCode ?? 0))
          .on('error', reject)
          .resume();
      };
      const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
      request(url, options, onResponse).on('error', reject).end(body);
    });
  }
}
