import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { hasBody } from './chunk-store.ts';
import type { Clock } from './clock.ts';

export interface UploadLimits {
  /** Bytes of incomplete bodies in memory. Above this number, only the oldest upload is read. */
  bytes: number;
  /** Maximum duration of one upload in milliseconds; then its connection is closed. */
  bodyMs: number;
  /** Bytes per second. A slower upload may lose its connection while other uploads wait for memory. */
  slowRate: number;
  clock: Clock;
}

/** Milliseconds between two progress checks of the uploads. A fast upload may also pause for this long. */
export const CHECK_MS = 250;

/** A partly received body. */
interface Upload {
  request: IncomingMessage;
  /** The Content-Length; Infinity: unknown. */
  expected: number;
  received: number;
  startedAtMs: number;
  isPaused: boolean;
  /** Received bytes minus the bytes expected at `slowRate`; capped at the bytes of one check interval. Not positive: slow. */
  credit: number;
  /** When `credit` was computed. */
  countedAtMs: number;
}

/**
 * Limits the memory of request bodies. `handler` must read each body into memory and then respond immediately. No client can
 * block other clients: uploads run in parallel. When the budget is used up, slow uploads lose their connections,
 * and the oldest of the others continues. Slow uploads are not affected while there is free budget.
 */
export function withUploadBudget(handler: RequestListener, limits: UploadLimits): RequestListener {
  const uploads = new Uploads(limits);
  return (request, response) => {
    handler(request, response);
    if (hasBody(request) && !response.writableEnded) uploads.watch(request, response);
  };
}

class Uploads {
  readonly #limits: UploadLimits;
  /** Oldest first. */
  readonly #arriving = new Set<Upload>();
  #total = 0;
  #isChecking = false;

  constructor(limits: UploadLimits) {
    this.#limits = limits;
  }

  watch(request: IncomingMessage, response: ServerResponse): void {
    const upload: Upload = {
      request,
      expected: Number(request.headers['content-length'] ?? Infinity),
      received: 0,
      startedAtMs: this.#limits.clock.monotonicMs(),
      isPaused: false,
      credit: 0,
      countedAtMs: this.#limits.clock.monotonicMs(),
    };
    const ended = (): void => {
      request.off('data', received);
      this.#release(upload);
    };
    const received = (chunk: Buffer): void => this.#received(upload, chunk.length);
    request.on('data', received).once('end', ended).once('close', ended);
    response.once('close', ended);
  }

  #received(upload: Upload, bytes: number): void {
    upload.received += bytes;
    const isKnown = this.#arriving.has(upload);
    // Nearly every body arrives in one chunk and needs no accounting.
    if (!isKnown && isWhole(upload)) return;
    if (!isKnown) this.#arriving.add(upload);
    this.#total += bytes;
    this.#updateCredit(upload);
    upload.credit = Math.min(Math.max(upload.credit, 0) + bytes, (this.#limits.slowRate * CHECK_MS) / 1_000);
    if (this.#total > this.#limits.bytes) this.#makeRoom();
    if (!this.#isChecking) void this.#checkPeriodically();
  }

  /** The time in which received bytes wait to be read does not count as slow. */
  #updateCredit(upload: Upload): void {
    const now = this.#limits.clock.monotonicMs();
    if (!isHeldBack(upload)) upload.credit -= (this.#limits.slowRate * (now - upload.countedAtMs)) / 1_000;
    upload.countedAtMs = now;
  }

  #makeRoom(): void {
    for (const upload of this.#arriving) this.#updateCredit(upload);
    const slow = [...this.#arriving].filter((upload) => upload.credit <= 0 && !isWhole(upload));
    for (const upload of slow.sort((a, b) => b.received - a.received))
      if (this.#total > this.#limits.bytes) this.#cut(upload);
    if (this.#total <= this.#limits.bytes) return;
    const [, ...others] = this.#arriving;
    for (const upload of others)
      if (!isWhole(upload)) {
        upload.isPaused = true;
        upload.request.pause();
      }
  }

  /** Resumes paused uploads, the oldest first, while there is free budget. */
  #resume(): void {
    let room = this.#limits.bytes - this.#total;
    const [oldest] = this.#arriving;
    for (const upload of this.#arriving) {
      if (!upload.isPaused || (upload !== oldest && room <= 0)) continue;
      room -= upload.request.readableHighWaterMark;
      this.#updateCredit(upload);
      upload.isPaused = false;
      upload.request.resume();
    }
  }

  #cut(upload: Upload): void {
    this.#release(upload);
    upload.request.destroy();
  }

  #release(upload: Upload): void {
    if (!this.#arriving.delete(upload)) return;
    this.#total -= upload.received;
    if (upload.isPaused) upload.request.resume();
    this.#resume();
  }

  async #checkPeriodically(): Promise<void> {
    this.#isChecking = true;
    while (this.#arriving.size > 0) {
      await this.#limits.clock.sleep(CHECK_MS);
      this.#check();
    }
    this.#isChecking = false;
  }

  #check(): void {
    const { bytes, bodyMs, clock } = this.#limits;
    for (const upload of [...this.#arriving])
      if (clock.monotonicMs() - upload.startedAtMs >= bodyMs) this.#cut(upload);
    if (this.#total > bytes) this.#makeRoom();
    this.#resume();
  }
}

/** true: the upload is paused and its buffer is full, so its client is not the slow side. */
function isHeldBack({ request, isPaused, expected, received }: Upload): boolean {
  return isPaused && request.readableLength >= Math.min(expected - received, request.readableHighWaterMark);
}

function isWhole({ received, expected }: Upload): boolean {
  return received >= expected;
}
