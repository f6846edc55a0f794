import { STATUS_CODES } from 'node:http';
import type { UpstreamFailureKind } from '../../core/shapes/audit-entry.ts';
import { FAILURE_BODIES, type LaneFailure } from '../../core/egress/failure-bodies.ts';
import { familyOf, type Lane } from '../../core/egress/lanes.ts';
import { withViolations } from '../policy/violation-response.ts';
import { problemBody, type ProblemResponse } from '../proxy/problem-response.ts';
import type { OwnResponse } from './lane-call.ts';
import type { LaneClient } from './lane-client.ts';

/** Why a lane responds in place of its upstream, apart from denials. */
type FailureKind = UpstreamFailureKind | 'overload';

/** Responses in place of the upstream's, by kind of failure. */
export const FAILURES: Readonly<Record<FailureKind, LaneFailure>> = {
  unreachable: {
    status: 502,
    code: 'upstream_unreachable',
    message: 'the upstream of the egress lane is unreachable',
  },
  stale: {
    status: 502,
    code: 'upstream_closed',
    message: 'the upstream of the egress lane closed the connection before it responded',
  },
  broken: {
    status: 502,
    code: 'upstream_invalid',
    message: 'the upstream of the egress lane sent an incomplete or invalid HTTP response',
  },
  timeout: {
    status: 504,
    code: 'upstream_timeout',
    message: 'the upstream of the egress lane did not respond in time',
  },
  overload: {
    status: 503,
    code: 'egress_overload',
    message: 'too many calls in flight for the memory limit of the sidecar',
  },
};

export function failureOf({ kind }: Lane, failure: FailureKind): OwnResponse {
  const row = FAILURES[failure];
  const body = JSON.stringify(FAILURE_BODIES[familyOf(kind)](row));
  const retry = failure === 'overload' ? ['Retry-After', '1'] : [];
  return { status: row.status, headers: ['Content-Type', 'application/json', ...retry], body };
}

/** The response to a request that belongs to no lane. */
export const problemOf = (problem: ProblemResponse): OwnResponse => ({
  status: problem.status,
  headers: ['Content-Type', 'application/problem+json', ...Object.entries(problem.headers ?? {}).flat()],
  body: problemBody(problem),
});

/** Sends a response in place of the upstream's. A denial says so in its head, and that a retry is useless. */
export function respondWith(client: LaneClient, response: OwnResponse, violations: readonly string[]): void {
  const { status, headers, body } = response;
  const length = ['Content-Length', String(Buffer.byteLength(body))];
  const retry = status === 403 ? ['X-Should-Retry', 'false'] : [];
  client.writeHead(
    status,
    STATUS_CODES[status] ?? '',
    withViolations([...headers, ...length, ...retry], violations),
  );
  if (client.method === 'HEAD') client.response.end();
  else client.response.end(body, 'utf8');
}
