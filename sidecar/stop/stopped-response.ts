import { FAILURE_BODIES } from '../../core/egress/failure-bodies.ts';
import { familyOf, type Lane } from '../../core/egress/lanes.ts';
import { DEFAULT_PATHS, type Manifest } from '../../core/manifest/manifest.ts';
import type { OwnResponse } from '../egress/lane-call.ts';
import { printable } from '../proxy/headers.ts';
import type { ProblemResponse } from '../proxy/problem-response.ts';
import type { AppliedStop } from './stop-switch.ts';

/** Without X-Should-Retry, the clients of OpenAI and Anthropic would wait for Retry-After before each of their retries. */
const HEADERS = { 'Retry-After': '30', 'X-Should-Retry': 'false' } as const;

/** The response of the proxy. Without the reason, because the users of the agent read it. */
export const stoppedProblem = ({ metadata }: Manifest, { id }: AppliedStop): ProblemResponse => ({
  status: 503,
  detail: `the agent ${metadata.name} is stopped`,
  headers: { ...HEADERS, 'X-Platform-Stop': printable(id) },
  close: true,
});

const messageOf = ({ reason }: AppliedStop): string => `the agent is stopped: ${reason}`;

/** The response of a lane, for the client of its vendor. */
export function stoppedCall({ kind }: Lane, stop: AppliedStop): OwnResponse {
  const failure = { status: 503, code: 'agent_stopped', message: messageOf(stop) };
  return {
    status: failure.status,
    headers: ['Content-Type', 'application/json', ...Object.entries(HEADERS).flat()],
    body: JSON.stringify(FAILURE_BODIES[familyOf(kind)](failure)),
  };
}

/** The response of a lane to a WebSocket or a CONNECT request. */
export const stoppedUpgrade = (stop: AppliedStop): ProblemResponse & { headers: typeof HEADERS } => ({
  status: 503,
  detail: messageOf(stop),
  headers: HEADERS,
});

/**
 * Whether a request passes while the agent is stopped: GET of the declared health endpoint. Load balancers would otherwise remove the
 * agent, and its clients would not see why it does not respond.
 */
export function isHealthCheck(
  { spec }: Manifest,
  { method, path, hasBody }: { method: string | undefined; path: string; hasBody: boolean },
): boolean {
  const declared = spec.api?.healthEndpoint ?? DEFAULT_PATHS.health;
  // A reference, whose value only the agent's environment has.
  const health = declared.startsWith('/') ? declared : DEFAULT_PATHS.health;
  return method === 'GET' && !hasBody && withoutQuery(path) === withoutQuery(health);
}

const withoutQuery = (path: string): string => path.replace(/\?.*$/s, '');
