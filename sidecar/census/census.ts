import { AddressBook, type KnownHosts } from '../../core/census/address-book.ts';
import { ScanBudget } from '../../core/census/scan-budget.ts';
import { SocketCensus, TABLES, UDP_TABLES, type TableName } from '../../core/census/socket-census.ts';
import { ActiveOpens, activeOpensOf } from '../../core/census/tcp-counters.ts';
import type { CensusFacts } from '../../core/facts/egress-facts.ts';
import type { CensusState } from '../../core/shapes/egress.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { lookup, NameLookups, type Lookup } from './name-lookups.ts';
import { sharedNamespaceReason } from './network-namespace.ts';
import { OwnAddresses } from './own-addresses.ts';
import { OwnConnections } from './own-connections.ts';
import { ProcFiles, type ProcNet, type TakeRows } from './proc-files.ts';

/** Milliseconds between two readings of the counters. */
export const POLL_MS = 200;
/** Readings between two checks of conditions that depend on the time only. */
const READINGS_PER_ROUND = 5;
/**
 * Milliseconds between two scans while no connection is opened. UDP sockets are not counted. All tables show ports on which the agent
 * listens, without which the connections that it accepted could look like egress. They take 10 to 25 ms on a machine with much memory.
 */
const QUIET_SCAN_MS = { udp: 10_000, all: 60_000 } as const;
/** Above this number of rows another thread reads the tables, at most once in a second. */
const ROWS_IN_THIS_THREAD = 1_000;
const THREAD_SCAN_MS = 1_000;
/** The thread ends after this many milliseconds without use: it occupies a few megabytes. */
const THREAD_IDLE_MS = 60_000;

export interface CensusOptions {
  isOn: boolean;
  clock: Clock;
  logger: Pick<Logger, 'info' | 'warn'>;
  /** Ports on which the sidecar listens. */
  ownPorts: readonly number[];
  /** What the manifest and the configuration declare; read before each round of lookups. */
  knownHosts: () => KnownHosts;
  files?: ProcNet;
  lookup?: Lookup;
  sharedReason?: (interfaces: readonly string[]) => string | null;
}

/** Observes the connections of all processes in the network namespace of the sidecar (docs/decisions/0090). */
export class Census {
  readonly state: CensusState;
  /** Scans, and the seconds that they took, since the start. */
  scans = 0;
  scanSeconds = 0;
  readonly #options: CensusOptions;
  readonly #files: ProcNet;
  readonly #opens = new ActiveOpens();
  readonly #running: Running | null;

  /** Create it before the first connection of the process: earlier connections would be attributed to the agent. */
  constructor(options: CensusOptions) {
    this.#options = options;
    this.#files = options.files ?? new ProcFiles();
    this.state = options.isOn ? this.#check() : { state: 'off', reason: null };
    this.#running = this.state.state === 'on' ? this.#create() : null;
  }

  start(): void {
    const { logger } = this.#options;
    if (this.state.state === 'refused') logger.warn('census refused', { reason: this.state.reason });
    const running = this.#running;
    if (running === null) return;
    this.#readOpens(running);
    this.#poll(running);
    running.timer = setInterval(() => this.#tick(running), POLL_MS).unref();
  }

  /** null: the census is off or refused. */
  facts(): CensusFacts | null {
    const { clock } = this.#options;
    return this.#running?.census.facts(clock.now(), clock.monotonicMs()) ?? null;
  }

  /** Findings that were removed because there were too many. */
  get dropped(): number {
    return this.#running?.census.dropped ?? 0;
  }

  close(): void {
    clearInterval(this.#running?.timer);
    this.#running?.own.close();
    this.#files.close();
  }

  #check(): CensusState {
    try {
      this.#files.readCounters();
      const { bytes, length } = this.#files.counters;
      if (activeOpensOf(bytes, length) === null)
        return { state: 'refused', reason: 'the kernel counts no opened connections' };
      const reason = (this.#options.sharedReason ?? sharedNamespaceReason)(this.#files.interfaces());
      return reason === null ? { state: 'on', reason } : { state: 'refused', reason };
    } catch {
      return { state: 'refused', reason: 'the socket tables of the kernel (/proc/net) cannot be read' };
    }
  }

  #create(): Running {
    const { clock, ownPorts, knownHosts } = this.#options;
    const book = new AddressBook();
    book.setHosts(knownHosts());
    const nowMs = (): number => clock.monotonicMs();
    const addresses = new OwnAddresses(nowMs);
    const isOwnAddress = (address: string): boolean => addresses.has(address);
    const own = new OwnConnections({
      inodes: () => this.#files.ownInodes(),
      ownPorts,
      isOwnAddress,
      onLookup: (host, address) => book.learned(host, [address], nowMs()),
      nowMs,
    });
    const ownUid = process.getuid?.() ?? null;
    const names = new NameLookups({
      lookup: this.#options.lookup ?? lookup,
      names: () => book.names,
      onResult: (host, addresses) => book.learned(host, addresses, nowMs()),
    });
    return {
      ...{ book, own, names },
      census: new SocketCensus({ book, own, ownUid, ownPorts, isOwnAddress }),
      budget: new ScanBudget(nowMs()),
      timer: undefined,
      readings: 0,
      opens: null,
      foreignOpens: null,
      isScanning: false,
      scannedAtMs: -Infinity,
      allScannedAtMs: -Infinity,
      threadUsedAtMs: Infinity,
    };
  }

  /**
   * Reads the counters, and does little else until a connection is opened: all caches are cold after a pause, so that each function
   * that runs here costs microseconds.
   */
  #tick(running: Running): void {
    if (running.isScanning) return;
    this.#readOpens(running);
    running.readings += 1;
    if (running.readings % READINGS_PER_ROUND === 0 || hasForeignOpens(running)) this.#poll(running);
  }

