import { readConfig, type OperatorConfig } from '../../operator/config.ts';

/** The operator's configuration for an environment, with a free port. Throws the problems. */
export function configOf(env: Record<string, string>): OperatorConfig {
  const result = readConfig(env);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return { ...result.config, PORT: 0 };
}

/** A kubeconfig for the fake API server at this address. */
export const kubeconfigFor = (server: string): string =>
  JSON.stringify({
    clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { token: 'secret-token' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'system' } }],
    'current-context': 'x',
  });
