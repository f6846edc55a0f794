import type { Request, RequestHandler, Response } from 'express';
import { decodeProtectedHeader } from 'jose';
import type { Clock } from '../../runtime/clock.ts';
import { Problem } from '../../runtime/problem.ts';
import type { ApiServerOutage } from '../outage-log.ts';
import type { AgentKey, Store } from '../stores/store.ts';
import { tryAgain } from '../try-again.ts';
import { bearerOf, unauthorized } from './bearer.ts';
import type { PodIdentity } from './pod-identity.ts';
import type { RegistrationTokens } from './registration-token.ts';
import { sourceOf } from './once-per-source.ts';

/** The sender of a heartbeat. Its identity comes from the credential, never from the request body. */
export type Caller =
  | { kind: 'registered'; key: AgentKey; agentId: string; family: string }
  | { kind: 'pod'; key: AgentKey; pod: string; uid: string };

export interface CallerDependencies {
  store: Store;
  clock: Clock;
  remoteNamespace: string;
  /** null: no signing key is configured, and registration tokens are rejected. */
  tokens: RegistrationTokens | null;
  /** null: no cluster is configured, and projected tokens are rejected. */
  pods: Pick<PodIdentity, 'identify'> | null;
  apiServer: ApiServerOutage;
}

/** Requires a valid bearer token; `callerOf` returns its owner. */
export function requireCaller(dependencies: CallerDependencies): RequestHandler {
  return async (request, response, next) => {
    response.locals['caller'] = await authenticate(request, dependencies);
    next();
  };
}

/** The caller of a `bearer` route. */
export function callerOf(response: Response): Caller {
  return response.locals['caller'] as Caller;
}

/** Identifies the caller by its bearer token. Throws a Problem (401, 403, 429, 503) if the caller cannot be identified. */
async function authenticate(request: Request, dependencies: CallerDependencies): Promise<Caller> {
  const token = bearerOf(request);
  if (token === undefined) throw unauthorized('header Authorization: Bearer <key> is required');
  if (isSymmetric(token)) return registeredAgent(token, dependencies);
  return podOf(token, sourceOf(request), dependencies);
}

/** Registration tokens are HS256; a cluster signs its tokens with a key pair. The algorithm only selects the verifier. */
function isSymmetric(token: string): boolean {
  try {
    return decodeProtectedHeader(token).alg === 'HS256';
  } catch {
    return false;
  }
}

async function registeredAgent(token: string, dependencies: CallerDependencies): Promise<Caller> {
  const { store, tokens, clock, remoteNamespace } = dependencies;
  if (tokens === null)
    throw unauthorized('registration keys are disabled: neither JWT_SECRET nor PLATFORM_ADMIN_KEY is set');
  const at = clock.now();
  const verified = await tokens.verify(token, at);
  if (verified === null) throw unauthorized('the key is not valid or has expired; register again');
  const { agentId, agentName, family, hash, expiresAt } = verified;
  const key = { namespace: remoteNamespace, name: agentName };
  const known = await store.hasToken({ ...key, agentId, token: { hash, expiresAt }, at });
  if (!known) throw unauthorized('the key is revoked; register again');
  return { kind: 'registered', key, agentId, family };
}

async function podOf(
  token: string,
  source: string,
  { pods, apiServer }: CallerDependencies,
): Promise<Caller> {
  if (pods === null) throw unauthorized('the key is not a registration key, and no cluster is configured');
  const found = await pods.identify(token, source).catch((error: unknown) => {
    apiServer.failed(error);
    throw tryAgain('cannot verify the token: the API server is unavailable; try again', 2);
  });
  if (found.kind === 'unauthenticated') throw unauthorized(found.reason);
  if (found.kind === 'limited')
    throw tryAgain('too many invalid tokens from this address; try again', found.retryAfterSeconds, {
      status: 429,
    });
  if (found.kind === 'no-agent') throw new Problem(403, found.reason);
  const { namespace, agentName, pod, uid } = found;
  return { kind: 'pod', key: { namespace, name: agentName }, pod, uid };
}
