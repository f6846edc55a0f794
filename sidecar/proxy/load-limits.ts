/** Memory of a request in flight in bytes: two connections, heads and objects. Measured, with a margin. */
const REQUEST_BYTES = 48 * 1024;
/** Memory of a request that was read and waits for earlier requests of its connection, in bytes. */
const WAITING_BYTES = 12 * 1024;
/** Maximum bytes of the body that were read with a waiting request. */
const WAITING_BODY_BYTES = 64 * 1024;
/** Bytes of a head that `REQUEST_BYTES` and `WAITING_BYTES` include. */
const ORDINARY_HEAD_BYTES = 8 * 1024;
/** Overhead of a string in bytes, in addition to its characters. */
const STRING_BYTES = 32;
/** A head is stored twice: as received and as passed on. */
const COPIES_OF_HEAD = 2;
/** Maximum bytes of an incomplete head. */
const UNFINISHED_HEAD_BYTES = 32 * 1024;
/** Bytes buffered for a client or agent that does not read: one read from the other side, and the buffers of two streams. */
const STUCK_BYTES = 256 * 1024;
/** Memory of an open connection in bytes. */
const CONNECTION_BYTES = 48 * 1024;

/** Memory of a connection to the control routes with its requests, in bytes. */
const CONTROL_CONNECTION_BYTES = 96 * 1024;
/** Memory of an entry of the audit ring in bytes, with the longest path. Events and names have a budget of their own. */
const AUDIT_ENTRY_BYTES = 3 * 1024;
/** Memory of an HTTP/2 session with a hundred streams, and as many that it has just reset, in bytes. */
const HTTP2_SESSION_BYTES = 1024 * 1024;

/** Share of the memory limit for each use. The rest is for the process itself: code, heap, audit ring. */
const SHARES = {
  requests: 1 / 3,
  stuck: 1 / 12,
  pipelined: 1 / 24,
  heldReads: 1 / 24,
  heads: 1 / 24,
  usage: 1 / 48,
  events: 1 / 32,
  controlConnections: 1 / 16,
  controlUnread: 1 / 24,
  controlBodies: 1 / 96,
  egress: 1 / 16,
  http2: 1 / 24,
  audit: 1 / 8,
  egressLog: 1 / 24,
} as const;
/** Share of the budget of the egress lanes that one body may hold, and its maximum in bytes: parsing it blocks the process. */
const EGRESS_BODY_PART = 1 / 4;
const MAX_EGRESS_BODY = 16 * 1024 * 1024;
/** Share of the pipelining budget that one connection may hold. */
const CONNECTION_PART = 1 / 4;
/** Above this share of either budget, a connection with waiting requests is not read. */
const NEARLY_FULL = 3 / 4;
/** Share of the pipelining budget for requests that are sent before their turn, which is only an optimisation. */
const EARLY_PART = 1 / 2;

/** Memory of a head in bytes, above the estimate that every request includes. */
export function costOfHead(url: string, rawHeaders: readonly string[]): number {
  let bytes = url.length;
  for (const text of rawHeaders) bytes += text.length + STRING_BYTES;
  return Math.max(0, COPIES_OF_HEAD * bytes - ORDINARY_HEAD_BYTES);
}

/** Holds buffered bytes because the receiving side does not read. */
export interface Holder {
  /** true: its buffers have a reserved budget and do not count towards the shared budget. */
  readonly hasRoom?: boolean;
  /** Closes the connection and releases its bytes. */
  shed(): void;
  /** Releases the bytes of the response that are kept for reading the token usage. */
  forget?(): void;
}

/** Bytes held by the pipelined requests of one connection. */
export interface PipelineShare extends Holder {
  bytes: number;
}

/**
 * Limits the memory that clients can occupy in the sidecar. Separate budgets exist for the first unanswered request of each
 * connection, for the requests after it, and for buffers of clients that do not read. Filling one budget affects no other.
 */
export class LoadLimits {
  readonly maxConnections: number;
  /** Maximum requests in flight, if their heads have ordinary sizes. */
  readonly maxRequests: number;
  /** Maximum connections with an incomplete head. */
  readonly maxUnfinishedHeads: number;
  /** Maximum bytes that were read and are not parsed yet, of all connections. */
  readonly maxHeldReads: number;
  /** Maximum connections to the control routes. */
  readonly maxControlConnections: number;
  /** Maximum unread response bytes of the control routes. */
  readonly maxControlUnread: number;
  /** Maximum bytes of incomplete request bodies of the control routes. */
  readonly maxControlBodies: number;
  /** Maximum entries of the audit ring. */
  readonly maxAuditEntries: number;
  /** Maximum bytes of the calls that the lanes remember. */
  readonly maxEgressLog: number;
  /** Maximum bytes of events in the audit ring. */
  readonly maxEventBytes: number;
  /** Maximum HTTP/2 sessions of the egress lanes. */
  readonly maxHttp2Sessions: number;
  /** Maximum bytes of one body that an egress lane reads. */
  readonly maxEgressBody: number;
  /** Number of requests that got 503. */
  refused = 0;
  /**
   * Number of cut connections: those that were stuck longest, those with the most pipelined requests, and those whose head
   * was incomplete longest.
   */
  cut = 0;
  /** Number of connections that were closed on arrival. */
  dropped = 0;
  readonly #maxStuck: number;
  readonly #maxPipelined: number;
  readonly #maxUsage: number;
  readonly #maxEgress: number;
  readonly #maxRequestBytes: number;
  #requestBytes = 0;
  #pipelined = 0;
  /** Bytes of connections that were cut and are not closed yet. */
  #closing = 0;
  #usage = 0;
  #egress = 0;
  /** Connections with pipelined requests. */
  readonly #shares = new Set<PipelineShare>();
  /** Those that were cut. Their requests stay in memory until they are closed, at the end of this turn of the event loop. */
  readonly #cutShares = new Set<PipelineShare>();
  /** Stuck holders without a reserved budget, in the order in which they became stuck. */
  readonly #stuck = new Set<Holder>();
  /** All stuck holders, including those with a reserved budget, in the same order. */
  readonly #paused = new Set<Holder>();

