import type { LaneRoute } from '../../core/egress/lane-routes.ts';
import { vendorLaneOf } from '../../core/egress/lane-variables.ts';
import type { Lane } from '../../core/egress/lanes.ts';
import type { Json, ModelWire } from '../../core/egress/model-wire.ts';
import { exactJson } from '../../core/egress/wires/exact-json.ts';
import { jsonWith } from './json-with.ts';
import type { RefusedOptions } from './refused-options.ts';

/** Statuses with which servers refuse an unknown option. */
const REFUSALS: ReadonlySet<number> = new Set([400, 415, 422]);

/** The option of one request that makes the vendor state the usage of a stream. */
export class UsageOption {
  /** The lane added the option, so the agent does not expect the usage. */
  isAdded = false;
  readonly #wire: ModelWire;
  readonly #route: LaneRoute;
  readonly #refused: RefusedOptions;
  /** The body as the agent wrote it, until the vendor has accepted the option. */
  #written: Buffer | null = null;
  /** The vendor refused the option, so the body was sent again without it. */
  #isRepeated = false;

  constructor(wire: ModelWire, route: LaneRoute, refused: RefusedOptions) {
    this.#wire = wire;
    this.#route = route;
    this.#refused = refused;
  }

  /** The body with the option, or `raw`. `body`: `raw` as JSON; `text`: its text. */
  addTo(body: Json, { text, raw, model }: { text: string; raw: Buffer; model: string | null }): Buffer {
    const { lane, upstreamPath } = this.#route;
    if (rejectsOptions(lane, upstreamPath) || !this.#wire.prepare?.(body)) return raw;
    if (this.#refused.has(this.#route, model)) return raw;
    const exact = exactJson(body, text);
    const prepared = this.#wire.prepare(exact);
    const next = prepared === null ? null : jsonWith(raw, exact, prepared);
    if (next === null) return raw;
    this.isAdded = true;
    this.#written = raw;
    return next;
  }

  /** Called first for each response. The body to send once more instead of this response; null: the response stands. */
  refusedBy(status: number): Buffer | null {
    const written = REFUSALS.has(status) ? this.#written : null;
    this.#written = null;
    if (written === null) return null;
    this.isAdded = false;
    this.#isRepeated = true;
    return written;
  }

  /** The vendor has served the call. */
  served(model: string | null): void {
    if (this.#isRepeated) this.#refused.add(this.#route, model);
  }
}

/** Whether the vendor is known to refuse the option. */
function rejectsOptions({ kind }: Lane, path: string): boolean {
  const option = vendorLaneOf(kind)?.usageOption;
  if (option === undefined || option === 'not-accepted') return option !== undefined;
  const [, version = option.since] = /[?&]api-version=(\d{4}-\d{2}-\d{2})/.exec(path) ?? [];
  return version < option.since;
}
