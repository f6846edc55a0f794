import dns from 'node:dns';

/** Resolves a name as the agent does, with the hosts file and the search domains. Rejects without a response. */
export type Lookup = (host: string) => Promise<string[]>;

/** A name that does not exist has no addresses. Other errors are not a response. */
const NO_SUCH_NAME: readonly unknown[] = ['ENOTFOUND', 'ENODATA'];

export const lookup: Lookup = (host) =>
  new Promise((resolve, reject) => {
    // Not imported by name: the sidecar replaces `dns.lookup` for `localhost`.
    dns.lookup(host, { all: true }, (error, found) => {
      if (error === null) resolve(found.map(({ address }) => address));
      else if (NO_SUCH_NAME.includes(error.code)) resolve([]);
      else reject(error);
    });
  });

/** Lookups at the same time: each occupies one of the four threads of libuv, which also serve files. */
const PARALLEL = 2;
/** Milliseconds between two rounds of lookups. The time doubles while the rounds explain nothing. */
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [5_000, 60_000] as const;

export interface NameLookupsOptions {
  lookup: Lookup;
  /** The names of the next round. */
  names: () => readonly string[];
  onResult: (host: string, addresses: readonly string[]) => void;
}

/** Rounds of lookups that resolve all names, only when a connection is not explained. */
export class NameLookups {
  readonly #options: NameLookupsOptions;
  #isRunning = false;
  #notBeforeMs = -Infinity;
  #waitMs: number = FIRST_WAIT_MS;

  constructor(options: NameLookupsOptions) {
    this.#options = options;
  }

  /** Whether a round may start now. */
  allows(nowMs: number): boolean {
    return !this.#isRunning && nowMs >= this.#notBeforeMs;
  }

  /** Resolves all names once. */
  async run(): Promise<void> {
    this.#isRunning = true;
    const { lookup: find, names, onResult } = this.#options;
    const left = [...names()];
    const worker = async (): Promise<void> => {
      for (let host = left.shift(); host !== undefined; host = left.shift()) {
        const found = await find(host).catch(() => null);
        if (found !== null) onResult(host, found);
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, worker));
    this.#isRunning = false;
  }

  /** Call it after a round. `isUseful`: it explained a connection. */
  ended(isUseful: boolean, nowMs: number): void {
    this.#waitMs = isUseful ? FIRST_WAIT_MS : Math.min(2 * this.#waitMs, LONGEST_WAIT_MS);
    this.#notBeforeMs = nowMs + this.#waitMs;
  }
}
