import type { ModelCall } from '../shapes/request-usage.ts';

/** A model call that was read from a response. */
export interface ReadCall extends ModelCall {
  /** Id from the vendor or framework; null: none. */
  id: string | null;
  /** The response itself is the model response of this call, not the JSON of a framework that repeats it. */
  isRoot: boolean;
}

/** The usage that was read from one response. */
export interface ParsedUsage {
  calls: readonly ReadCall[];
  /** Ids of the calls without usage; null: a call without an id. */
  unknown: readonly (string | null)[];
  /** Reason why the usage of these calls is unknown. */
  reason: string;
}
