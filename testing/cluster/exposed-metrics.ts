import { Agent, request } from 'undici';
import { parseAllDocuments } from 'yaml';
import { freePorts } from '../../examples/demo/free-ports.ts';
import type { ProcessRig } from '../machine/process-rig.ts';

/** Options for starting the processes. */
export interface ExposedBy {
  rig: ProcessRig;
  kubeconfig: string;
  /** Name of the release. */
  namespace: string;
  /** Path of an agent's manifest. */
  manifest: string;
}

/** Names of the samples that the four shipped processes expose. */
export async function exposedMetrics({
  rig,
  kubeconfig,
  namespace,
  manifest,
}: ExposedBy): Promise<Set<string>> {
  const common = { KUBECONFIG: kubeconfig, POD_NAMESPACE: namespace };
  const injection = { SIDECAR_IMAGE: 'sidecar:1' };
  const [operator = 0, webhook = 0, api = 0, proxy = 0, sidecar = 0] = await freePorts(5);
  const listening = /listening/;
  await Promise.all([
    rig.start('operator', listening, {
      ...{ ...common, ...injection, PORT: String(operator) },
      // As in the chart; without these settings there are fewer metrics.
      ...{ GUARD_POLICY: 'agent-compliance-guard', CANARY_NAMESPACE: 'platform-canary' },
      ...{ PLATFORM_CONTROL_PLANE_URL: 'http://127.0.0.1:9', PLATFORM_ADMIN_KEY: 'key' },
    }),
    rig.start('webhook', listening, { ...common, ...injection, PORT: String(webhook) }),
    rig.start('control-plane', listening, { ...common, PORT: String(api), STORE: 'kubernetes' }),
    rig.start('sidecar', listening, {
      ...{ UPSTREAM_URL: 'http://127.0.0.1:9', MANIFEST_PATH: manifest },
      ...{ BIND_ADDRESS: '127.0.0.1', PROXY_PORT: String(proxy), CONTROL_PLANE_PORT: String(sidecar) },
    }),
  ]);
  const ports = [operator, api, sidecar].map((port) => `http://127.0.0.1:${port}`);
  const urls = [...ports, `https://127.0.0.1:${webhook}`];
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  const texts = await Promise.all(
    urls.map(async (url) => (await request(`${url}/metrics`, { dispatcher })).body.text()),
  );
  await dispatcher.close();
  return new Set(texts.flatMap(sampleNames));
}

function sampleNames(exposition: string): string[] {
  return [...exposition.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  );
}

/** Prometheus expressions in the rules and the dashboard of a release. */
export function expressionsIn(manifest: string): string[] {
  const objects = parseAllDocuments(manifest).map((each) => each.toJS() as unknown);
  const found: string[] = [];
  const look = (key: string, value: unknown): unknown => {
    if (key === 'expr' && typeof value === 'string') found.push(value);
    if (key === 'agent-compliance.json') JSON.parse(value as string, look);
    return value;
  };
  JSON.parse(JSON.stringify(objects), look);
  return found;
}

/** Metrics in an expression: words with an underscore before labels or a range; `up` belongs to Prometheus. */
export function metricsIn(expression: string): string[] {
  const bare = expression.replaceAll(/"[^"]*"/g, '').replaceAll(/\bby \([^)]*\)/g, '');
  return [...bare.matchAll(/[a-z]+(?:_[a-z]+)+(?=[{[)\s])/g)]
    .map(([name]) => name)
    .filter((name) => name !== 'histogram_quantile');
}
