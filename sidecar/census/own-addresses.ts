import { networkInterfaces } from 'node:os';
import { addressText, isLoopback, parseIp } from '../../core/census/address.ts';

/** Interfaces of a pod do not change; those of a laptop may. */
const RENEWED_MS = 10_000;

/** The addresses of this network namespace. Asked for each connection, so the interfaces are read rarely. */
export class OwnAddresses {
  readonly #nowMs: () => number;
  #addresses: ReadonlySet<string> = new Set();
  #readAtMs = -Infinity;

  /** `nowMs`: monotonic milliseconds. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Whether the address is a loopback address or belongs to an interface. */
  has(text: string): boolean {
    const address = parseIp(text);
    if (address === null) return false;
    return isLoopback(address) || this.#ofInterfaces().has(addressText(address));
  }

  #ofInterfaces(): ReadonlySet<string> {
    const nowMs = this.#nowMs();
    if (nowMs - this.#readAtMs < RENEWED_MS) return this.#addresses;
    this.#readAtMs = nowMs;
    const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    this.#addresses = new Set(
      own.flatMap(({ address }) => {
        const parsed = parseIp(address);
        return parsed === null ? [] : [addressText(parsed)];
      }),
    );
    return this.#addresses;
  }
}
