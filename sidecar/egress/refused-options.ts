import type { LaneRoute } from '../../core/egress/lane-routes.ts';
import { detached } from '../../core/untrusted/fields.ts';
import { setNewest } from '../../core/untrusted/set-newest.ts';
import type { Clock } from '../../runtime/clock.ts';

/** Remembered refusals, and characters of one. */
const [MAX_REFUSALS, MAX_KEY] = [500, 1_000] as const;

/** A gateway may change what it accepts. */
const REMEMBERED_MS = 3_600_000;

/** The paths and models for which an upstream refused the option that the lane adds, and served the request without it. */
export class RefusedOptions {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** The end of each refusal, in monotonic milliseconds. */
  readonly #ends = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  has(route: LaneRoute, model: string | null): boolean {
    return this.#clock.monotonicMs() < (this.#ends.get(keyOf(route, model)) ?? -Infinity);
  }

  add(route: LaneRoute, model: string | null): void {
    const key = keyOf(route, model);
    if (key.length > MAX_KEY) return;
    setNewest(this.#ends, [detached(key), this.#clock.monotonicMs() + REMEMBERED_MS], MAX_REFUSALS);
  }
}

/** A gateway forwards models to different vendors. The query may have a key of the vendor. */
function keyOf({ lane, upstreamPath }: LaneRoute, model: string | null): string {
  return `${lane.id} ${upstreamPath.split('?', 1)[0]} ${model}`;
}
