import type { CensusFacts } from '../facts/egress-facts.ts';
import { addressText, isLoopback, isUnspecified } from './address.ts';
import type { AddressBook } from './address-book.ts';
import { emptyRow, readSocketTable, STATES, type SocketRow } from './socket-table.ts';
import { UnseenTargets } from './unseen-egress.ts';

/** The files of `/proc/net` that are scanned. */
export const TABLES = ['tcp', 'tcp6', 'udp', 'udp6'] as const;
export type TableName = (typeof TABLES)[number];
/** The kernel lists them in a hundredth of the time: it walks through one hash table of the whole machine for each TCP table. */
export const UDP_TABLES: readonly TableName[] = ['udp', 'udp6'];

/** What the process knows about its own sockets. */
export interface OwnSockets {
  /** Whether the process connected from this port to this port in the last minutes, and to which addresses. */
  has(localPort: number, remotePort: number, remoteAddress: () => string): boolean;
  /** Whether the process has a file descriptor of this socket. Called rarely: it reads a directory. */
  hasInode(inode: number): boolean;
  /** Connections that the process attempted since its start. */
  readonly attempts: number;
  /** Connections from this network namespace that the process accepted since its start. */
  readonly accepts: number;
}

export interface CensusOptions {
  book: AddressBook;
  own: OwnSockets;
  /** The effective user of this process; null: unknown (not Linux). */
  ownUid: number | null;
  /** Ports on which this process listens: connections to them are counted when they are accepted. */
  ownPorts: readonly number[];
  /** The addresses of the interfaces of this network namespace. */
  isOwnAddress: (address: string) => boolean;
}

/** Connections that are remembered while they exist, at most 8 MB. Those above it count as opened without being seen. */
const MAX_REMEMBERED = 50_000;

/** The users of the proxies of Istio and Linkerd. */
const MESH_UIDS: readonly number[] = [1337, 2102];

interface Baseline {
  activeOpens: number;
  attempts: number;
  accepts: number;
}

/**
 * Counts the connections that the processes of this network namespace open, and attributes them to hosts. One scan is
 * `beginScan`, `read` for each part of each table, `endScan`.
 */
export class SocketCensus {
  /** Rows of the tables when they were last scanned. */
  readonly rows = { tcp: 0, udp: 0 };
  readonly #options: CensusOptions;
  readonly #targets = new UnseenTargets();
  readonly #row: SocketRow = emptyRow();
  /** 1: the port was a listening port. Connections that were accepted can outlive the listening socket. */
  readonly #listening = new Uint8Array(65_536);
  /** Connections by protocol and addresses -> the number of the last scan that contained them. */
  readonly #connections = new Map<string, number>();
  #scan = 0;
  #at = { now: new Date(0), nowMs: 0 };
  #rowsOfScan = { tcp: 0, udp: 0 };
  #hasTcp = true;
  #hasMesh = false;
  /** Connections that scans have seen since the baseline. */
  #seenOpens = 0;
  #baseline: Baseline | null = null;
  /** Not exact (docs/decisions/0090): never negative, but single connections may be missing or too many. */
  #unexplained = 0;

  constructor(options: CensusOptions) {
    this.#options = options;
  }

  /** Whether an address has to be resolved before it is a finding. */
  get isPending(): boolean {
    return this.#targets.isPending;
  }

  /** Findings that were removed because there were too many. */
  get dropped(): number {
    return this.#targets.dropped;
  }

  /** `nowMs`: the same time in monotonic milliseconds. `tables`: all, or those of UDP. */
  beginScan(now: Date, nowMs: number, tables: readonly TableName[] = TABLES): void {
    this.#scan += 1;
    this.#rowsOfScan = { tcp: 0, udp: 0 };
    this.#hasTcp = tables.includes('tcp');
    this.#at = { now, nowMs };
  }

  /**
   * Reads the complete lines of a part of a table and returns their number of bytes. Listening sockets come first in each
   * table, and the sockets that they accept are in the same table.
   */
  read(table: TableName, buffer: Buffer, length: number): number {
    const isTcp = table.startsWith('tcp');
    return readSocketTable(buffer, length, this.#row, (row) => {
      this.#rowsOfScan[isTcp ? 'tcp' : 'udp'] += 1;
      if (isTcp && this.#isInbound(row)) return;
      if (!isUnspecified(row.remote)) this.#connection(row, buffer, isTcp);
    });
  }

