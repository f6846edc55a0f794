import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { jsonOf } from '../../core/untrusted/fields.ts';
import { StreamReader } from '../../core/usage/sse-data.ts';
import { SSE } from '../../core/usage/sse-format.ts';
import { readText } from '../../push/credentials.ts';
import { urlBelow, type AuthorizedRequest } from '../../push/push-heartbeat.ts';
import { parseRetryAfter, pauseAfterFailure, pauseAfterLimit } from '../../push/schedule.ts';
import { slept, type Clock } from '../../runtime/clock.ts';
import { describeError, type Logger } from '../../runtime/logger.ts';

/** The control plane sends a comment every 15 seconds. */
const IDLE_MS = 45_000;
/** Until the head of the response. */
const CONNECT_MS = 10_000;
const LONGEST_PAUSE_MS = 30_000;
/** A control plane of an earlier version may be upgraded. */
const NO_ROUTE_PAUSE_MS = 300_000;
/** UTF-16 units of an event. The rules of an organisation have at most 64 KiB. */
const MAX_EVENT = 256 * 1024;

export interface DirectiveStreamOptions {
  /** The control plane with the credential of the heartbeats. */
  authorize: (signal: AbortSignal) => Promise<AuthorizedRequest>;
  /** Hash of the manifest in force. */
  manifestHash: () => string;
  /** Applies an event; false: it is not valid. */
  onDirectives: (value: unknown) => boolean;
  clock: Clock;
  logger: Pick<Logger, 'info' | 'warn' | 'debug'>;
  /** In [0, 1); for the jitter. */
  random?: () => number;
  /** Ends the stream. */
  signal: AbortSignal;
}

/** How a connection ended. `status`: the response was not a stream. */
type End = { reason: string } | { status: number; retryAfterMs: number | null };

/** The stream of the control plane with the directives of this agent, connected again whenever it ends. */
export class DirectiveStream {
  readonly #options: DirectiveStreamOptions;
  /** The current connection. */
  #connection = new AbortController();
  #isLive = false;
  #failures = 0;
  #hasLoggedNoRoute = false;

  constructor(options: DirectiveStreamOptions) {
    this.#options = options;
  }

  /** The current connection has sent the directives, and it sends every change. */
  get isLive(): boolean {
    return this.#isLive;
  }

  start(): void {
    void this.#run();
  }

  /** Connects again, because the first event has the whole state. */
  reconnect(): void {
    this.#connection.abort(new Error('a new connection is wanted'));
  }

  async #run(): Promise<void> {
    const { clock, signal } = this.#options;
    while (!signal.aborted) {
      const end = await this.#connect();
      const wasLive = this.#isLive;
      this.#isLive = false;
      if (signal.aborted || !(await slept(clock, this.#pauseAfter(end, wasLive), signal))) return;
    }
  }

  async #connect(): Promise<End> {
    this.#connection = new AbortController();
    const { signal } = this.#connection;
    const ended = AbortSignal.any([signal, this.#options.signal]);
    try {
      return await this.#read(ended);
    } catch (error) {
      // An aborted request only states that a signal aborted it.
      return { reason: describeError(signal.aborted ? signal.reason : error) };
    } finally {
      this.#connection.abort();
    }
  }

  async #read(signal: AbortSignal): Promise<End> {
    const { authorize, manifestHash, clock } = this.#options;
    let limit = { atMs: clock.monotonicMs(), ms: CONNECT_MS };
    const arrived = (): void => void (limit = { atMs: clock.monotonicMs(), ms: IDLE_MS });
    void this.#watchIdle(() => limit, signal);
    const response = await open(await authorize(signal), manifestHash());
    const { statusCode: status = 0, headers } = response;
    if (status !== 200 || headers['content-type']?.startsWith('text/event-stream') !== true) {
      response.destroy();
      return { status, retryAfterMs: parseRetryAfter(headers['retry-after'], clock.now()) };
    }
    arrived();
    const reader = new StreamReader(SSE, { onData: this.#received }, MAX_EVENT);
    const decoder = new TextDecoder();
    for await (const chunk of response as AsyncIterable<Buffer>) {
      arrived();
      reader.write(decoder.decode(chunk, { stream: true }));
    }
    return { reason: 'the control plane ended the stream' };
  }

  readonly #received = (data: string, event: string | null): void => {
    if (event !== 'directives' || !this.#options.onDirectives(jsonOf(data))) return;
    this.#isLive = true;
    if (this.#failures > 0)
      this.#options.logger.info('directive stream connected again', { after: this.#failures });
    this.#failures = 0;
  };

  /** Ends a connection on which nothing arrives: its other side may have vanished. */
  async #watchIdle(limit: () => { atMs: number; ms: number }, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    for (;;) {
      const { atMs, ms } = limit();
      const leftMs = atMs + ms - clock.monotonicMs();
      if (leftMs <= 0) break;
      if (!(await slept(clock, leftMs, signal))) return;
    }
    this.#connection.abort(new Error('nothing was received in time'));
  }

  /** Logs a failure once per outage, and returns the milliseconds until the next connection. */
  #pauseAfter(end: End, wasLive: boolean): number {
    const { logger, random = Math.random } = this.#options;
    const soonMs = 200 + 800 * random();
    if (wasLive) return soonMs;
    if ('status' in end) {
      const { status, retryAfterMs } = end;
      if (status === 404 || status === 405) {
        if (!this.#hasLoggedNoRoute)
          logger.info('control plane has no directive stream, directives arrive with heartbeats');
        this.#hasLoggedNoRoute = true;
        return NO_ROUTE_PAUSE_MS;
      }
      if (retryAfterMs !== null && (status === 429 || status === 503))
        return pauseAfterLimit(retryAfterMs, random()).afterMs;
    }
    this.#failures += 1;
    const reason = 'status' in end ? `status ${end.status}` : end.reason;
    const fields = { reason, failures: this.#failures };
    if (this.#failures > 1) {
      logger.debug('directive stream still not connected', fields);
      return pauseAfterFailure(this.#failures, LONGEST_PAUSE_MS, random()).afterMs;
    }
    logger.warn('directive stream not connected, directives arrive with heartbeats', fields);
    return soonMs;
  }
}

/** Resolves with the head of the response. */
async function open(
  { endpoint: { base, caFile }, bearer, signal }: AuthorizedRequest,
  manifestHash: string,
): Promise<IncomingMessage> {
  const url = urlBelow(base, '/api/v1/directives');
  url.searchParams.set('manifestHash', manifestHash);
  // Read each time, because the control plane's CA may be rotated while this process runs.
  const ca = caFile === null ? undefined : await readText('CA', caFile);
  const headers = { authorization: `Bearer ${bearer}`, accept: 'text/event-stream' };
  return new Promise((resolve, reject) => {
    const options = { agent: false as const, signal, headers };
    const request =
      url.protocol === 'https:'
        ? httpsRequest(url, { ...options, ca }, resolve)
        : httpRequest(url, options, resolve);
    request.on('error', reject).end();
  });
}
