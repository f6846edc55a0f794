/** Bytes that a request in flight costs: its two connections, heads and objects. Measured, with a margin. */
const REQUEST_BYTES = 48 * 1024;
/** Bytes that a request costs which was read and waits behind others of its connection. */
const WAITING_BYTES = 12 * 1024;
/** Bytes of its body that were read with it, at most. */
const WAITING_BODY_BYTES = 64 * 1024;
/** Bytes that are buffered for a reader that does not read: one read from the other side, and the buffers of two streams. */
const STUCK_BYTES = 256 * 1024;
/** Bytes that an open connection costs. */
const CONNECTION_BYTES = 48 * 1024;

/** Part of the memory limit for each use. The rest is the process itself: code, heap, audit ring. */
const SHARES = { requests: 1 / 3, stuck: 1 / 12, pipelined: 1 / 24, usage: 1 / 48, events: 1 / 32 } as const;
/** Part of the bytes for pipelined requests that one connection may hold. */
const CONNECTION_PART = 1 / 4;
/** Part of them that requests may hold which are sent ahead of their turn, which only saves time. */
const EARLY_PART = 1 / 2;

/** What holds buffered bytes because its reader does not read. */
export interface Holder {
  /** Ends it, with its connection, and gives back what it holds. */
  shed(): void;
}

/** What the pipelined requests of one connection hold, in bytes. */
export interface PipelineShare extends Holder {
  bytes: number;
}

/**
 * Bounds what clients can make the sidecar hold in memory. The first unanswered request of a connection, requests behind
 * it, and buffers that nobody empties have a budget each, so a client that fills one takes nothing from the others.
 */
export class LoadLimits {
  readonly maxConnections: number;
  readonly maxRequests: number;
  /** Bytes of events in the audit ring. */
  readonly maxEventBytes: number;
  /** Requests that were answered 503. */
  refused = 0;
  /** Exchanges that were cut because they had been stuck for longest, and connections that held the most pipelined requests. */
  cut = 0;
  /** Connections that were closed at once. */
  dropped = 0;
  readonly #maxStuck: number;
  readonly #maxPipelined: number;
  readonly #maxUsage: number;
  #requests = 0;
  #pipelined = 0;
  #usage = 0;
  /** That hold pipelined requests. */
  readonly #shares = new Set<PipelineShare>();
  /** In the order in which they became stuck. */
  readonly #stuck = new Set<Holder>();

  constructor(memoryBytes: number) {
    this.maxConnections = Math.floor(memoryBytes / CONNECTION_BYTES);
    this.maxRequests = Math.floor((memoryBytes * SHARES.requests) / REQUEST_BYTES);
    this.maxEventBytes = memoryBytes * SHARES.events;
    this.#maxStuck = Math.floor((memoryBytes * SHARES.stuck) / STUCK_BYTES);
    this.#maxPipelined = memoryBytes * SHARES.pipelined;
    this.#maxUsage = memoryBytes * SHARES.usage;
  }

  /** Admits the first unanswered request of a connection, or an upgrade; false: it is to be refused. */
  admit(): boolean {
    if (this.#requests >= this.maxRequests) return this.#refuse();
    this.#requests += 1;
    return true;
  }

  /** The connection has no unanswered request any more. */
  leave(): void {
    this.#requests -= 1;
  }

  /**
   * Admits a request behind others of its connection; the bytes that it holds until `giveBack`, 0: it is to be refused.
   * Where there is no room, the connection that holds most is cut, if it holds more than twice as much.
   */
  admitWaiting(share: PipelineShare, hasBody: boolean): number {
    const bytes = hasBody ? WAITING_BYTES + WAITING_BODY_BYTES : WAITING_BYTES;
    const wanted = share.bytes + bytes;
    if (wanted <= this.#maxPipelined * CONNECTION_PART) {
      if (this.#pipelined + bytes > this.#maxPipelined) this.#cutLargest(2 * wanted);
      if (this.#pipelined + bytes <= this.#maxPipelined) return this.#take(share, bytes);
    }
    this.#refuse();
    return 0;
  }

  /** Whether a request may go to the agent before the responses in front of it are out; the bytes that it holds, 0: not yet. */
  startEarly(share: PipelineShare): number {
    const hasRoom = this.#pipelined + STUCK_BYTES <= this.#maxPipelined * EARLY_PART;
    const isFair = share.bytes + STUCK_BYTES <= this.#maxPipelined * EARLY_PART * CONNECTION_PART;
    return hasRoom && isFair ? this.#take(share, STUCK_BYTES) : 0;
  }

  giveBack(share: PipelineShare, bytes: number): void {
    share.bytes -= bytes;
    this.#pipelined -= bytes;
    if (share.bytes === 0) this.#shares.delete(share);
  }

  /** Its reader does not read. Beyond the budget, what has been stuck for longest is cut. */
  hold(holder: Holder): void {
    this.#stuck.add(holder);
    if (this.#stuck.size <= this.#maxStuck) return;
    const [oldest] = this.#stuck;
    if (oldest === undefined) return;
    this.#stuck.delete(oldest);
    this.cut += 1;
    oldest.shed();
  }

  release(holder: Holder): void {
    this.#stuck.delete(holder);
  }

  /** Counts bytes of responses that are kept until their token usage is read; false: there is no room for them. */
  keepForUsage(bytes: number): boolean {
    if (bytes > 0 && this.#usage + bytes > this.#maxUsage) return false;
    this.#usage += bytes;
    return true;
  }

  #take(share: PipelineShare, bytes: number): number {
    this.#shares.add(share);
    share.bytes += bytes;
    this.#pipelined += bytes;
    return bytes;
  }

  #cutLargest(moreThan: number): void {
    let largest: PipelineShare | null = null;
    for (const share of this.#shares) if (share.bytes > (largest?.bytes ?? moreThan)) largest = share;
    if (largest === null) return;
    this.cut += 1;
    largest.shed();
  }

  #refuse(): false {
    this.refused += 1;
    return false;
  }
}
