// The chart's guard and canary at a real API server, with the real webhook and the real operator as processes beside it.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { startControlPlane, whyNoControlPlane, type ControlPlane } from '../e2e/cluster/control.ts';
import { run } from '../e2e/cluster/run.ts';
import { silentLogger, type Logger } from '../runtime/logger.ts';
import { clusterBinary } from '../testing/cluster-binary.ts';
import { apiAudit, rightsOf } from '../testing/api-audit.ts';
import { configOf } from '../testing/operator-config.ts';
import type { PolicyCondition } from '../kube/canary-condition.ts';
import { TIMING } from '../webhook/certificates/advance.ts';
import { readConfig as readWebhookConfig } from '../webhook/config.ts';
import { startWebhook, type StartOptions, type Webhook } from '../webhook/start.ts';
import { OPERATOR_PERMISSIONS } from './permissions.ts';
import { startOperator, type Operator } from './start.ts';

const SYSTEM = 'platform-system';
const SIDECAR_IMAGE = 'agent-compliance/sidecar:0.1.0';
/** Of the canary. */
const POLICY = 'agent-compliance-canary';

interface Workload {
  metadata: { annotations?: Record<string, string> };
  status?: Record<string, unknown>;
}
interface Happening {
  regarding: { kind: string; name: string };
  type: string;
  reason: string;
  note: string;
}

const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node1' } };

