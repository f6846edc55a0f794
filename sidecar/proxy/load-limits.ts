/** Bytes that a request in flight costs: its two connections, heads and objects. Measured, with a margin. */
const REQUEST_BYTES = 48 * 1024;
/** Bytes that a request costs which was read and waits behind others of its connection. */
const WAITING_BYTES = 12 * 1024;
/** Bytes of its body that were read with it, at most. */
const WAITING_BODY_BYTES = 64 * 1024;
/** Bytes of a head that both include. */
const ORDINARY_HEAD_BYTES = 8 * 1024;
/** Bytes of a string beyond its characters. */
const STRING_BYTES = 32;
/** A head is kept as it came, and as it goes on. */
const COPIES_OF_HEAD = 2;
/** Bytes of a head that is not complete, at most. */
const UNFINISHED_HEAD_BYTES = 32 * 1024;
/** Bytes that are buffered for a reader that does not read: one read from the other side, and the buffers of two streams. */
const STUCK_BYTES = 256 * 1024;
/** Bytes that an open connection costs. */
const CONNECTION_BYTES = 48 * 1024;

/** Bytes that a connection to the control routes costs, with its requests. */
const CONTROL_CONNECTION_BYTES = 96 * 1024;

/** Part of the memory limit for each use. The rest is the process itself: code, heap, audit ring. */
const SHARES = {
  requests: 1 / 3,
  stuck: 1 / 12,
  pipelined: 1 / 24,
  heads: 1 / 24,
  usage: 1 / 48,
  events: 1 / 32,
  controlConnections: 1 / 16,
  controlUnread: 1 / 24,
  controlBodies: 1 / 96,
} as const;
/** Part of the bytes for pipelined requests that one connection may hold. */
const CONNECTION_PART = 1 / 4;
/** Part of either from which on a connection with waiting requests is read no further. */
const NEARLY_FULL = 3 / 4;
/** Part of them that requests may hold which are sent ahead of their turn, which only saves time. */
const EARLY_PART = 1 / 2;

/** Bytes that a head costs beyond what each request is estimated at. */
export function costOfHead(url: string, rawHeaders: readonly string[]): number {
  let bytes = url.length;
  for (const text of rawHeaders) bytes += text.length + STRING_BYTES;
  return Math.max(0, COPIES_OF_HEAD * bytes - ORDINARY_HEAD_BYTES);
}

/** What holds buffered bytes because its reader does not read. */
export interface Holder {
  /** Its buffers have room of their own, and do not count against the others. */
  readonly hasRoom?: boolean;
  /** Ends it, with its connection, and gives back what it holds. */
  shed(): void;
  /** Gives back what is kept of its response to read the token usage. */
  forget?(): void;
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
  /** With ordinary heads. */
  readonly maxRequests: number;
  /** Connections whose head is not complete. */
  readonly maxUnfinishedHeads: number;
  /** Connections to the control routes. */
  readonly maxControlConnections: number;
  /** Bytes of their responses that nobody reads. */
  readonly maxControlUnread: number;
  /** Bytes of incomplete bodies that arrive at the control routes. */
  readonly maxControlBodies: number;
  /** Bytes of events in the audit ring. */
  readonly maxEventBytes: number;
  /** Requests that were answered 503. */
  refused = 0;
  /**
   * Exchanges that were cut because they had been stuck for longest, connections that held the most pipelined requests, and
   * those whose head had been incomplete for longest.
   */
  cut = 0;
  /** Connections that were closed at once. */
  dropped = 0;
  readonly #maxStuck: number;
  readonly #maxPipelined: number;
  readonly #maxUsage: number;
  readonly #maxRequestBytes: number;
  #requestBytes = 0;
  #pipelined = 0;
  #usage = 0;
  /** That hold pipelined requests. */
  readonly #shares = new Set<PipelineShare>();
  /** In the order in which they became stuck. */
  readonly #stuck = new Set<Holder>();
  /** The same with those that have room of their own. */
  readonly #paused = new Set<Holder>();

