import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startControlPlane, whyNoControlPlane, type ControlPlane } from '../e2e/cluster/control.ts';
import { run, type RunResult } from '../e2e/cluster/run.ts';
import { clusterBinary } from '../testing/cluster-binary.ts';

const CHART = join(import.meta.dirname, 'agent-compliance');
const NAMESPACE = 'platform-system';
/** Stands for what the webhook writes. */
const CA_BUNDLE = Buffer.from('certificates').toString('base64');
const KEPT = 'customresourcedefinition.apiextensions.k8s.io/agentobservations.platform.io';

/** What the chart may leave behind, cluster-scoped and in its namespace. */
const KINDS = [
  'crds,clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingadmissionpolicies',
  'validatingadmissionpolicybindings,namespaces,deployments,services,secrets,serviceaccounts,roles,rolebindings',
  'leases,poddisruptionbudgets,configmaps',
].join(',');

(whyNoControlPlane() ? describe.skip : describe)('a release', () => {
  let control: ControlPlane;

  beforeAll(async () => {
    control = await startControlPlane({ controllers: true });
  }, 60_000);
  afterAll(() => control.close(), 30_000);

  const kubectl = (...args: string[]) =>
    run([clusterBinary('kubectl'), '--kubeconfig', control.kubeconfig, '-n', NAMESPACE, ...args]);
  // Nothing runs here, so nothing becomes ready: what counts are the objects.
  const helm = (...args: string[]) =>
    run([clusterBinary('helm'), '--kubeconfig', control.kubeconfig, '-n', NAMESPACE, ...args]);
  const install = () => helm('install', 'agent-compliance', CHART, '--create-namespace');

  async function ours(): Promise<string[]> {
    const { stdout } = await ok(kubectl('get', KINDS, '-o', 'name'));
    return stdout.split('\n').filter((name) => /agent-compliance|platform/.test(name));
  }

  async function valueOf(path: string, ...object: string[]): Promise<string> {
    return (await ok(kubectl('get', ...object, '-o', `jsonpath={${path}}`))).stdout;
  }

  test('installs, and says what to do next', async () => {
    const { stdout } = await ok(install());
    expect(stdout).toContain('kubectl create configmap chat-manifest --from-file=agent.yaml');
    expect(stdout).toContain("No admin key is set: the control plane's admin API answers 503.");
  }, 120_000);

  test('is upgraded without losing certificates, trust or the leader', async () => {
    const data = JSON.stringify({ data: { 'tls.crt': 'aGVsbG8=' } });
    await ok(kubectl('patch', 'secret', 'agent-compliance-webhook-tls', '-p', data));
    const trust = JSON.stringify([
      { op: 'add', path: '/webhooks/0/clientConfig/caBundle', value: CA_BUNDLE },
    ]);
    await ok(
      kubectl('patch', 'mutatingwebhookconfiguration', 'agent-compliance', '--type=json', '-p', trust),
    );
    const spec = JSON.stringify({ spec: { holderIdentity: 'me' } });
    await ok(kubectl('patch', 'lease', 'platform-operator', '--type=merge', '-p', spec));

    await ok(
      helm('upgrade', 'agent-compliance', CHART, '--set', 'webhook.timeoutSeconds=3,guard.action=warn'),
    );

    expect(
      await valueOf('.webhooks[0].timeoutSeconds', 'mutatingwebhookconfiguration', 'agent-compliance'),
    ).toBe('3');
    expect(
      await valueOf('.spec.validationActions', 'validatingadmissionpolicybinding', 'agent-compliance-guard'),
    ).toBe('["Warn","Audit"]');
    expect({
      secret: await valueOf('.data', 'secret', 'agent-compliance-webhook-tls'),
      trust: await valueOf(
        '.webhooks[0].clientConfig.caBundle',
        'mutatingwebhookconfiguration',
        'agent-compliance',
      ),
      leader: await valueOf('.spec.holderIdentity', 'lease', 'platform-operator'),
    }).toEqual({ secret: '{"tls.crt":"aGVsbG8="}', trust: CA_BUNDLE, leader: 'me' });
  }, 120_000);

  test('is uninstalled and leaves nothing but the CRD, which the next one takes over', async () => {
    await ok(helm('uninstall', 'agent-compliance'));
    await untilGone('platform-remote');
    expect(await ours()).toEqual([KEPT, `namespace/${NAMESPACE}`]);
    await ok(install());
    expect((await ours()).length).toBeGreaterThan(20);
  }, 120_000);

  test('with crds.keep=false takes the CRD along', async () => {
    await ok(helm('upgrade', 'agent-compliance', CHART, '--set', 'crds.keep=false'));
    await ok(helm('uninstall', 'agent-compliance'));
    await untilGone('platform-remote');
    expect(await ours()).toEqual([`namespace/${NAMESPACE}`]);
  }, 120_000);

  async function untilGone(namespace: string): Promise<void> {
    for (const end = Date.now() + 60_000; (await ours()).includes(`namespace/${namespace}`);) {
      if (Date.now() > end) throw new Error(`namespace ${namespace} stays`);
      await sleep(200);
    }
  }
});

async function ok(result: Promise<RunResult>): Promise<RunResult> {
  const { code, stdout, stderr } = await result;
  if (code !== 0) throw new Error(stderr || stdout);
  return { code, stdout, stderr };
}
