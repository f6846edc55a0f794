import { readFileSync } from 'node:fs';
import { nameserversIn } from '../../core/census/known-hosts.ts';
import { hostPortOf } from '../../core/facts/address.ts';
import type { SidecarConfig } from '../config.ts';

/** The DNS servers of the pod, which are the same for all of its containers. */
const RESOLV_CONF = '/etc/resolv.conf';

/**
 * Hosts to which processes of the pod may connect although no manifest declares them: the services of the product that the
 * configuration names, and the DNS servers. Connections of an earlier sidecar process in the same pod may still be listed.
 */
export function productHosts(
  config: Pick<
    SidecarConfig,
    'PLATFORM_URL' | 'POLICY_URL' | 'OTLP_FORWARD_URL' | 'UPSTREAM_URL' | 'EGRESS_LANES'
  >,
): string[] {
  const lanes = (config.EGRESS_LANES ?? []).map(({ upstream }) => upstream);
  const urls = [
    config.PLATFORM_URL,
    config.POLICY_URL,
    config.OTLP_FORWARD_URL,
    config.UPSTREAM_URL,
    ...lanes,
  ];
  const hosts = urls.flatMap((url) => (url === null ? [] : hostPortOf(url).host));
  return [...hosts, ...nameserversIn(textOrEmpty(RESOLV_CONF))];
}

function textOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