(whyNoControlPlane() ? describe.skip : describe)('what the operator does for the injector', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'agent-compliance-injector-'));
  const audit = apiAudit(scratch);
  let control: ControlPlane;
  let webhook: Webhook | null = null;
  let operator: Operator | null = null;
  let namespace = '';
  let count = 0;

  async function kubectl(args: string[], input = ''): Promise<string> {
    const { stdout, stderr, code } = await run(
      [clusterBinary('kubectl'), '--kubeconfig', control.kubeconfig, ...args],
      { input },
    );
    if (code !== 0) throw new Error(stderr);
    return stdout;
  }

  async function get<T>(...args: string[]): Promise<T> {
    return JSON.parse(await kubectl(['-n', namespace, 'get', '-o', 'json', ...args])) as T;
  }

  async function until<T>(
    what: string,
    look: () => Promise<T | false | null | undefined>,
    ms = 30_000,
  ): Promise<T> {
    let last = '';
    for (const end = performance.now() + ms; performance.now() < end;) {
      await delay(100);
      try {
        const found = await look();
        if (found) return found;
      } catch (error) {
        last = String(error);
      }
    }
    throw new Error(`${what} did not come ${last} ${await kubectl(['get', 'events', '-A'])}`);
  }

  async function kubeconfigOf(account: string): Promise<string> {
    const token = await kubectl(['create', 'token', account, '-n', SYSTEM, '--duration=1h']);
    const config = parse(readFileSync(control.kubeconfig, 'utf8'));
    config.users = [{ name: config.users[0].name, user: { token: token.trim() } }];
    const path = join(scratch, account);
    writeFileSync(path, stringify(config), { mode: 0o600 });
    return path;
  }

  beforeAll(async () => {
    control = await startControlPlane({ controllers: true, apiServerArgs: audit.args });
    // No kubelet stands behind it; a DaemonSet wants a pod for it all the same.
    await kubectl(['create', '-f', '-'], JSON.stringify(node));
    await kubectl(['create', 'namespace', SYSTEM]);
    const chart = join(import.meta.dirname, '../helm/agent-compliance');
    const rendered = await run([
      ...[clusterBinary('helm'), 'template', 'agent-compliance', chart, '-n', SYSTEM],
      ...['--kube-version', '1.36.0', '--set', 'canary.intervalSeconds=1'],
    ]);
    if (rendered.code !== 0) throw new Error(rendered.stderr);
    const items = parseAllDocuments(rendered.stdout)
      .map((document) => document.toJS() as object | null)
      .filter((object) => object !== null);
    await kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    // A policy takes about a second to be in force.
    await until('the guard', () => refused(pod('probe')));
  }, 120_000);

  afterAll(async () => {
    await control.close();
    rmSync(scratch, { recursive: true, force: true });
  }, 60_000);

  beforeEach(async () => {
    namespace = `team-${(count += 1)}`;
    await kubectl(['create', 'namespace', namespace]);
    await until('the ServiceAccount', () => get('serviceaccount', 'default'));
  });

  afterEach(async () => {
    await Promise.all([webhook?.close(), operator?.close()]);
    [webhook, operator] = [null, null];
  }, 30_000);

  /** Why the API server refuses a pod; null: it does not. */
  async function refused(object: object): Promise<string | null> {
    try {
      await kubectl(['-n', 'default', 'create', '--dry-run=server', '-f', '-'], JSON.stringify(object));
      return null;
    } catch (error) {
      return String(error);
    }
  }

  async function startInjector(
    env: Record<string, string> = {},
    options: StartOptions & { logger?: Logger } = {},
  ): Promise<Webhook> {
    const KUBECONFIG = await kubeconfigOf('agent-compliance-webhook');
    const config = readWebhookConfig({ SIDECAR_IMAGE, KUBECONFIG, ...env });
    if (!config.ok) throw new Error(JSON.stringify(config.problems));
    const started = await startWebhook(
      { ...config.config, PORT: 0 },
      options.logger ?? silentLogger,
      new AbortController().signal,
      options,
    );
    webhook = started;
    // It runs outside of the cluster.
    const caBundle = await until('the caBundle', async () => {
      const path = '-o=jsonpath={.webhooks[0].clientConfig.caBundle}';
      return kubectl(['get', 'mutatingwebhookconfiguration', 'agent-compliance', path]);
    });
    const clientConfig = { caBundle, url: `https://127.0.0.1:${started.port}/mutate/pod` };
    const patch = JSON.stringify([{ op: 'add', path: '/webhooks/0/clientConfig', value: clientConfig }]);
    await kubectl(['patch', 'mutatingwebhookconfiguration', 'agent-compliance', '--type=json', '-p', patch]);
    return started;
  }

  async function startTheOperator(env: Record<string, string> = {}): Promise<Operator> {
    const config = configOf({
      POD_NAMESPACE: SYSTEM,
      POD_NAME: 'operator-1',
      KUBECONFIG: await kubeconfigOf('agent-compliance-operator'),
      GUARD_POLICY: 'agent-compliance-guard',
      CANARY_NAMESPACE: 'platform-canary',
      CANARY_POLICY: POLICY,
      CANARY_SECONDS: '1',
      SIDECAR_IMAGE,
      ...env,
    });
    return (operator = await startOperator(config, silentLogger, new AbortController().signal));
  }

  async function metric(line: string): Promise<boolean> {
    const text = await (await fetch(`http://127.0.0.1:${operator?.port}/metrics`)).text();
    return text.split('\n').some((each) => each.startsWith(line));
  }

  interface Policy {
    metadata: { resourceVersion: string };
    spec: { validations: { expression: string; reason: string }[] };
    status: { observedGeneration: number; conditions?: PolicyCondition[] };
  }
  const policy = () => get<Policy>('validatingadmissionpolicy', POLICY);
  const condition = async () =>
    (await policy()).status.conditions?.find(({ type }) => type === 'CanaryPassing');

  const told = async (reason: string, home = namespace) =>
    (await get<{ items: Happening[] }>('events.v1.events.k8s.io', '-n', home)).items.filter(
      (each) => each.reason === reason,
    );

  const template = (annotations: Record<string, string> = { 'platform.io/inject': 'true' }) => ({
    metadata: { labels: { app: 'x' }, annotations },
    spec: { containers: [{ name: 'agent', image: 'agent', ports: [{ containerPort: 8000 }] }] },
  });
  const pod = (name: string, annotations?: Record<string, string>) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    ...template(annotations),
    metadata: { name, ...template(annotations).metadata },
  });
  const selector = { matchLabels: { app: 'x' } };
  /** On a node that is not ready too. */
  const everywhere = { ...template(), spec: { ...template().spec, tolerations: [{ operator: 'Exists' }] } };
  const job = { ...template(), spec: { ...template().spec, restartPolicy: 'Never' } };

  const create = (kind: string, apiVersion: string, spec: object, home = namespace) =>
    kubectl(
      ['-n', home, 'create', '-f', '-'],
      JSON.stringify({ apiVersion, kind, metadata: { name: 'x' }, spec }),
    );

  async function restartOperator(line: string): Promise<void> {
    await operator?.close();
    await startTheOperator();
    await until('a check', () => metric(`platform_operator_${line}`));
  }

  /** Through a restart of the operator and the checks after it, and a change of the policy that the API server checks anew. */
  async function expectConditionToStay(): Promise<void> {
    const before = await policy();
    await restartOperator('canary_checks_total{outcome="passed"} 3');
    expect((await policy()).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    const change = { spec: { validations: [{ expression: 'request.dryRun', reason: 'Invalid' }] } };
    const patch = [
      'patch',
      'validatingadmissionpolicy',
      POLICY,
      '--type=merge',
      '-p',
      JSON.stringify(change),
    ];
    await kubectl(patch);
    const checked = await until('the check of its expressions', async () => {
      const now = await policy();
      return now.status.observedGeneration > before.status.observedGeneration && now;
    });
    expect(checked.status.conditions).toEqual(before.status.conditions);
    change.spec.validations = before.spec.validations;
    await kubectl([...patch.slice(0, -1), JSON.stringify(change)]);
  }

  test('the canary passes while the injector works, finds that it is away, and passes again', async () => {
    await startInjector();
    await startTheOperator();
    await until('a canary that passes', () => metric('platform_operator_canary_passing 1'));
    expect(await metric('platform_operator_canary_checks_total{outcome="differs"}')).toBe(false);
    await kubectl(['wait', '--for=condition=CanaryPassing', `validatingadmissionpolicy/${POLICY}`]);
    expect(await condition()).toMatchObject({ status: 'True', reason: 'Passed' });
    await expectConditionToStay();
    const passedSince = (await condition())?.lastTransitionTime ?? '';
    await webhook?.close();
    await until('a finding', () => metric('platform_operator_canary_passing 0'));
    expect(await metric('platform_operator_canary_checks_total{outcome="no-answer"}')).toBe(true);
    // Not its readiness: a restart of the operator heals no injector.
    expect((await fetch(`http://127.0.0.1:${operator?.port}/readyz`)).status).toBe(200);
    namespace = SYSTEM;
    const [found] = await until(
      'its Event',
      async () => {
        const events = await told('CanaryFailed');
        return events.length > 0 && events;
      },
      60_000,
    );
    expect(found).toMatchObject({
      regarding: { kind: 'Deployment', name: 'agent-compliance-webhook' },
      type: 'Warning',
      note: expect.stringContaining('the injector did not answer'),
    });
    const failed = await condition();
    expect(failed).toMatchObject({
      status: 'False',
      reason: 'NoAnswer',
      message: expect.stringContaining('the injector did not answer'),
    });
    expect(Date.parse(failed?.lastTransitionTime ?? '')).toBeGreaterThan(Date.parse(passedSince));
    // The next leader reads what this one said, and says it only once.
    await restartOperator('canary_passing 0');
    await startInjector();
    await until('a canary that passes again', () => metric('platform_operator_canary_passing 1'));
    await until('its Event', async () => (await told('CanaryPassed')).length > 0);
    expect(await condition()).toMatchObject({ status: 'True', reason: 'Passed' });
    expect(await kubectl(['-n', 'platform-canary', 'get', 'pods', '-o', 'name'])).toBe('');
  }, 150_000);

  test.each([
    ['another log level', { SIDECAR_LOG_LEVEL: 'debug' }, 'other-version'],
    ['what it should', {}, 'passed'],
  ])(
    'the canary of an injector that injects %s finds it',
    async (_what, env, outcome) => {
      await startInjector(env);
      await startTheOperator();
      await until('the finding', () => metric(`platform_operator_canary_checks_total{outcome="${outcome}"}`));
    },
    60_000,
  );

  test('the webhook trusts an old authority until the canary has passed with the new one', async () => {
    const steps: string[] = [];
    const logger: Logger = {
      ...silentLogger,
      info: (_message, fields) => steps.push(...((fields?.['steps'] as string[] | undefined) ?? [])),
    };
    const retired = () => steps.filter((step) => step === 'retire-previous').length;
    // Every authority is old as soon as it is made.
    const timing = { ...TIMING, authorityDays: 10, authorityRenewDays: 5_000, leafDays: 5, leafRenewDays: 1 };
    const options = { timing: { ...timing, settleMs: 300 }, everyMs: 50, logger };
    await startInjector({ CANARY_POLICY: POLICY }, options);
    await until('a new authority', () => Promise.resolve(steps.includes('promote-next')));
    // What settles in a third of a second waits, though pods are injected by the new certificate.
    for (const end = performance.now() + 2_000; performance.now() < end;) {
      expect(await refused(pod('while-it-waits'))).toBeNull();
      expect(retired()).toBe(0);
    }
    await startTheOperator();
    await until('three whole exchanges', () => Promise.resolve(retired() >= 3), 60_000);
    expect(await refused(pod('after'))).toBeNull();
    expect(await metric('platform_operator_canary_checks_total{outcome="no-answer"}')).toBe(false);
    expect(await metric('platform_operator_canary_checks_total{outcome="differs"}')).toBe(false);
    // The guard's events of the tests before it do not matter here.
    await webhook?.close();
    webhook = null;
    await startInjector();
  }, 120_000);

  test("the canary's account can create no pod but a dry one, and nothing elsewhere", async () => {
    const as = ['--as', `system:serviceaccount:${SYSTEM}:agent-compliance-canary`];
    const plain = JSON.stringify({
      ...pod('real', {}),
      spec: { ...template().spec, securityContext: {} },
    });
    const attempt = async (...args: string[]) =>
      kubectl([...as, 'create', '-f', '-', ...args], plain).then(
        () => 'created',
        (error: unknown) => String(error),
      );
    expect(await attempt('-n', namespace, '--dry-run=server')).toContain('cannot create resource "pods"');
    expect(await attempt('-n', 'platform-canary')).toMatch(/only dry-run pods are allowed|PodSecurity/);
    // An administrator neither.
    await kubectl(['label', 'namespace', 'platform-canary', 'pod-security.kubernetes.io/enforce-']);
    try {
      expect(await attempt('-n', 'platform-canary')).toContain(
        'only dry-run pods are allowed in this namespace',
      );
      expect(await attempt('-n', 'platform-canary', '--dry-run=server')).toBe('created');
    } finally {
      await kubectl([
        'label',
        'namespace',
        'platform-canary',
        'pod-security.kubernetes.io/enforce=restricted',
      ]);
    }
  }, 60_000);

  test('workloads of every kind that were refused get their pods within seconds of the injector', async () => {
    const kinds: [string, string, object, string, number][] = [
      ['Deployment', 'apps/v1', { replicas: 2, selector, template: template() }, 'replicasets', 2],
      ['StatefulSet', 'apps/v1', { serviceName: 'x', selector, template: template() }, 'statefulsets', 1],
      ['DaemonSet', 'apps/v1', { selector, template: everywhere }, 'daemonsets', 1],
      ['Job', 'batch/v1', { template: job }, 'jobs', 1],
    ];
    await startTheOperator();
    // Each in a namespace of its own: they share their labels.
    const homes = await Promise.all(
      kinds.map(async ([kind, version, spec, plural, pods]) => {
        const home = `${namespace}-${kind.toLowerCase()}`;
        await kubectl(['create', 'namespace', home]);
        await until('the ServiceAccount', () => get('serviceaccount', 'default', '-n', home));
        await create(kind, version, spec, home);
        return { kind, plural, pods, home };
      }),
    );
    const created = performance.now();
    for (const { kind, home } of homes) {
      const [warning] = await until(`the Warning on the ${kind}`, async () => {
        const events = await told('PodsRefused', home);
        return events.length > 0 && events;
      });
      expect(warning).toMatchObject({
        regarding: { kind, name: 'x' },
        type: 'Warning',
        note: expect.stringContaining('has no platform-sidecar: the injector did not answer'),
      });
    }
    // A controller tries again by itself after twice as long each time. These moments lie apart for those that begin with
    // five milliseconds (after 20 and 41 seconds) and the one of Jobs (15 and 31): it is none's turn for nine seconds now.
    await delay(Math.max(0, 22_000 - (performance.now() - created)));
    await startInjector();
    const back = performance.now();
    await Promise.all(
      homes.map(({ kind, home, pods }) =>
        until(`the pods of the ${kind}`, async () => {
          const { items } = await get<{ items: unknown[] }>('pods', '-n', home);
          return items.length === pods;
        }),
      ),
    );
    expect(performance.now() - back).toBeLessThan(15_000);
    expect(await metric('platform_operator_wakes_total')).toBe(true);
    for (const { kind, home, plural } of homes) {
      const { items } = await get<{ items: Workload[] }>(plural, '-n', home);
      expect({ kind, annotations: items[0]?.metadata.annotations ?? {} }).toEqual({
        kind,
        annotations: expect.objectContaining({ 'platform.io/retry': expect.any(String) }),
      });
      await until(`the Event that the ${kind} was woken`, async () =>
        (await told('Retry', home)).some(({ regarding }) => regarding.kind === kind),
      );
    }
  }, 150_000);

  test('a refusal that the injector cannot heal is told, and nobody is woken', async () => {
    await startInjector();
    await startTheOperator();
    await create('Deployment', 'apps/v1', {
      selector,
      template: template({ 'platform.io/inject': 'true', 'platform.io/agent-port': 'many' }),
    });
    const [warning] = await until('the Warning on the owner', async () => {
      const events = await told('PodsRefused');
      return events.length > 0 && events;
    });
    expect(warning).toMatchObject({
      regarding: { kind: 'Deployment', name: 'x' },
      note: 'annotation platform.io/agent-port: "many" is not an integer from 1 to 65535',
    });
    await delay(3_000);
    const { items } = await get<{ items: Workload[] }>('replicasets');
    expect(items[0]?.metadata.annotations).not.toHaveProperty(['platform.io/retry']);
    expect(await told('PodsRefused')).toHaveLength(1);
  }, 60_000);

  test.each<[string, Record<string, string>, boolean]>([
    ['without a canary they are woken by trial', { CANARY_NAMESPACE: '' }, true],
    ['with WAKE_CONTROLLERS=false they are told and not woken', { WAKE_CONTROLLERS: 'false' }, false],
  ])(
    '%s',
    async (_what, env, isWoken) => {
      await startTheOperator(env);
      await create('Deployment', 'apps/v1', { selector, template: template() });
      await until('the Warning on the owner', async () => (await told('PodsRefused')).length > 0);
      // The first trial comes after five seconds, the next one ten later, whatever the injector does.
      await delay(9_000);
      expect(await metric('platform_operator_wakes_total{kind="ReplicaSet"} 1')).toBe(isWoken);
      await startInjector();
      await until(
        'its pods',
        async () => (await get<{ items: unknown[] }>('pods')).items.length === 1,
        40_000,
      );
      const { items } = await get<{ items: Workload[] }>('replicasets');
      expect(Object.keys(items[0]?.metadata.annotations ?? {}).includes('platform.io/retry')).toBe(isWoken);
      expect(await metric('platform_operator_canary_passing')).toBe(!isWoken);
    },
    90_000,
  );

  test('the operator uses every right of these, is refused none, and makes no pod itself', () => {
    const { used, decisions } = audit.of('operator');
    expect(decisions).toEqual(['allow']);
    const { waking, canary } = OPERATOR_PERMISSIONS;
    expect(used).toEqual(
      expect.arrayContaining(rightsOf([...waking, ...canary.cluster, ...canary.namespace])),
    );
    expect(used).not.toContain('create  pods');
    expect(audit.of('canary')).toEqual({ used: rightsOf(canary.account), decisions: ['allow'] });
  });
});
