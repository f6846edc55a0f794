import type { Socket } from 'node:net';
import type { LaneRoute } from '../../core/egress/lane-routes.ts';
import { notLocalReason } from '../access.ts';
import type { Framed } from '../proxy/framing.ts';
import { valuesOf, type HeaderList } from '../proxy/headers.ts';
import { costOfHead } from '../proxy/load-limits.ts';
import type { ProblemResponse } from '../proxy/problem-response.ts';
import type { AppliedStop } from '../stop/stop-switch.ts';
import type { LaneContext, OpenLane } from './lane-context.ts';

/** The parts of a request that decide whether a lane serves it. */
export interface ArrivingRequest {
  method: string;
  rawHeaders: HeaderList;
  socket: Socket;
  framed: Framed;
}

/** A request that a lane serves. */
export interface Admitted {
  open: OpenLane;
  route: LaneRoute;
  /** Path and query as the client sent them. */
  target: string;
  /** Size of the body in bytes; 0: none, Infinity: unknown. */
  bodyBytes: number;
  /** Memory of the head, above the usual. Give it back with `leave` when the call is over. */
  headBytes: number;
}

const NO_LANE: ProblemResponse = { status: 404, detail: 'no lane of EGRESS_LANES has this path' };

/**
 * Finds the lane of a request. `overload`: the lane has no memory for it. `stopped`: the agent is stopped. A request with another Host is rejected: a web page that
 * DNS rebinding leads to loopback must not use the lanes.
 */
export function admit(
  { lanes, routes, load, stop }: Pick<LaneContext, 'lanes' | 'routes' | 'load' | 'stop'>,
  { method, rawHeaders, socket, framed }: ArrivingRequest,
):
  | { admitted: Admitted }
  | { problem: ProblemResponse }
  | { overload: LaneRoute }
  | { stopped: AppliedStop; route: LaneRoute } {
  if (!framed.ok) return { problem: { ...framed, close: true } };
  const { path: target, host, bodyBytes } = framed;
  // The authority of an absolute target replaces the Host header.
  const origins = valuesOf(rawHeaders, 'origin');
  const origin = origins.length === 0 ? undefined : origins.join(', ');
  const reason = notLocalReason({ socket, headers: { host: host ?? undefined, origin } });
  if (reason !== null) return { problem: { status: 403, detail: reason } };
  const route = routes.of(method, target);
  const open = route === null ? undefined : lanes.get(route.lane.id);
  if (route === null || open === undefined) return { problem: NO_LANE };
  if (stop.current !== null) {
    stop.refused.lanes += 1;
    return { stopped: stop.current, route };
  }
  const headBytes = costOfHead(target, rawHeaders);
  if (!load.admit(headBytes)) return { overload: route };
  return { admitted: { open, route, target, bodyBytes, headBytes } };
}
