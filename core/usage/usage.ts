import type { TokenCounts } from './token-counts.ts';

/** The request named the model of a call. An agent may repeat the name without using the model. Not part of the API. */
export const REQUESTED_MODEL = Symbol('requestedModel');

/** One model call and its token usage. */
export interface ModelCall extends TokenCounts {
  modelId: string;
  [REQUESTED_MODEL]?: true;
}

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

/** Usage of one response, summed over its calls. */
export interface ResponseUsage extends ModelCall {
  /** Present if there are several calls. */
  calls?: readonly ModelCall[];
  /** Number of calls without usage; absent if there are none. */
  callsWithoutUsage?: number;
}

/** Usage of one proxied request, read from its response, or the reason why the usage is unknown. */
export type RequestUsage = ResponseUsage | { unavailable: string };
