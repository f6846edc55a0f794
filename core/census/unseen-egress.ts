import type { UnseenEgress } from '../shapes/egress.ts';
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
  /** A connection was certainly not made for the sidecar, so that it bypasses a lane that leads to the address. */
  isOfAgent: boolean;
}

type Attribute = (address: SocketAddress, port: number) => Attribution;

const MAX_TARGETS = 200;
/** The names are resolved again after this time if connections continue: their addresses expire. */
const RENEWED_MS = 1_800_000;
/** A target is removed when it was not seen for this long. */
const KEPT_MS = 86_400_000;

/** A bounded list of targets. Above the limit, the targets that were not seen for the longest time are removed. */
export class UnseenTargets {
  /** Targets that were removed because of the limit, since the start. */
  dropped = 0;
  readonly #targets = new Map<string, Target>();
  #settledMs = -Infinity;

  /** Whether the names have to be resolved. */
  get isPending(): boolean {
    for (const { isPending, lastSeen } of this.#targets.values())
      if (isPending || lastSeen.getTime() > this.#settledMs + RENEWED_MS) return true;
    return false;
  }

  /** `isOfAgent` false: the connection may have been made for the sidecar. */
  record(address: SocketAddress, port: number, { at, isOfAgent }: { at: Date; isOfAgent: boolean }): void {
    const key = `${addressText(address)} ${port}`;
    const known = this.#targets.get(key);
    const target = known ?? {
      address: { family: address.family, words: [...address.words] },
      port,
      firstSeen: at,
      count: 0,
      isPending: true,
      isOfAgent,
    };
    const seen = { ...target, lastSeen: at, count: target.count + 1 };
    seen.isOfAgent ||= isOfAgent;
    this.dropped += setNewest(this.#targets, [key, seen], MAX_TARGETS).length;
  }

  /**
   * Call it after the names were resolved: removes targets that are expected now. `startedAt`: when the lookups began.
   * Returns whether a target was removed.
   */
  settle(startedAt: Date, attribute: Attribute): boolean {
    const before = this.#targets.size;
    this.#settledMs = startedAt.getTime();
    for (const [key, target] of this.#targets) {
      if (attributionOf(target, attribute).state === 'expected') this.#targets.delete(key);
      else if (target.firstSeen <= startedAt) target.isPending = false;
    }
    return this.#targets.size < before;
  }

  /** The targets, the newest first. Targets whose names are being resolved are omitted. */
  list(now: Date, attribute: Attribute): UnseenEgress[] {
    const unseen: UnseenEgress[] = [];
    for (const [key, target] of this.#targets) {
      const { address, port, firstSeen, lastSeen, count, isPending } = target;
      if (now.getTime() - lastSeen.getTime() > KEPT_MS) this.#targets.delete(key);
      else if (!isPending) {
        const { state, name, lanes } = attributionOf(target, attribute);
        if (state !== 'expected')
          unseen.unshift({
            ...{ address: addressText(address), port, name, verdict: state, count },
            ...{ firstSeen: firstSeen.toISOString(), lastSeen: lastSeen.toISOString() },
            ...(lanes && { lanes: [...lanes] }),
          });
      }
    }
    return unseen;
  }
}

function attributionOf({ address, port, isOfAgent }: Target, attribute: Attribute): Attribution {
  const found = attribute(address, port);
  return found.lanes === undefined || isOfAgent ? found : { state: 'expected', name: null };
}
