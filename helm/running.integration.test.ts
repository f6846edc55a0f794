// Availability of an installation, and its separation from other workloads.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { render, type ChartObject } from '../testing/cluster/rendered-chart.ts';

const PARTS = ['control-plane', 'operator', 'webhook'];

interface Rule {
  ports: { port: number }[];
  from?: object[];
}

interface Rendered extends ChartObject {
  automountServiceAccountToken?: boolean;
  spec: {
    replicas?: number;
    strategy?: unknown;
    minAvailable?: number;
    maxUnavailable?: number;
    selector: { matchLabels: Record<string, string> };
    podSelector: unknown;
    ingress: Rule[];
    egress: Rule[];
    policyTypes: string[];
    groups: { rules: { alert: string; annotations: Record<string, string> }[] }[];
    template: {
      metadata: ChartObject['metadata'];
      spec: {
        automountServiceAccountToken: boolean;
        serviceAccountName: string;
        topologySpreadConstraints?: { whenUnsatisfiable: string }[];
        affinity?: unknown;
        containers: { env: { name: string; value?: string }[]; ports: { containerPort: number }[] }[];
      };
    };
  };
}

const of = (objects: Rendered[], kind: string) => objects.filter((object) => object.kind === kind);
const partOf = ({ metadata }: ChartObject) => metadata.labels['app.kubernetes.io/component'] ?? '';

