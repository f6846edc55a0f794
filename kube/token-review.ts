import type { KubeClient } from './client.ts';

/** Who a ServiceAccount token speaks for. */
export type TokenVerdict =
  /** A live pod: its name and uid are in the token, and the API server has found the pod. */
  | { kind: 'pod'; namespace: string; serviceAccount: string; podName: string; podUid: string }
  /** A valid token that is bound to no pod; anyone with the right to create tokens may have made it. */
  | { kind: 'unbound'; username: string }
  | { kind: 'rejected'; reason: string }
  /** The API server did not say; try again later. */
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

/** Asks the API server about `token`. The audience is required: without one the API server takes its own. Never throws for a bad token. */
export async function reviewToken(
  client: KubeClient,
  question: { token: string; audience: string; signal?: AbortSignal },
): Promise<TokenVerdict> {
  const { token, audience, signal } = question;
  const body = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token, audiences: [audience] },
  };
  try {
    const answer = await client.send<TokenReview>({
      method: 'POST',
      path: PATH,
      body,
      timeoutMs: 5_000,
      signal,
    });
    if (answer.ok) return verdictOf(answer.body, audience);
    return { kind: 'unavailable', reason: answer.message, retryAfterMs: answer.retryAfterMs };
  } catch (error) {
    if (signal?.aborted) throw error;
    return { kind: 'unavailable', reason: 'the API server does not answer', retryAfterMs: null };
  }
}

/** Every failure comes as 201 without `authenticated` and with `error`. */
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