  constructor(memoryBytes: number) {
    this.maxConnections = Math.floor(memoryBytes / CONNECTION_BYTES);
    this.#maxRequestBytes = memoryBytes * SHARES.requests;
    this.maxRequests = Math.floor(this.#maxRequestBytes / REQUEST_BYTES);
    this.maxUnfinishedHeads = Math.max(1, Math.floor((memoryBytes * SHARES.heads) / UNFINISHED_HEAD_BYTES));
    this.maxControlConnections = Math.floor(
      (memoryBytes * SHARES.controlConnections) / CONTROL_CONNECTION_BYTES,
    );
    this.maxControlUnread = memoryBytes * SHARES.controlUnread;
    this.maxControlBodies = memoryBytes * SHARES.controlBodies;
    this.maxEventBytes = memoryBytes * SHARES.events;
    this.#maxStuck = Math.floor((memoryBytes * SHARES.stuck) / STUCK_BYTES);
    this.#maxPipelined = memoryBytes * SHARES.pipelined;
    this.#maxUsage = memoryBytes * SHARES.usage;
  }

  /** Admits the first unanswered request of a connection, or an upgrade; false: it is to be refused. */
  admit(headBytes: number): boolean {
    if (this.#requestBytes + REQUEST_BYTES + headBytes > this.#maxRequestBytes) return this.#refuse();
    this.#requestBytes += REQUEST_BYTES + headBytes;
    return true;
  }

  /** The request that was admitted with this head is answered; its connection may have others. */
  giveBackHead(headBytes: number): void {
    this.#requestBytes -= headBytes;
  }

  /** The connection has no unanswered request any more. */
  leave(): void {
    this.#requestBytes -= REQUEST_BYTES;
  }

  /**
   * Admits a request behind others of its connection; the bytes that it holds until `giveBack`, 0: it is to be refused.
   * Where there is no room, the connection that holds most is cut, if it holds more than twice as much. `bodyBytes` is what
   * its body has, Infinity where that is not known.
   */
  admitWaiting(share: PipelineShare, headBytes: number, bodyBytes: number): number {
    const bytes = WAITING_BYTES + headBytes + Math.min(bodyBytes, WAITING_BODY_BYTES);
    const wanted = share.bytes + bytes;
    if (wanted <= this.#maxPipelined * CONNECTION_PART) {
      if (this.#pipelined + bytes > this.#maxPipelined) this.#cutLargest(2 * wanted);
      if (this.#pipelined + bytes <= this.#maxPipelined) return this.#take(share, bytes);
    }
    this.#refuse();
    return 0;
  }

  /** Whether a connection that has waiting requests is to be read no further: its next one might find no room. */
  isNearlyFull(share: PipelineShare): boolean {
    const isOwnFull = share.bytes > this.#maxPipelined * CONNECTION_PART * NEARLY_FULL;
    return isOwnFull || this.#pipelined > this.#maxPipelined * NEARLY_FULL;
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
    this.#paused.add(holder);
    if (holder.hasRoom === true) return;
    this.#stuck.add(holder);
    if (this.#stuck.size <= this.#maxStuck) return;
    const [oldest] = this.#stuck;
    if (oldest === undefined) return;
    this.release(oldest);
    this.cut += 1;
    oldest.shed();
  }

  release(holder: Holder): void {
    this.#paused.delete(holder);
    this.#stuck.delete(holder);
  }

  /**
   * Counts bytes of responses that are kept until their token usage is read; false: there is no room for them. What is kept
   * for readers that do not read gives way, longest first.
   */
  keepForUsage(bytes: number): boolean {
    if (bytes > 0 && this.#usage + bytes > this.#maxUsage)
      for (const holder of this.#paused) {
        holder.forget?.();
        if (this.#usage + bytes <= this.#maxUsage) break;
      }
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
