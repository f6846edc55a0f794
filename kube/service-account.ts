import type { Clock } from '../runtime/clock.ts';
import type { KubeClient } from './client.ts';
import type { ClusterAccess } from './cluster-access.ts';
import { expectOk } from './objects.ts';
import type { ObjectKey } from './resources.ts';

/** The shortest lifetime that the API server accepts for a token. */
const LIFETIME_SECONDS = 600;
/** A token is renewed after this fraction of its lifetime. */
const RENEWED_AT = 2 / 3;

/**
 * Access as another ServiceAccount. `client` requests its tokens and needs the permission `create` on
 * `serviceaccounts/token` of that name. No client credentials of `access` are sent. Rejects with the KubeError of a
 * rejected token request.
 */
export function accessAs(
  account: Required<ObjectKey>,
  { client, access, clock }: { client: KubeClient; access: ClusterAccess; clock: Clock },
): ClusterAccess {
  let held: { token: string; untilMs: number } | null = null;

  async function token(): Promise<string> {
    if (held && clock.monotonicMs() < held.untilMs) return held.token;
    const { namespace, name } = account;
    const sentMs = clock.monotonicMs();
    const { status } = expectOk(
      await client.send<{ status: { token: string } }>({
        method: 'POST',
        path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/serviceaccounts/${encodeURIComponent(name)}/token`,
        body: {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenRequest',
          spec: { expirationSeconds: LIFETIME_SECONDS },
        },
      }),
    );
    held = { token: status.token, untilMs: sentMs + LIFETIME_SECONDS * 1_000 * RENEWED_AT };
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
