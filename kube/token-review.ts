import type { KubeClient } from './client.ts';
import { expectOk } from './objects.ts';

/** The identity of a ServiceAccount token. */
export type TokenReviewResult =
  /** A running pod: the token contains its name and uid, and the API server has found the pod. */
  | { kind: 'pod'; namespace: string; podName: string; podUid: string }
  /** A valid token that is not bound to a pod; any client with permission to create tokens may have created it. */
  | { kind: 'unbound' }
  | { kind: 'rejected'; reason: string };

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
 * Sends a TokenReview for `token`. Without an audience the API server would use its own. Never throws for an invalid token;
 * throws a KubeError if the API server gives no result.
 */
export async function reviewToken(
  client: KubeClient,
  { token, audience }: { token: string; audience: string },
): Promise<TokenReviewResult> {
  const body = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token, audiences: [audience] },
  };
  const response = await client.send<TokenReview>({ method: 'POST', path: PATH, body, timeoutMs: 5_000 });
  return resultOf(expectOk(response), audience);
}

/** Every failure is a 201 without `authenticated` and with `error`. */
function resultOf(review: TokenReview, audience: string): TokenReviewResult {
  const status = review.status ?? {};
  if (status.authenticated !== true)
    return { kind: 'rejected', reason: status.error ?? 'the token is not valid' };
  if (!(status.audiences ?? []).includes(audience))
    return { kind: 'rejected', reason: `the token is not for the audience ${audience}` };
  const [, namespace] = /^system:serviceaccount:([^:]+):[^:]+$/.exec(status.user?.username ?? '') ?? [];
  const podName = status.user?.extra?.[POD_NAME]?.[0];
  const podUid = status.user?.extra?.[POD_UID]?.[0];
  return podName && podUid && namespace ? { kind: 'pod', namespace, podName, podUid } : { kind: 'unbound' };
}