  /** Starts a scan or lookups of names, or ends the thread, if it is time. */
  #poll(running: Running): void {
    const nowMs = this.#options.clock.monotonicMs();
    const tables = this.#dueTables(running, nowMs);
    // Errors end nothing: a file of the kernel that cannot be read now can be read later.
    if (tables !== null && this.#isAllowed(running, nowMs))
      void this.#scan(running, tables).catch(() => undefined);
    if (nowMs - running.threadUsedAtMs > THREAD_IDLE_MS) {
      running.threadUsedAtMs = Infinity;
      this.#files.endThread();
    }
    if (running.census.isPending && running.names.allows(nowMs)) void this.#resolve(running);
  }

  /** All tables if connections were opened that this process did not open or accept; others after a while; null: none. */
  #dueTables(running: Running, nowMs: number): readonly TableName[] | null {
    const { opens, scannedAtMs, allScannedAtMs } = running;
    if (hasForeignOpens(running) || nowMs - allScannedAtMs >= QUIET_SCAN_MS.all) return TABLES;
    if (nowMs - scannedAtMs < QUIET_SCAN_MS.udp) return null;
    return opens === null ? TABLES : UDP_TABLES;
  }

  #isAllowed({ census, budget, scannedAtMs }: Running, nowMs: number): boolean {
    const { tcp, udp } = census.rows;
    if (tcp + udp > ROWS_IN_THIS_THREAD && nowMs - scannedAtMs < THREAD_SCAN_MS) return false;
    return budget.allows(nowMs);
  }

  async #scan(running: Running, tables: readonly TableName[]): Promise<void> {
    const { clock } = this.#options;
    const { census, own, budget, opens } = running;
    const isFirst = running.scannedAtMs === -Infinity;
    const startedAtMs = clock.monotonicMs();
    running.scannedAtMs = startedAtMs;
    if (tables === TABLES) {
      running.allScannedAtMs = startedAtMs;
      running.foreignOpens = opens === null ? null : opens - own.attempts - own.accepts;
    }
    running.isScanning = true;
    try {
      own.renew();
      census.beginScan(clock.now(), startedAtMs, tables);
      const take: TakeRows = (table, buffer, length) => census.read(table, buffer, length);
      const rows = tables === TABLES ? census.rows.tcp + census.rows.udp : census.rows.udp;
      if (rows > ROWS_IN_THIS_THREAD) {
        running.threadUsedAtMs = startedAtMs;
        await this.#files.readTablesInThread(tables, take);
      } else this.#files.readTables(tables, take);
      if (isFirst) this.#readOpens(running);
      census.endScan(isFirst ? running.opens : opens);
    } finally {
      running.isScanning = false;
      const tookMs = clock.monotonicMs() - startedAtMs;
      budget.spend(tookMs);
      this.scans += 1;
      this.scanSeconds += tookMs / 1000;
    }
  }

  /** Resolves all known names again before an address becomes a finding: responses of DNS servers change. */
  async #resolve({ book, census, names }: Running): Promise<void> {
    const { clock, knownHosts } = this.#options;
    const startedAt = clock.now();
    book.setHosts(knownHosts());
    await names.run();
    names.ended(census.settle(startedAt, clock.monotonicMs()), clock.monotonicMs());
  }

  #readOpens(running: Running): void {
    try {
      if (!this.#files.readCounters() && running.opens !== null) return;
      const { bytes, length } = this.#files.counters;
      running.opens = this.#opens.of(bytes, length);
    } catch {
      running.opens = null;
    }
  }
}

/** Whether connections were opened since the last scan that this process did not open or accept. */
function hasForeignOpens({ own, opens, foreignOpens }: Running): boolean {
  return opens !== null && opens - own.attempts - own.accepts !== foreignOpens;
}

interface Running {
  book: AddressBook;
  own: OwnConnections;
  names: NameLookups;
  census: SocketCensus;
  budget: ScanBudget;
  timer: NodeJS.Timeout | undefined;
  /** Of the counters, since the start. */
  readings: number;
  /** Opened connections at the last reading; null: unknown. */
  opens: number | null;
  /** Opened connections at the last scan, without those of this process. */
  foreignOpens: number | null;
  isScanning: boolean;
  /** Monotonic milliseconds. */
  scannedAtMs: number;
  allScannedAtMs: number;
  /** Infinity: there is no thread. */
  threadUsedAtMs: number;
}
