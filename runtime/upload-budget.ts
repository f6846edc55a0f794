import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Clock } from './clock.ts';
import { hasBody } from './has-body.ts';

export interface UploadLimits {
  /** Bytes of incomplete bodies in memory beyond which only the oldest upload is read on. */
  bytes: number;
  /** How long one body may take until its connection is closed, in milliseconds. */
  bodyMs: number;
  /** Bytes per second. An upload that is slower may lose its connection while others wait for room. */
  slowRate: number;
  clock: Clock;
}

/** Milliseconds between two checks of the progress of the uploads, and for which a fast one may pause. */
export const CHECK_MS = 250;

/** A body of which a part has arrived. */
interface Upload {
  request: IncomingMessage;
  /** By its Content-Length; Infinity: not known. */
  expected: number;
  received: number;
  startedAtMs: number;
  isPaused: boolean;
  /** What it brought, up to what a slow one brings between two checks, less what a slow one would have brought since. */
  credit: number;
  /** When that was computed. */
  countedAtMs: number;
}

/**
 * Bounds the memory of bodies that arrive at `handler`, which reads each body into memory and then answers at once. No
 * sender can keep others out: bodies arrive next to each other, and when there is no room left, those that hardly move lose
 * their connections and the oldest of the others is read on. An upload that is slow while there is room is left alone.
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
    const over = (): void => {
      request.off('data', received);
      this.#release(upload);
    };
    const received = (chunk: Buffer): void => this.#received(upload, chunk.length);
    request.on('data', received).once('end', over).once('close', over);
    response.once('close', over);
  }

  #received(upload: Upload, bytes: number): void {
    upload.received += bytes;
    const isKnown = this.#arriving.has(upload);
    // Nearly every body comes in one piece.
    if (!isKnown && isWhole(upload)) return;
    if (!isKnown) this.#arriving.add(upload);
    this.#total += bytes;
    this.#count(upload);
    upload.credit = Math.min(Math.max(upload.credit, 0) + bytes, (this.#limits.slowRate * CHECK_MS) / 1_000);
    if (this.#total > this.#limits.bytes) this.#makeRoom();
    if (!this.#isChecking) void this.#checkOn();
  }

  /** Time in which more has come than is taken does not count against an upload. */
  #count(upload: Upload): void {
    const now = this.#limits.clock.monotonicMs();
    if (!isHeldBack(upload)) upload.credit -= (this.#limits.slowRate * (now - upload.countedAtMs)) / 1_000;
    upload.countedAtMs = now;
  }

  #makeRoom(): void {
    for (const upload of this.#arriving) this.#count(upload);
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

  /** Lets paused uploads go on, the oldest first, as far as there is room. */
  #resume(): void {
    let room = this.#limits.bytes - this.#total;
    const [oldest] = this.#arriving;
    for (const upload of this.#arriving) {
      if (!upload.isPaused || (upload !== oldest && room <= 0)) continue;
      room -= upload.request.readableHighWaterMark;
      this.#count(upload);
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

  async #checkOn(): Promise<void> {
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

/** Whether the upload's buffer is full while nothing is taken from it: its sender is not the one that is slow. */
function isHeldBack({ request, isPaused, expected, received }: Upload): boolean {
  return isPaused && request.readableLength >= Math.min(expected - received, request.readableHighWaterMark);
}

function isWhole({ received, expected }: Upload): boolean {
  return received >= expected;
}
