/** Keys of members that shapes have in the process, and that are not part of the JSON. */

/** The request named the model of a call. An agent may repeat the name without using the model. */
export const REQUESTED_MODEL = Symbol('requestedModel');

/** The model of the request, if the span of a `model` event has it. A vendor can respond with another name of the same model. */
export const REQUESTED_ID = Symbol('requestedId');

/** Tokens of the lane calls of an entry. `/egress` has the usage of each call. */
export const LANE_USAGE = Symbol('laneUsage');
