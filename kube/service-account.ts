import type { Clock } from '../runtime/clock.ts';
import type { KubeClient } from './client.ts';
import type { ClusterAccess } from './cluster-access.ts';
import { expectOk } from './objects.ts';
import type { ObjectKey } from './resources.ts';

/** The shortest time that the API server gives a token for. */
const LIFETIME_SECONDS = 600;
/** A token is renewed when this part of its life is over. */
const RENEWED_AT = 2 / 3;

interface TokenRequest {
  status: { token: string };
}

/**
 * Access as another ServiceAccount: `client` asks for its tokens (the right `create` on `serviceaccounts/token` of that
 * name), and nothing of `access`'s own credentials goes along. Rejects with the KubeError of a token that is refused.
 */
export function accessAs(
  account: Required<ObjectKey>,
  { client, access, clock }: { client: KubeClient; access: ClusterAccess; clock: Clock },
): ClusterAccess {
  let held: { token: string; untilMs: number } | null = null;

  async function token(): Promise<string> {
    if (held && clock.monotonicMs() < held.untilMs) return held.token;
    const { namespace, name } = account;
    const askedMs = clock.monotonicMs();
    const { status } = expectOk(
      await client.send<TokenRequest>({
        method: 'POST',
        path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/serviceaccounts/${encodeURIComponent(name)}/token`,
        body: {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenRequest',
          spec: { expirationSeconds: LIFETIME_SECONDS },
        },
      }),
    );
    held = { token: status.token, untilMs: askedMs + LIFETIME_SECONDS * 1_000 * RENEWED_AT };
    return held.token;
  }

  return {
    server: access.server,
    namespace: account.namespace,
    credentials: async () => {
      const [bearer, { tls }] = await Promise.all([token(), access.credentials()]);
      const { cert: _cert, key: _key, ...trust } = tls;
      return { headers: { authorization: `Bearer ${bearer}` }, tls: trust };
    },
  };
}