  /** `activeOpens`: read before this scan; null: unknown. For the first scan: read after it, so that it counts no older connection. */
  endScan(activeOpens: number | null): void {
    for (const [key, scan] of this.#connections)
      if (scan !== this.#scan && (this.#hasTcp || key.startsWith('u'))) this.#connections.delete(key);
    this.rows.udp = this.#rowsOfScan.udp;
    if (this.#hasTcp) this.rows.tcp = this.#rowsOfScan.tcp;
    if (activeOpens === null) return;
    const { attempts, accepts } = this.#options.own;
    // The counter never decreases, unless the namespace is another one.
    if (this.#baseline === null || activeOpens < this.#baseline.activeOpens) {
      this.#baseline = { activeOpens, attempts, accepts };
      this.#seenOpens = 0;
    }
    const base = this.#baseline;
    const explained = attempts - base.attempts + accepts - base.accepts + this.#seenOpens;
    this.#unexplained = Math.max(0, activeOpens - base.activeOpens - explained);
  }

  /** Call it after the names were resolved; `startedAt`: when the lookups began. Returns whether they explained a connection. */
  settle(startedAt: Date, nowMs: number): boolean {
    return this.#targets.settle(startedAt, (address, port) =>
      this.#options.book.attribute(address, port, nowMs),
    );
  }

  facts(now: Date, nowMs: number): CensusFacts {
    const { book } = this.#options;
    return {
      unseenEgress: this.#targets.list(now, (address, port) => book.attribute(address, port, nowMs)),
      unexplainedOpens: this.#unexplained,
    };
  }

  /** Whether the row is a listening socket or an accepted connection. */
  #isInbound({ state, localPort }: SocketRow): boolean {
    if (state === STATES.listen) this.#listening[localPort] = 1;
    return (
      state === STATES.synReceived || state === STATES.newSynReceived || this.#listening[localPort] === 1
    );
  }

  #connection(row: SocketRow, buffer: Buffer, isTcp: boolean): void {
    const { now, nowMs } = this.#at;
    const { own, ownUid, ownPorts, isOwnAddress, book } = this.#options;
    const mayBeOwn = row.inode === 0 || row.uid === ownUid;
    // The address too: a process of the agent can choose the ports of a connection of this process, for another address.
    if (mayBeOwn && own.has(row.localPort, row.remotePort, () => addressText(row.remote))) return;
    const key = `${isTcp ? 't' : 'u'}${buffer.toString('latin1', row.keyStart, row.keyEnd)}`;
    const isKnown = this.#connections.has(key);
    const isRemembered = isKnown || this.#connections.size < MAX_REMEMBERED;
    if (isRemembered) this.#connections.set(key, this.#scan);
    if (isKnown || (mayBeOwn && row.inode !== 0 && own.hasInode(row.inode))) return;
    const isInside = isLoopback(row.remote) || isOwnAddress(addressText(row.remote));
    // One that is not remembered would count again in each scan, and explain connections that no scan has seen.
    const isCounted = isTcp && isRemembered && !(isInside && ownPorts.includes(row.remotePort));
    if (isCounted && this.#baseline !== null) this.#seenOpens += 1;
    if (isInside || book.attribute(row.remote, row.remotePort, nowMs).state === 'expected') return;
    this.#targets.record(row.remote, row.remotePort, { at: now, isOfAgent: this.#isOfAgent(row) });
  }

  /**
   * Whether the connection was certainly not made for this process. A proxy of a service mesh connects for each process of the pod, whose
   * own connection is also listed. Closed connections have no owner: of such a proxy, or of an earlier sidecar process at the start.
   */
  #isOfAgent({ uid, inode }: SocketRow): boolean {
    const isProxy = inode !== 0 && MESH_UIDS.includes(uid);
    this.#hasMesh ||= isProxy;
    return !isProxy && (inode !== 0 || (this.#scan > 1 && !this.#hasMesh));
  }
}