(whyNoControlPlane() ? describe.skip : describe)('the chart', () => {
  test.each<[string[], Record<string, unknown>]>([
    [[], { operator: { maxUnavailable: 1 }, webhook: { maxUnavailable: 1 } }],
    [['webhook.replicas=1'], { operator: { maxUnavailable: 1 } }],
    [['operator.podDisruptionBudget.enabled=false'], { webhook: { maxUnavailable: 1 } }],
    [
      ['controlPlane.replicas=3', 'controlPlane.podDisruptionBudget.minAvailable=2'],
      {
        operator: { maxUnavailable: 1 },
        webhook: { maxUnavailable: 1 },
        'control-plane': { minAvailable: 2 },
      },
    ],
  ])('with %j has disruption budgets %j that select the pods of their component', async (set, wanted) => {
    const objects = await render<Rendered>(...set);
    const budgets = of(objects, 'PodDisruptionBudget').map((budget) => {
      const { maxUnavailable, minAvailable, selector } = budget.spec;
      const pods = of(objects, 'Deployment').find((each) => partOf(each) === partOf(budget))?.spec;
      expect(selector).toEqual(pods?.selector);
      const bounds = { ...(maxUnavailable && { maxUnavailable }), ...(minAvailable && { minAvailable }) };
      return [partOf(budget), bounds];
    });
    expect(Object.fromEntries(budgets)).toEqual(wanted);
  });

  test('starts new pods before it stops old pods, and spreads replicas over nodes if possible', async () => {
    const deployments = of(await render<Rendered>(), 'Deployment');
    const settings = deployments.map((each) => {
      const { topologySpreadConstraints, affinity } = each.spec.template.spec;
      const spread = topologySpreadConstraints?.map(({ whenUnsatisfiable }) => whenUnsatisfiable);
      return [partOf(each), each.spec.replicas, spread, affinity !== undefined];
    });
    expect(settings.sort()).toEqual([
      ['control-plane', 1, undefined, false],
      ['operator', 2, ['ScheduleAnyway', 'ScheduleAnyway'], true],
      ['webhook', 2, ['ScheduleAnyway', 'ScheduleAnyway'], true],
    ]);
    for (const { spec } of deployments)
      expect(spec.strategy).toEqual({
        type: 'RollingUpdate',
        rollingUpdate: { maxUnavailable: 0, maxSurge: 1 },
      });
  });

  test('mounts API tokens only in the pods of its three processes, not by ServiceAccount', async () => {
    const objects = await render<Rendered>();
    for (const { spec } of of(objects, 'Deployment'))
      expect(spec.template.spec.automountServiceAccountToken).toBe(true);
    const accounts = of(objects, 'ServiceAccount').map((each) => each.automountServiceAccountToken);
    expect(accounts).toEqual(accounts.map(() => false));
    expect(accounts).toHaveLength(5);
  });

  test.each([
    ['256Mi', '128'],
    ['1Gi', '512'],
    ['1.5Gi', '768'],
    ['300M', '143'],
    ['268435456', '128'],
    ['2e8', '95'],
  ])('sets for a memory limit of %s a heap of %s MiB', async (limit, heap) => {
    const objects = await render<Rendered>(`operator.resources.limits.memory=${limit}`);
    const operator = of(objects, 'Deployment').find((each) => partOf(each) === 'operator');
    const env = operator?.spec.template.spec.containers[0]?.env;
    const value = `--max-old-space-size=${heap} --max-semi-space-size=8`;
    expect(env).toContainEqual({ name: 'NODE_OPTIONS', value });
  });

  test('has no NetworkPolicies by default', async () => {
    expect(of(await render<Rendered>(), 'NetworkPolicy')).toEqual([]);
  });

  test('allows only traffic to the served ports, and only egress to DNS and the API server', async () => {
    const objects = await render<Rendered>('networkPolicy.enabled=true');
    const policies = of(objects, 'NetworkPolicy');
    expect(policies.map(partOf).sort()).toEqual([...PARTS, 'test'].sort());
    for (const policy of policies) {
      expect(policy.spec.policyTypes).toEqual(['Ingress', 'Egress']);
      const pods = of(objects, 'Deployment').find((each) => partOf(each) === partOf(policy))?.spec;
      const served = pods?.template.spec.containers.flatMap(({ ports }) => ports) ?? [];
      expect(portsOf(policy.spec.ingress)).toEqual(served.map(({ containerPort }) => containerPort));
      expect(portsOf(policy.spec.egress).slice(0, 4)).toEqual([53, 53, 443, 6443]);
      if (pods) expect(policy.spec.podSelector).toEqual(pods.selector);
    }
    const peers = Object.fromEntries(policies.map((each) => [partOf(each), each.spec.ingress[0]?.from]));
    // The API server is not a pod; to restrict this rule, the user configures its addresses.
    expect(peers['webhook']).toBeUndefined();
    expect(peers['control-plane']).toEqual([{ namespaceSelector: {} }]);
    expect(peers['operator']).toHaveLength(1);
  });

  test('allows only the configured addresses of the API servers', async () => {
    const set = ['networkPolicy.enabled=true', 'networkPolicy.apiServerCidrs={10.0.0.1/32}'];
    const policies = of(await render<Rendered>(...set), 'NetworkPolicy');
    const webhook = policies.find((each) => partOf(each) === 'webhook');
    expect(webhook?.spec.ingress[0]?.from?.[0]).toEqual({ ipBlock: { cidr: '10.0.0.1/32' } });
    expect(webhook?.spec.egress[1]).toMatchObject({ to: [{ ipBlock: { cidr: '10.0.0.1/32' } }] });
    // A replica of an earlier version hands over its reviews.
    const replicas = { podSelector: webhook?.spec.podSelector };
    expect(webhook?.spec.ingress[0]?.from).toContainEqual(replicas);
    expect(webhook?.spec.egress).toContainEqual({ ports: [{ port: 9443, protocol: 'TCP' }], to: [replicas] });
    // `platform check` connects through the API server.
    for (const part of ['operator', 'control-plane'])
      expect(policies.find((each) => partOf(each) === part)?.spec.ingress[0]?.from).toContainEqual({
        ipBlock: { cidr: '10.0.0.1/32' },
      });
  });

  test('allows access from outside to a control plane that is exposed outside the cluster', async () => {
    const set = ['networkPolicy.enabled=true', 'controlPlane.service.type=LoadBalancer'];
    const policies = of(await render<Rendered>(...set), 'NetworkPolicy');
    const controlPlane = policies.find((each) => partOf(each) === 'control-plane');
    expect(controlPlane?.spec.ingress).toEqual([{ ports: [{ port: 8080, protocol: 'TCP' }] }]);
  });

  test('allows access only to the sidecar of injected pods in the listed namespaces', async () => {
    const agents = 'networkPolicy.agents.namespaces={one,two}';
    const policies = of(await render<Rendered>(agents), 'NetworkPolicy');
    expect(policies.map(({ metadata }) => metadata.namespace)).toEqual(['one', 'two']);
    for (const { spec } of policies)
      expect(spec).toEqual({
        podSelector: { matchExpressions: [{ key: 'platform.io/agent', operator: 'Exists' }] },
        policyTypes: ['Ingress'],
        ingress: [{ ports: [{ port: 4000, protocol: 'TCP' }] }],
      });
  });

  test('has exactly the alerts that docs/guide/alerts.md explains', async () => {
    const set = ['monitoring.serviceMonitor.enabled=true', 'monitoring.prometheusRule.enabled=true'];
    const [rule] = of(await render<Rendered>(...set), 'PrometheusRule');
    const alerts = rule?.spec.groups.flatMap(({ rules }) => rules) ?? [];
    const page = readFileSync(join(import.meta.dirname, '../docs/guide/alerts.md'), 'utf8');
    const explained = [...page.matchAll(/^### (\S+)$/gm)].map(([, name]) => name);
    expect(alerts.map(({ alert }) => alert).sort()).toEqual(explained.sort());
    for (const { alert, annotations } of alerts)
      expect(annotations['runbook_url']).toBe(`docs/guide/alerts.md#${alert.toLowerCase()}`);
  });

  test('adds the configured labels to every object and pod', async () => {
    const objects = await render<Rendered>('commonLabels.team=platform', 'operator.podLabels.cost=low');
    expect(objects.filter(({ metadata }) => metadata.labels['team'] !== 'platform')).toEqual([]);
    const operator = of(objects, 'Deployment').find((each) => partOf(each) === 'operator');
    expect(operator?.spec.template.metadata.labels).toMatchObject({ team: 'platform', cost: 'low' });
    expect(operator?.spec.selector.matchLabels).not.toHaveProperty('team');
  });
});

const portsOf = (rules: Rule[]): number[] => rules.flatMap(({ ports }) => ports.map(({ port }) => port));
