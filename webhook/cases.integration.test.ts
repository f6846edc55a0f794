import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { CHART } from '../e2e/product.ts';
import { startControlPlane, whyNoControlPlane, type ControlPlane } from '../e2e/cluster/control.ts';
import { run } from '../e2e/cluster/run.ts';
import type { Pod } from '../core/injection/pod.ts';
import { silentLogger } from '../runtime/logger.ts';
import { clusterBinary } from '../testing/cluster-binary.ts';
import { injectionCases, type InjectionCase } from '../testing/injection-case.ts';
import { readConfig } from './config.ts';
import { startWebhook, type Webhook } from './start.ts';

const SIDECAR = 'registry.example/agent-compliance/sidecar';
const TOKEN_VOLUME = 'kube-api-access';
/** What of the chart decides about a pod. */
const KINDS = [
  'Secret',
  'MutatingWebhookConfiguration',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
];
/** What the pods of the cases refer to, so that the API server has no other reason against them. */
const REFERRED = [
  ...['default', 'agents'].flatMap((namespace) =>
    ['default', 'web', 'cluster-example', 'spark', 'chat'].map((name) => ({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name, namespace },
    })),
  ),
  { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name: 'high' }, value: 1000 },
  {
    apiVersion: 'node.k8s.io/v1',
    kind: 'RuntimeClass',
    metadata: { name: 'gvisor' },
    handler: 'runsc',
    overhead: { podFixed: { cpu: '250m', memory: '120Mi' } },
  },
  { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name: 'nvidia' }, handler: 'nvidia' },
];

// The webhook of this suite has the settings of a plain case; nobody can create a pod with an ephemeral container.
const CASES = injectionCases().filter(([name, { settings }]) => !settings && name !== 'ephemeral-containers');

(whyNoControlPlane() ? describe.skip : describe)('the cases at a real API server', () => {
  let control: ControlPlane;
  let webhook: Webhook;

  const kubectl = (args: string[], input?: unknown) =>
    run([clusterBinary('kubectl'), '--kubeconfig', control.kubeconfig, ...args], {
      input: input === undefined ? '' : JSON.stringify(input),
    });
  const apply = async (items: unknown[]): Promise<void> => {
    const { code, stderr } = await kubectl(['apply', '-f', '-'], { apiVersion: 'v1', kind: 'List', items });
    if (code !== 0) throw new Error(stderr);
  };
  const create = (pod: Pod) =>
    kubectl(
      ['create', '--dry-run=server', '-o', 'json', '-n', pod.metadata?.namespace ?? 'default', '-f', '-'],
      pod,
    );

  beforeAll(async () => {
    control = await startControlPlane();
    for (const name of ['agents', 'platform-system']) await kubectl(['create', 'namespace', name]);
    const helm = ['template', 'agent-compliance', CHART, '-n', 'platform-system', '--kube-version', '1.36.0'];
    const rendered = await run([clusterBinary('helm'), ...helm, '--set', 'image.registry=registry.example']);
    const objects = parseAllDocuments(rendered.stdout).map(
      (document) => document.toJS() as { kind: string } | null,
    );
    await apply([...objects.filter((object) => KINDS.includes(object?.kind ?? '')), ...REFERRED]);
    const config = readConfig({ SIDECAR_IMAGE: `${SIDECAR}:1.0.0`, KUBECONFIG: control.kubeconfig });
    if (!config.ok) throw new Error(JSON.stringify(config.problems));
    const signal = new AbortController().signal;
    webhook = await startWebhook({ ...config.config, PORT: 0 }, silentLogger, signal, { everyMs: 200 });
    await until(async () => (await authority()) !== '');
    const clientConfig = { url: `https://127.0.0.1:${webhook.port}/mutate/pod`, caBundle: await authority() };
    const patch = [{ op: 'add', path: '/webhooks/0/clientConfig', value: clientConfig }];
    await kubectl([
      'patch',
      'mutatingwebhookconfiguration',
      'agent-compliance',
      '--type=json',
      `-p=${JSON.stringify(patch)}`,
    ]);
    const probe = CASES.find(([name]) => name === 'bare-pod')?.[1].before;
    await until(async () => probe !== undefined && (await create(probe)).code === 0);
  }, 90_000);

  afterAll(async () => {
    await webhook.close();
    await control.close();
  }, 30_000);

  async function authority(): Promise<string> {
    const path = '{.webhooks[0].clientConfig.caBundle}';
    return (
      await kubectl(['get', 'mutatingwebhookconfiguration', 'agent-compliance', '-o', `jsonpath=${path}`])
    ).stdout;
  }

  /** The pod as it is kept, without what differs from call to call or tells the two ways apart. */
  async function kept(pod: Pod): Promise<unknown> {
    const { code, stdout, stderr } = await create(pod);
    if (code !== 0) throw new Error(stderr);
    const text = stdout.replaceAll(/kube-api-access-[a-z0-9]{5}/g, TOKEN_VOLUME);
    const { metadata, status: _status, ...rest } = JSON.parse(text) as Pod;
    // The ServiceAccount plugin comes before the webhook, or after what was posted.
    rest.spec.volumes?.sort((a, b) => Number(a.name === TOKEN_VOLUME) - Number(b.name === TOKEN_VOLUME));
    const { annotations = {}, name, labels } = metadata ?? {};
    const others = Object.entries(annotations).filter(
      ([key]) => !/^platform\.io\/(inject|injected|ca)$/.test(key),
    );
    return {
      ...rest,
      labels,
      annotations: Object.fromEntries(others),
      ...(metadata?.generateName === undefined && { name }),
    };
  }

  test.each(CASES)('%s', async (_name, { before, after, refused }: InjectionCase) => {
    if (refused) {
      const { code, stderr } = await create(before);
      expect(code).not.toBe(0);
      expect(stderr).toContain(refused.map(({ message }) => message).join('; '));
      return;
    }
    // Posted as it should become, and not opted in, so that no webhook touches it.
    const plain = structuredClone(after ?? before);
    delete plain.metadata?.annotations?.['platform.io/inject'];
    expect(await kept(before)).toEqual(await kept(plain));
  });
});

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    if (await condition()) return;
    await sleep(100);
  }
  throw new Error('it does not come to pass');
}
