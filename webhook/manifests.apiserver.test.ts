import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { run } from '../e2e/cluster/run.ts';
import { optedInPod } from '../testing/cluster/pods.ts';
import { configMapOf, startManifestWebhook } from '../testing/cluster/manifest-webhook.ts';
import { blocksUnder } from '../testing/documents/documented-commands.ts';
import { clusterBinary } from '../testing/machine/cluster-binary.ts';
import { WebhookCluster } from '../testing/cluster/webhook-cluster.ts';
import { until } from '../testing/time/until.ts';
import type { Webhook } from './start.ts';

const rule = (id: string, check: object, action = 'Deny') => ({ id, action, ...check });
const policyOf = (name: string, spec: object) => ({
  apiVersion: 'platform.io/v1',
  kind: 'AgentPolicy',
  metadata: { name },
  spec,
});
const PRODUCTION = { namespaceSelector: { matchLabels: { env: 'production' } } };
const LIMITS = policyOf('production', {
  ...PRODUCTION,
  rules: [
    rule('budget', { budget: { maxMonthlyUSD: 500 } }),
    rule('models', { models: { allowed: ['openai/*'] } }),
    rule('hosts', { hosts: { allowed: ['*.example.com'] } }, 'Warn'),
    rule('retired', { expression: "manifest.metadata.name != 'retired'" }),
    rule('runtime', { runtime: { minimumMode: 'enforce' } }),
  ],
  exceptions: [
    {
      ...{ namespace: 'production', agents: ['shop'], rules: ['models'], reason: 'a pilot' },
      expires: '2100-01-01T00:00:00Z',
    },
  ],
});
/** Warns only, so a manifest that cannot be judged may be written. */
const ADVICE = policyOf('advice', {
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'advised' } },
  rules: [rule('hosts', { hosts: { allowed: ['*.example.com'] } }, 'Warn')],
});

interface Parts {
  name?: string;
  model?: object;
  spec?: string;
}
const manifestOf = ({ name = 'chat', model = {}, spec = '' }: Parts = {}): string => `
apiVersion: platform.io/v1
kind: PlatformAgent
metadata: {name: ${name}, version: 1.0.0, description: Answers.}
spec:
  model: ${JSON.stringify({ provider: 'openai', id: 'gpt-4o', apiKey: '$env:KEY', costControls: { maxMonthlyUSD: 100 }, ...model })}
${spec}`;
const GOOD = manifestOf();
const BAD = manifestOf({ model: { provider: 'anthropic', id: 'claude', costControls: {} } });
const BREAKS_TWO = `admission webhook "manifest.platform.io" denied the request: agent chat breaks 2 organisation rules:
  production/budget (high) spec.model.costControls.maxMonthlyUSD: the monthly budget must be declared and at most 500 USD
  production/models (high) spec.model.id: model anthropic/claude is not one of openai/*`;

