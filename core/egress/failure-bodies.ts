import type { LaneFamily } from './lanes.ts';
import type { Json } from './model-wire.ts';

/** A response of the lane itself that is not a policy denial. */
export interface LaneFailure {
  status: number;
  /** For programs, such as `upstream_unreachable`. */
  code: string;
  /** One sentence without addresses. */
  message: string;
}

/** The bodies of failures, in the form that the clients of each vendor read. */
export const FAILURE_BODIES: Readonly<Record<LaneFamily, (failure: LaneFailure) => Json>> = {
  openai: ({ code, message }) => ({ error: { message, type: 'egress_lane_error', param: null, code } }),
  anthropic: ({ message }) => ({ type: 'error', error: { type: 'api_error', message } }),
  gemini: ({ status, code, message }) => ({
    error: {
      code: status,
      message,
      status: STATUSES[status] ?? 'UNKNOWN',
      details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code, domain: 'platform.io' }],
    },
  }),
  cohere: ({ code, message }) => ({ message, code }),
  ollama: ({ code, message }) => ({ error: message, code }),
  mcp: ({ code, message }) => ({
    jsonrpc: '2.0',
    id: null,
    error: { code: -32_000, message, data: { code } },
  }),
};

/** The names of Google's API for HTTP statuses. */
const STATUSES: Readonly<Record<number, string>> = {
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};
