import type { KubeClient } from './client.ts';

/** The identity of a ServiceAccount token. */
export type TokenVerdict =
  /** A running pod: the token contains its name and uid, and the API server has found the pod. */
  | { kind: 'pod'; namespace: string; serviceAccount: string; podName: string; podUid: string }
  /** A valid token that is not bound to a pod; any client with permission to create tokens may have created it. */
  | { kind: 'unbound'; username: string }
  | { kind: 'rejected'; reason: string }
  /** The API server gave no result; retry later. */
  | { kind: 'unavailable'; reason: string; retryAfterMs: number | null };

interface TokenReview {
  status?: {
    authenticated?: boolean;
    audiences?: string[];
    error?: string;
    user?: { username?: string; extra?: Record<string, string[]> };
  };
}

const PATH = '/apis/authentication.k8s.io/v1/tokenreviews';
const POD_NAME = 'authentication.kubernetes.io/pod-name';
const POD_UID = 'authentication.kubernetes.io/pod-uid';

/**
 * Sends a TokenReview for `token`. Without an audience the API server would use its own. Never throws for an invalid token.
 */
export async function reviewToken(
  client: KubeClient,
  { token, audience }: { token: string; audience: string },
): Promise<TokenVerdict> {
  const body = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token, audiences: [audience] },
  };
  try {
    const response = await client.send<TokenReview>({
      method: 'POST',
      path: PATH,
      body,
      timeoutMs: 5_000,
    });
    if (response.ok) return verdictOf(response.body, audience);
    return { kind: 'unavailable', reason: response.message, retryAfterMs: response.retryAfterMs };
  } catch {
    return { kind: 'unavailable', reason: 'the API server did not respond', retryAfterMs: null };
  }
}

/** Every failure is a 201 without `authenticated` and with `error`. */
function verdictOf(review: TokenReview, audience: string): TokenVerdict {
  const status = review.status ?? {};
  if (status.authenticated !== true)
    return { kind: 'rejected', reason: status.error ?? 'the token is not valid' };
  if (!(status.audiences ?? []).includes(audience))
    return { kind: 'rejected', reason: `the token is not for the audience ${audience}` };
  const username = status.user?.username ?? '';
  const [, namespace, serviceAccount] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(username) ?? [];
  const podName = status.user?.extra?.[POD_NAME]?.[0];
  const podUid = status.user?.extra?.[POD_UID]?.[0];
  if (!podName || !podUid || !namespace || !serviceAccount) return { kind: 'unbound', username };
  return { kind: 'pod', namespace, serviceAccount, podName, podUid };
}