(whyNoControlPlane() ? describe.skip : describe)('manifests at a real API server', () => {
  let cluster: WebhookCluster;
  let webhook: Webhook;
  let count = 0;

  const kubectl = (args: string[], input: object | string = '') =>
    cluster.kubectl(args, typeof input === 'string' ? input : JSON.stringify(input));
  const apply = (object: object, ...args: string[]) => kubectl(['apply', '-f', '-', ...args], object);
  const create = (object: object, ...args: string[]) => kubectl(['create', '-f', '-', ...args], object);
  const fresh = (text: string, namespace?: string) => configMapOf(`m${(count += 1)}`, text, namespace);

  beforeAll(async () => {
    cluster = await WebhookCluster.open(['production', 'advised', 'other', 'relabelled']);
    const { code } = await kubectl(['label', 'namespace', 'production', 'env=production']);
    if (code !== 0) throw new Error('not labelled');
    webhook = await startManifestWebhook(cluster);
    await cluster.pointTo(webhook.port);
    await cluster.apply([LIMITS, ADVICE]);
    // The API server and the webhook receive the changes through watches.
    await until(async () => (await create(fresh(BAD), '--dry-run=server')).stderr.includes('breaks 2'));
    await until(async () => (await create(fresh('', 'advised'), '--dry-run=server')).stderr !== '');
  });
  afterAll(async () => {
    await webhook.close();
    await cluster.close();
  });

  describe('a manifest that breaks Deny rules', () => {
    test.each<[string, (object: object) => ReturnType<typeof kubectl>]>([
      ['create', (object) => create(object)],
      ['create as a dry run', (object) => create(object, '--dry-run=server')],
      ['apply', (object) => apply(object)],
      ['apply on the server', (object) => apply(object, '--server-side')],
      [
        'apply on the server as a dry run',
        (object) => apply(object, '--server-side', '--dry-run=server', '--field-manager=argocd-controller'),
      ],
    ])('is rejected with all reasons: %s', async (_, write) => {
      const { code, stderr } = await write(fresh(BAD));
      expect(code).not.toBe(0);
      expect(stderr.trimEnd()).toContain(BREAKS_TWO);
    });

    test.each([['apply'], ['apply --server-side --force-conflicts'], ['patch']])(
      'does not replace one that may run: %s',
      async (how) => {
        const object = fresh(GOOD);
        expect((await create(object)).code).toBe(0);
        const { name, namespace } = object.metadata;
        const changed = configMapOf(name, BAD);
        const patch = ['configmap', name, '-n', namespace, '-p', JSON.stringify({ data: changed.data })];
        const { code, stderr } = await (how === 'patch'
          ? kubectl(['patch', ...patch])
          : apply(changed, ...how.split(' ').slice(1)));
        expect([code !== 0, stderr]).toEqual([true, expect.stringContaining(BREAKS_TWO)]);
        const stored = await kubectl(['get', 'configmap', name, '-n', namespace, '-o', 'json']);
        expect((JSON.parse(stored.stdout) as typeof object).data).toEqual(object.data);
        expect((await kubectl(['delete', 'configmap', name, '-n', namespace])).code).toBe(0);
      },
    );

    test('is accepted in a namespace that no rule selects', async () => {
      expect(await create(fresh(BAD, 'other'))).toMatchObject({ code: 0, stderr: '' });
    });

    test('an expression that is false', async () => {
      const { stderr } = await create(fresh(manifestOf({ name: 'retired' })));
      expect(stderr).toContain(
        "agent retired breaks 1 organisation rule:\n  production/retired (high): the expression is false: manifest.metadata.name != 'retired'",
      );
    });
  });

  test('a broken Warn rule warns the client', async () => {
    const text = manifestOf({ spec: '  egress: {hosts: [api.other.org]}' });
    expect(await create(fresh(text))).toMatchObject({
      code: 0,
      stderr:
        'Warning: organisation rule production/hosts: spec.egress.hosts[0]: host api.other.org is not one of *.example.com\n',
    });
  });

  describe('a hostile author', () => {
    const encoded = Buffer.from(BAD).toString('base64');
    const bomb = `a: &a [x, x, x, x, x, x, x, x, x]\n${'bcdefghi'
      .split('')
      .map((key, index) => `${key}: &${key} [${Array(9).fill(`*${'abcdefghi'[index]}`).join(', ')}]`)
      .join('\n')}\n`;
    const merged = `base: &base {provider: anthropic, id: claude, apiKey: $env:KEY}\n${GOOD.replace(/ {2}model: .*/, '  model: {<<: *base}')}`;
    test.each<[string, object, string]>([
      [
        'hides the manifest in binaryData',
        { ...fresh(''), data: undefined, binaryData: { 'agent.yaml': encoded } },
        'key agent.yaml must be text in data, not in binaryData: the organisation rules cannot be checked otherwise',
      ],
      [
        'writes a manifest that is too large to check',
        fresh(`${BAD}\n# ${'x'.repeat(70_000)}`),
        'bytes; at most 65536 can be checked',
      ],
      [
        'writes a bomb of aliases',
        fresh(bomb + BAD),
        'agent.yaml is not a valid manifest, so the organisation',
      ],
      ['merges the model into the manifest', fresh(merged), 'agent.yaml is not a valid manifest'],
      [
        'declares the model twice',
        fresh(`${GOOD}\n  model: {provider: anthropic, id: claude, apiKey: $env:KEY}\n`),
        'agent.yaml is not a valid manifest',
      ],
      ['writes two documents', fresh(`${GOOD}\n---\n${BAD}`), 'agent.yaml is not a valid manifest'],
      ['writes nothing', fresh(''), 'agent.yaml is not a valid manifest'],
      [
        'takes a name that an exception has, which excepts only its rule',
        fresh(manifestOf({ name: 'shop', model: { provider: 'anthropic', id: 'claude', costControls: {} } })),
        'agent shop breaks 1 organisation rule:\n  production/budget',
      ],
    ])('who %s is rejected', async (_, object, message) => {
      const { code, stderr } = await create(object);
      expect([code !== 0, stderr]).toEqual([true, expect.stringContaining(message)]);
    });

    test('cannot add the manifest to a ConfigMap that exists, in neither member', async () => {
      const { metadata } = fresh('');
      const { name, namespace } = metadata;
      const plain = { ...configMapOf(name, ''), data: { other: '1' } };
      expect((await create(plain)).code).toBe(0);
      for (const patch of [{ data: { 'agent.yaml': BAD } }, { binaryData: { 'agent.yaml': encoded } }]) {
        const args = [
          'patch',
          'configmap',
          name,
          '-n',
          namespace,
          '--type=merge',
          '-p',
          JSON.stringify(patch),
        ];
        expect((await kubectl(args)).stderr).toContain('denied the request');
      }
    });

    test('is only warned where no Deny rule selects the namespace', async () => {
      const object = fresh('not: a manifest', 'advised');
      expect(await create(object)).toMatchObject({
        code: 0,
        stderr: expect.stringContaining('Warning: agent.yaml is not a valid manifest, so the organisation'),
      });
    });
  });

  test('who may label a namespace decides about a selection by labels', async () => {
    const bad = () => create(fresh(BAD, 'relabelled'), '--dry-run=server');
    expect((await bad()).code).toBe(0);
    expect((await kubectl(['label', 'namespace', 'relabelled', 'env=production'])).code).toBe(0);
    await until(async () => (await bad()).code !== 0);
    expect((await kubectl(['label', 'namespace', 'relabelled', 'env-'])).code).toBe(0);
    await until(async () => (await bad()).code === 0);
  });

  test('a namespace that was created a moment ago has its labels', async () => {
    const labels = { env: 'production' };
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'moment', labels } };
    const list = { apiVersion: 'v1', kind: 'List', items: [namespace, fresh(BAD, 'moment')] };
    expect((await create(list)).stderr).toContain('breaks 2 organisation rules');
  });

  test('a Deny rule raises the minimum policy mode of the pods in its namespaces', async () => {
    const modeOf = async (namespace: string, mode?: string) => {
      const annotations = mode === undefined ? {} : { 'platform.io/policy-proxy-mode': mode };
      const answer = await cluster.create(optedInPod({ annotations }), namespace);
      if (!answer.ok) return answer.message;
      const sidecar = answer.body.spec.initContainers?.find(({ name }) => name === 'platform-sidecar');
      return sidecar?.env?.find(({ name }) => name === 'POLICY_PROXY_MODE')?.value;
    };
    expect(await modeOf('other')).toBe('track');
    expect(await modeOf('production')).toBe('enforce');
    expect(await modeOf('production', 'enforce')).toBe('enforce');
    expect(await modeOf('production', 'track')).toContain(
      'annotation platform.io/policy-proxy-mode: "track" is below this cluster\'s minimum "enforce"',
    );
  });

  describe('while the webhook is unavailable', () => {
    const stored = configMapOf('stored', GOOD);
    beforeAll(async () => {
      await apply(stored);
      await webhook.close();
    });
    afterAll(async () => {
      webhook = await startManifestWebhook(cluster);
    });

    test('only writes that change the manifest are rejected', async () => {
      const { stderr } = await create(fresh(GOOD));
      expect(stderr).toContain('failed calling webhook "manifest.platform.io"');
      expect((await apply(configMapOf('stored', BAD))).stderr).toContain('failed calling webhook');
      const plain = { ...configMapOf('plain', ''), data: { 'app.yaml': BAD } };
      expect((await create(plain)).code).toBe(0);
      expect((await kubectl(['label', 'configmap', 'stored', '-n', 'production', 'a=b'])).code).toBe(0);
      expect((await apply(stored)).code).toBe(0);
      expect((await kubectl(['delete', 'configmap', 'stored', '-n', 'production'])).code).toBe(0);
    });
  });

  // The last test, because the policy of the guide replaces one of the others.
  test('the commands of the guide lead to a rejected manifest, and after its correction to an accepted one', async () => {
    const [label, policy, applied, written, message, correction] = blocksUnder(
      'docs/guide/organisation.md',
      'From nothing to a rejected manifest',
    ).map(({ body }) => body);
    const directory = mkdtempSync(join(tmpdir(), 'guide-'));
    symlinkSync(join(dirname(import.meta.dirname), 'examples'), join(directory, 'examples'));
    const type = (commands = '') => {
      const path = `${dirname(clusterBinary('kubectl'))}:${process.env['PATH']}`;
      const env = { ...process.env, PATH: path, KUBECONFIG: cluster.control.kubeconfig };
      return run(['bash', '-euc', `cd '${directory}'\n${commands}`], { env });
    };
    expect(await type(label)).toMatchObject({ code: 0 });
    writeFileSync(join(directory, 'production.yaml'), policy ?? '');
    expect(await type(applied)).toMatchObject({ code: 0 });
    // The policy of the guide allows the model of BAD, and arrives through a watch.
    await until(async () =>
      (await create(fresh(BAD, 'shop'), '--dry-run=server')).stderr.includes('breaks 1 organisation rule'),
    );
    expect((await type(written)).stderr.trim()).toBe(message?.trim());

    const file = join(directory, 'agent.yaml');
    const manifest = parse(readFileSync(file, 'utf8')) as { spec: object };
    const { spec } = parse(correction ?? '') as { spec: object };
    writeFileSync(file, stringify({ ...manifest, spec: { ...manifest.spec, ...spec } }));
    const again = written?.trim().split('\n').at(-1);
    expect(await type(again)).toMatchObject({ code: 0, stdout: 'configmap/chat-manifest created\n' });
    rmSync(directory, { recursive: true });
  });
});