  constructor(memoryBytes: number) {
    this.maxConnections = Math.floor(memoryBytes / CONNECTION_BYTES);
    this.#maxRequestBytes = memoryBytes * SHARES.requests;
    this.maxRequests = Math.floor(this.#maxRequestBytes / REQUEST_BYTES);
    this.maxUnfinishedHeads = Math.max(1, Math.floor((memoryBytes * SHARES.heads) / UNFINISHED_HEAD_BYTES));
    this.maxHeldReads = memoryBytes * SHARES.heldReads;
    this.maxControlConnections = Math.floor(
      (memoryBytes * SHARES.controlConnections) / CONTROL_CONNECTION_BYTES,
    );
    this.maxControlUnread = memoryBytes * SHARES.controlUnread;
    this.maxControlBodies = memoryBytes * SHARES.controlBodies;
    this.maxAuditEntries = Math.max(1, Math.floor((memoryBytes * SHARES.audit) / AUDIT_ENTRY_BYTES));
    this.maxEgressLog = memoryBytes * SHARES.egressLog;
    this.maxEventBytes = memoryBytes * SHARES.events;
    this.#maxStuck = Math.floor((memoryBytes * SHARES.stuck) / STUCK_BYTES);
    this.#maxPipelined = memoryBytes * SHARES.pipelined;
    this.#maxUsage = memoryBytes * SHARES.usage;
    this.#maxEgress = memoryBytes * SHARES.egress;
    this.maxHttp2Sessions = Math.max(1, Math.floor((memoryBytes * SHARES.http2) / HTTP2_SESSION_BYTES));
    this.maxEgressBody = Math.floor(Math.min(MAX_EGRESS_BODY, this.#maxEgress * EGRESS_BODY_PART));
  }

  /** Admits the first unanswered request of a connection, or an upgrade. false: respond with 503. */
  admit(headBytes: number): boolean {
    if (this.#requestBytes + REQUEST_BYTES + headBytes > this.#maxRequestBytes) return this.#reject();
    this.#requestBytes += REQUEST_BYTES + headBytes;
    return true;
  }

  /** Call it when the response to a request with this head is sent. The connection may have further requests. */
  giveBackHead(headBytes: number): void {
    this.#requestBytes -= headBytes;
  }

  /** Call it when the connection has no unanswered request left. */
  leave(): void {
    this.#requestBytes -= REQUEST_BYTES;
  }

  /**
   * Admits a pipelined request. Returns the bytes that it holds until `giveBack`; 0: respond with 503.
   * If the budget is full, the connection that holds most is cut if it holds more than twice as much. Connections that are being closed
   * may hold as much again.
   * @param bodyBytes size of the body; Infinity: unknown
   */
  admitWaiting(share: PipelineShare, headBytes: number, bodyBytes: number): number {
    const bytes = WAITING_BYTES + headBytes + Math.min(bodyBytes, WAITING_BODY_BYTES);
    const wanted = share.bytes + bytes;
    if (wanted <= this.#maxPipelined * CONNECTION_PART) {
      if (this.#pipelined + bytes > this.#maxPipelined) this.#cutLargest(2 * wanted);
      if (this.#pipelined + bytes <= this.#maxPipelined) return this.#take(share, bytes);
    }
    this.#reject();
    return 0;
  }

  /** Whether to stop reading a connection with waiting requests, because its next request might not be admitted. */
  isNearlyFull(share: PipelineShare): boolean {
    const isOwnFull = share.bytes > this.#maxPipelined * CONNECTION_PART * NEARLY_FULL;
    return isOwnFull || this.#pipelined > this.#maxPipelined * NEARLY_FULL;
  }

  /** Admits sending a request to the agent before the previous responses are sent. Returns the bytes it holds; 0: not yet. */
  startEarly(share: PipelineShare): number {
    const hasRoom = this.#pipelined + STUCK_BYTES <= this.#maxPipelined * EARLY_PART;
    const isFair = share.bytes + STUCK_BYTES <= this.#maxPipelined * EARLY_PART * CONNECTION_PART;
    return hasRoom && isFair ? this.#take(share, STUCK_BYTES) : 0;
  }

  giveBack(share: PipelineShare, bytes: number): void {
    share.bytes -= bytes;
    if (this.#cutShares.has(share)) this.#closing -= bytes;
    else this.#pipelined -= bytes;
    if (share.bytes > 0) return;
    this.#shares.delete(share);
    this.#cutShares.delete(share);
  }

  /** Registers a holder whose receiver does not read. If the budget is exceeded, the holder that was stuck longest is cut. */
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
   * Counts response bytes that are kept until their token usage is read. Returns false if the budget is full. Bytes kept for
   * stuck clients are released first, the longest stuck first.
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

  /** Counts bytes of bodies that the egress lanes read. Returns false if the budget is full. */
  keepForEgress(bytes: number): boolean {
    if (bytes > 0 && this.#egress + bytes > this.#maxEgress) return false;
    this.#egress += bytes;
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
    if (largest === null || this.#closing + largest.bytes > this.#maxPipelined) return;
    this.cut += 1;
    this.#shares.delete(largest);
    this.#cutShares.add(largest);
    this.#pipelined -= largest.bytes;
    this.#closing += largest.bytes;
    largest.shed();
  }

  #reject(): false {
    this.refused += 1;
    return false;
  }
}
