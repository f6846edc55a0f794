import type { Webhook } from '../../webhook/start.ts';
import { until } from '../time/until.ts';
import { MANIFEST_CONFIGURATION, type WebhookCluster } from './webhook-cluster.ts';

/** A webhook that the API server asks about manifests. */
export async function startManifestWebhook(cluster: WebhookCluster): Promise<Webhook> {
  const SIDECAR_IMAGE = 'registry.example/agent-compliance/sidecar:0.1.0';
  const webhook = await cluster.startWebhook({ SIDECAR_IMAGE, MANIFEST_CONFIGURATION });
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
