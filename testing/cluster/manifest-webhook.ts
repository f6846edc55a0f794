import { silentLogger } from '../../runtime/logger.ts';
import { readConfig } from '../../webhook/config.ts';
import { startWebhook, type Webhook } from '../../webhook/start.ts';
import { until } from '../time/until.ts';
import { MANIFEST_CONFIGURATION, type WebhookCluster } from './webhook-cluster.ts';

/** A webhook that the API server asks about manifests. */
export async function startManifestWebhook(cluster: WebhookCluster): Promise<Webhook> {
  const env = {
    SIDECAR_IMAGE: 'registry.example/agent-compliance/sidecar:0.1.0',
    KUBECONFIG: cluster.kubeconfig,
    MANIFEST_CONFIGURATION,
  };
  const config = readConfig(env);
  if (!config.ok) throw new Error(JSON.stringify(config.problems));
  const webhook = await startWebhook(
    { ...config.config, PORT: 0 },
    silentLogger,
    new AbortController().signal,
  );
  await until(async () => (await cluster.caBundle('manifests')) !== '');
  await cluster.pointManifestsTo(webhook.port);
  return webhook;
}

export const configMapOf = (name: string, text: string, namespace = 'production') => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data: { 'agent.yaml': text },
});
