import { urlBelow } from '../push/push-heartbeat.ts';
import type { Environment } from '../runtime/env.ts';
import { usableKey } from './admin-key.ts';
import { parseHttpUrl } from './http-url.ts';
import { URL_VARIABLE } from './control-plane-access.ts';
import type { ProofTarget } from './post-proof.ts';

export interface ProofReceiver {
  env: Environment;
  /** The control port of a sidecar. */
  controlUrl: URL;
  /** Namespace of the agent; undefined: the control plane finds it by the name. */
  namespace?: string | undefined;
}

/**
 * Where a proof of the rule is posted: to the control plane if its URL and a credential are in the environment, else to the
 * sidecar's control port.
 */
export function proofTarget(
  agentName: string,
  ruleId: string,
  { env, controlUrl, namespace }: ProofReceiver,
): ProofTarget | { reason: string } {
  const base = env[URL_VARIABLE];
  const [token, key] = [env['PLATFORM_TOKEN']?.trim(), env['PLATFORM_ADMIN_KEY']?.trim()];
  if (!base || !(token || key)) return { url: urlBelow(controlUrl, `/proof/rule/${ruleId}`), headers: {} };
  const url = parseHttpUrl(base);
  if (url === null) return { reason: `${URL_VARIABLE} must be an http(s) URL without a query` };
  const credential = token
    ? usableKey(token, 'PLATFORM_TOKEN', 'token')
    : usableKey(key ?? '', 'PLATFORM_ADMIN_KEY');
  if (!credential.ok) return { reason: credential.reason };
  const target = urlBelow(url, `/api/v1/agents/${encodeURIComponent(agentName)}/proof/rule/${ruleId}`);
  if (namespace !== undefined) target.searchParams.set('namespace', namespace);
  return {
    url: target,
    headers: token ? { authorization: `Bearer ${credential.value}` } : { 'x-admin-key': credential.value },
  };
}
