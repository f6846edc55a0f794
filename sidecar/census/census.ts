import { AddressBook, type KnownHosts } from '../../core/census/address-book.ts';
import { ScanBudget } from '../../core/census/scan-budget.ts';
import { SocketCensus } from '../../core/census/socket-census.ts';
import { ActiveOpens, activeOpensOf } from '../../core/census/tcp-counters.ts';
import type { CensusFacts, CensusState } from '../../core/facts/egress-facts.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { lookup, NameLookups, type Lookup } from './name-lookups.ts';
import { sharedNamespaceReason } from './network-namespace.ts';
import { OwnAddresses } from './own-addresses.ts';
import { OwnConnections } from './own-connections.ts';
import { ProcFiles, type ProcNet } from './proc-files.ts';

/** Milliseconds between two readings of the counter of opened connections. */
export const POLL_MS = 50;
/** Milliseconds without a change of the counter until the next scan: it does not count UDP sockets. */
const QUIET_SCAN_MS = 10_000;
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
    running.timer = setInterval(() => this.#poll(running), POLL_MS).unref();
    this.#poll(running);
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
      const { buffer, length } = this.#files.readCounters();
      if (activeOpensOf(buffer, length) === null)
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
      onAnswer: (host, addresses) => book.learned(host, addresses, nowMs()),
    });
    return {
      ...{ book, own, names },
      census: new SocketCensus({ book, own, ownUid, ownPorts, isOwnAddress }),
      budget: new ScanBudget(nowMs()),
      timer: undefined,
      foreignOpens: null,
      isScanning: false,
      scannedAtMs: -Infinity,
      threadUsedAtMs: Infinity,
    };
  }

  /** Errors end nothing: a file of the kernel that cannot be read now can be read later. */
  #poll(running: Running): void {
    if (running.isScanning) return;
    const nowMs = this.#options.clock.monotonicMs();
    const opens = this.#activeOpens();
    if (this.#isDue(running, opens, nowMs) && running.budget.allows(nowMs))
      void this.#scan(running, opens).catch(() => undefined);
    if (nowMs - running.threadUsedAtMs > THREAD_IDLE_MS) {
      running.threadUsedAtMs = Infinity;
      this.#files.endThread();
    }
    if (running.census.isPending && running.names.allows(nowMs)) void this.#resolve(running);
  }

  /** Whether connections were opened that this process did not open or accept, or there was no scan for a while. */
  #isDue({ own, census, foreignOpens, scannedAtMs }: Running, opens: number | null, nowMs: number): boolean {
    const sinceMs = nowMs - scannedAtMs;
    if (census.rows > ROWS_IN_THIS_THREAD && sinceMs < THREAD_SCAN_MS) return false;
    if (sinceMs >= QUIET_SCAN_MS) return true;
    return opens !== null && opens - own.attempts - own.accepts !== foreignOpens;
  }

  async #scan(running: Running, opensBefore: number | null): Promise<void> {
    const { clock } = this.#options;
    const { census, own, budget } = running;
    const isFirst = running.scannedAtMs === -Infinity;
    const startedAtMs = clock.monotonicMs();
    running.scannedAtMs = startedAtMs;
    running.foreignOpens = opensBefore === null ? null : opensBefore - own.attempts - own.accepts;
    running.isScanning = true;
    try {
      own.renew();
      census.beginScan(clock.now(), startedAtMs);
      const take: Parameters<ProcNet['readTables']>[0] = (table, buffer, length) =>
        census.read(table, buffer, length);
      if (census.rows > ROWS_IN_THIS_THREAD) {
        running.threadUsedAtMs = startedAtMs;
        await this.#files.readTablesInThread(take);
      } else this.#files.readTables(take);
      census.endScan(isFirst ? this.#activeOpens() : opensBefore);
    } finally {
      running.isScanning = false;
      const tookMs = clock.monotonicMs() - startedAtMs;
      budget.spend(tookMs);
      this.scans += 1;
      this.scanSeconds += tookMs / 1000;
    }
  }

  /** Resolves all known names again before an address becomes a finding: answers of DNS servers change. */
  async #resolve({ book, census, names }: Running): Promise<void> {
    const { clock, knownHosts } = this.#options;
    const startedAt = clock.now();
    book.setHosts(knownHosts());
    await names.run();
    names.ended(census.settle(startedAt, clock.monotonicMs()), clock.monotonicMs());
  }

  #activeOpens(): number | null {
    try {
      const { buffer, length } = this.#files.readCounters();
      return this.#opens.of(buffer, length);
    } catch {
      return null;
    }
  }
}

interface Running {
  book: AddressBook;
  own: OwnConnections;
  names: NameLookups;
  census: SocketCensus;
  budget: ScanBudget;
  timer: NodeJS.Timeout | undefined;
  /** Opened connections at the last scan, without those of this process. */
  foreignOpens: number | null;
  isScanning: boolean;
  /** Monotonic milliseconds. */
  scannedAtMs: number;
  /** Infinity: there is no thread. */
  threadUsedAtMs: number;
}
