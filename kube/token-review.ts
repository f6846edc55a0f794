import type { KubeClient } from './client.ts';
import { expectOk } from './objects.ts';

/** The identity of a ServiceAccount token. */
export type TokenReviewResult =
  /** A running pod: the token contains its name and uid, and the API server has found the pod. */
  | { kind: 'pod'; namespace: string; podName: string; podUid: string }
  /** A valid token that is not bound to a pod; any client with permission to create tokens may have created it. */
  | { kind: 'unbound' }
  | { kind: 'rejected'; reason: string };

/** The user of a token, as the API server knows it. */
export type UserReviewResult =
  | { kind: 'user'; username: string; groups: readonly string[] }
  | { kind: 'rejected'; reason: string };

interface TokenReview {
  status?: {
    authenticated?: boolean;
    audiences?: string[];
    error?: string;
    user?: { username?: string; groups?: string[]; extra?: Record<string, string[]> };
  };
}

const PATH = '/apis/authentication.k8s.io/v1/tokenreviews';
const POD_NAME = 'authentication.kubernetes.io/pod-name';
const POD_UID = 'authentication.kubernetes.io/pod-uid';

/**
 * Sends a TokenReview for `token`. Without an audience the API server would use its own. Never throws for an invalid token;
 * throws a KubeError if the API server gives no result.
 */
export async function reviewToken(client: KubeClient, asked: TokenQuestion): Promise<TokenReviewResult> {
  const result = await statusOf(client, asked);
  return 'kind' in result ? result : podOf(result);
}

/** Like `reviewToken`, for the user of the token. */
export async function reviewUser(client: KubeClient, asked: TokenQuestion): Promise<UserReviewResult> {
  const result = await statusOf(client, asked);
  if ('kind' in result) return result;
  const { username = '', groups = [] } = result.user ?? {};
  return { kind: 'user', username, groups };
}

interface TokenQuestion {
  token: string;
  audience: string;
}

type Status = NonNullable<TokenReview['status']>;

/** Every failure is a 201 without `authenticated` and with `error`. */
async function statusOf(
  client: KubeClient,
  { token, audience }: TokenQuestion,
): Promise<Status | { kind: 'rejected'; reason: string }> {
  const body = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token, audiences: [audience] },
  };
  const response = await client.send<TokenReview>({ method: 'POST', path: PATH, body, timeoutMs: 5_000 });
  const status = expectOk(response).status ?? {};
  if (status.authenticated !== true)
    return { kind: 'rejected', reason: status.error ?? 'the token is not valid' };
  if (!(status.audiences ?? []).includes(audience))
    return { kind: 'rejected', reason: `the token is not for the audience ${audience}` };
  return status;
}

function podOf({ user }: Status): TokenReviewResult {
  const [, namespace] = /^system:serviceaccount:([^:]+):[^:]+$/.exec(user?.username ?? '') ?? [];
  const podName = user?.extra?.[POD_NAME]?.[0];
  const podUid = user?.extra?.[POD_UID]?.[0];
  return podName && podUid && namespace ? { kind: 'pod', namespace, podName, podUid } : { kind: 'unbound' };
}
