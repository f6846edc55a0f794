import type { UnseenEgress } from '../facts/egress-facts.ts';
import { setNewest } from '../untrusted/set-newest.ts';
import { addressText } from './address.ts';
import type { Attribution } from './address-book.ts';
import type { SocketAddress } from './socket-table.ts';

interface Target {
  address: SocketAddress;
  port: number;
  firstSeen: Date;
  lastSeen: Date;
  count: number;
  /** The names were not resolved again yet since the first connection. */
  isPending: boolean;
}

const MAX_TARGETS = 200;
/** A target is removed when it was not seen for this long. */
const KEPT_MS = 86_400_000;

/** A bounded list of targets. Above the limit, the targets that were not seen for the longest time are removed. */
export class UnseenTargets {
  /** Targets that were removed because of the limit, since the start. */
  dropped = 0;
  readonly #targets = new Map<string, Target>();

  get isPending(): boolean {
    for (const { isPending } of this.#targets.values()) if (isPending) return true;
    return false;
  }

  record(address: SocketAddress, port: number, at: Date): void {
    const key = `${addressText(address)} ${port}`;
    const known = this.#targets.get(key);
    const target = known ?? {
      address: { family: address.family, words: [...address.words] },
      port,
      firstSeen: at,
      count: 0,
      isPending: true,
    };
    const seen = { ...target, lastSeen: at, count: target.count + 1 };
    this.dropped += setNewest(this.#targets, [key, seen], MAX_TARGETS).length;
  }

  /**
   * Call it after the names were resolved: removes targets that are expected now. `startedAt`: when the lookups began.
   * Returns whether a target was removed.
   */
  settle(startedAt: Date, attribute: (address: SocketAddress) => Attribution): boolean {
    const before = this.#targets.size;
    for (const [key, target] of this.#targets) {
      if (attribute(target.address).verdict === 'expected') this.#targets.delete(key);
      else if (target.firstSeen <= startedAt) target.isPending = false;
    }
    return this.#targets.size < before;
  }

  /** The targets, the newest first. Targets whose names are being resolved are omitted. */
  list(now: Date, attribute: (address: SocketAddress) => Attribution): UnseenEgress[] {
    const unseen: UnseenEgress[] = [];
    for (const [key, { address, port, firstSeen, lastSeen, count, isPending }] of this.#targets) {
      if (now.getTime() - lastSeen.getTime() > KEPT_MS) this.#targets.delete(key);
      else if (!isPending) {
        const { verdict, name } = attribute(address);
        if (verdict !== 'expected')
          unseen.unshift({
            ...{ address: addressText(address), port, name, verdict, count },
            ...{ firstSeen: firstSeen.toISOString(), lastSeen: lastSeen.toISOString() },
          });
      }
    }
    return unseen;
  }
}
