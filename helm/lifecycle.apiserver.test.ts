// A release at a real API server from installation to removal, with the defaults and then with every option on. No pods run
// here, so the tests check only the objects; e2e/install.test.ts tests running pods.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { run, type RunResult } from '../e2e/cluster/run.ts';
import { ApiCluster } from '../testing/cluster/api-cluster.ts';
import { CHART_OPTIONS } from '../testing/cluster/chart-options.ts';
import { clusterBinary } from '../testing/machine/cluster-binary.ts';
import { exposedMetrics, expressionsIn, metricsIn } from '../testing/cluster/exposed-metrics.ts';
import { SCHEMAS } from '../testing/cluster/kubernetes-schemas.ts';
import { ProcessRig } from '../testing/machine/process-rig.ts';
import { CHART, RELEASE_NAMESPACE, REQUIRED, type ChartObject } from '../testing/cluster/rendered-chart.ts';
import { until } from '../testing/time/until.ts';

// Much longer than the tests need.
jest.setTimeout(300_000);

const RELEASE = 'agent-compliance';
/** Represents the caBundle that the webhook writes. */
const CA_BUNDLE = Buffer.from('certificates').toString('base64');
const DEFINITIONS = ['agentobservations', 'agentpolicies', 'agentstops'].map(
  (plural) => `customresourcedefinition.apiextensions.k8s.io/${plural}.platform.io`,
);
/** A generated key, which is kept. */
const ADMIN_KEY = 'secret/agent-compliance-admin';
const KEY = `/api/v1/namespaces/${RELEASE_NAMESPACE}/secrets/agent-compliance-admin`;
const MONITORS = ['servicemonitors', 'podmonitors', 'prometheusrules'];

/** Kinds that the chart could leave behind, cluster-scoped and in its namespace. */
const KINDS = [
  'crds,clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingadmissionpolicies',
  'validatingadmissionpolicybindings,namespaces,deployments,services,secrets,serviceaccounts,roles,rolebindings',
  'leases,poddisruptionbudgets,configmaps,persistentvolumeclaims',
].join(',');

interface PodSpec {
  securityContext: { runAsNonRoot?: boolean };
}

interface Workload extends ChartObject {
  spec: PodSpec & { template?: { metadata: object; spec: PodSpec } };
}

const NAMESPACES = '/api/v1/namespaces';
const OWN = `${NAMESPACES}/${RELEASE_NAMESPACE}`;
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const CONFIGURATION = `${ADMISSION}/mutatingwebhookconfigurations/${RELEASE}`;
const LEASE = `/apis/coordination.k8s.io/v1/namespaces/${RELEASE_NAMESPACE}/leases/platform-operator`;
const TLS = `${OWN}/secrets/agent-compliance-webhook-tls`;
const CANARY_NAMESPACE = 'namespace/platform-canary';
const KEPT_NAMESPACE = 'namespace/platform-remote';
const CLAIM = 'agent-compliance-control-plane-data';
const CLAIM_PATH = `${OWN}/persistentvolumeclaims/${CLAIM}`;
const FAR_AWAY = '/apis/platform.io/v1/namespaces/platform-remote/agentobservations/far-away';
const POSTGRES = 'controlPlane.store.type=postgres,controlPlane.store.postgres.existingSecret=database';
const BY_KEY = (key: string) => `${POSTGRES},controlPlane.store.postgres.urlKey=${key}`;

interface Meta {
  metadata: { uid: string; annotations?: Record<string, string> };
}

(whyNoControlPlane() ? describe.skip : describe)('a release', () => {
  let cluster: ApiCluster;
  let directory: string;

  const kubectl = (args: readonly string[], input?: unknown) =>
    cluster.kubectl(['-n', RELEASE_NAMESPACE, ...args], input);
  /** helm/manifests.integration.test.ts validates the rendered chart; here validation took half of the processor time. */
  const WITHOUT_SCHEMAS = ['--disable-openapi-validation'];
  const helm = (args: readonly string[], values?: object) => {
    const given = values ? ['-f', '-'] : [];
    if (args[0] === 'install' || args[0] === 'upgrade') given.push(...WITHOUT_SCHEMAS);
    const access = ['--kubeconfig', cluster.control.kubeconfig, '-n', RELEASE_NAMESPACE];
    const input = values ? JSON.stringify(values) : '';
    return run([clusterBinary('helm'), ...access, ...args, ...given], { input });
  };
  const upgrade = (...set: string[]) => helm(['upgrade', RELEASE, CHART, ...REQUIRED, '--set', set.join()]);
  const rejection = async (...set: string[]) => {
    const { code, stderr } = await upgrade(...set);
    expect(code).toBe(1);
    return stderr;
  };

  /** Waits for objects that Kubernetes removes with a delay. */
  const untilGone = (...names: string[]) => ok(kubectl(['wait', '--for=delete', ...names, '--timeout=110s']));

  async function releaseObjects(): Promise<string[]> {
    const { stdout } = await ok(kubectl(['get', KINDS, '-o', 'name']));
    return stdout.split('\n').filter((name) => /agent-compliance|platform/.test(name));
  }

  const secret = (name: string, stringData: object) =>
    cluster.post(`${OWN}/secrets`, { metadata: { name }, stringData });
  const withoutSecrets = async (...names: string[]): Promise<void> => {
    for (const name of names) await cluster.remove(`${OWN}/secrets/${name}`);
  };

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'chart-lifecycle-'));
    cluster = await ApiCluster.start({ controllers: true });
  });
  afterAll(async () => {
    await cluster?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  describe('with the defaults', () => {
    let installed: RunResult;

    beforeAll(async () => {
      installed = await ok(helm(['install', RELEASE, CHART, '--create-namespace', ...REQUIRED]));
    });

    test('prints the next steps', () => {
      expect(installed.stdout).toContain('kubectl create configmap chat-manifest --from-file=agent.yaml');
      expect(installed.stdout).toContain(
        "No admin key is set: the control plane's admin API responds with 503.",
      );
    });

    test('is upgraded without losing certificates, trust or the leader', async () => {
      await cluster.patch(TLS, { data: { 'tls.crt': 'aGVsbG8=' } });
      const trust = [{ op: 'add', path: '/webhooks/0/clientConfig/caBundle', value: CA_BUNDLE }];
      await cluster.patch(CONFIGURATION, trust, 'json');
      await cluster.patch(LEASE, { spec: { holderIdentity: 'me' } });

      // Helm takes two seconds of processor time for an upgrade, so this one also prepares the next test.
      await ok(upgrade('webhook.timeoutSeconds=3', 'guard.action=warn', 'controlPlane.store.type=sqlite'));

      expect(
        await cluster.get(`${ADMISSION}/validatingadmissionpolicybindings/agent-compliance-guard`),
      ).toMatchObject({ spec: { validationActions: ['Warn', 'Audit'] } });
      expect(await cluster.get(CONFIGURATION)).toMatchObject({
        webhooks: [{ timeoutSeconds: 3, clientConfig: { caBundle: CA_BUNDLE } }],
      });
      expect(await cluster.get(TLS)).toMatchObject({ data: { 'tls.crt': 'aGVsbG8=' } });
      expect(await cluster.get(LEASE)).toMatchObject({ spec: { holderIdentity: 'me' } });
    });

    test('has user namespaces if every node supports them', async () => {
      const setNode = async (name: string, kernelVersion: string, userNamespaces: boolean, os = 'linux') => {
        const node = { apiVersion: 'v1', kind: 'Node', metadata: { name } };
        await cluster.apply([node]);
        const runtimeHandlers = [
          { name: '', features: { userNamespaces } },
          { name: 'sandbox', features: { userNamespaces: true } },
        ];
        const status = { nodeInfo: { kernelVersion, operatingSystem: os }, runtimeHandlers };
        await cluster.patch(`/api/v1/nodes/${name}/status`, { status });
      };
      const podsWith = async () => {
        const args = ['template', RELEASE, CHART, '--dry-run=server', '--kube-version', '1.36.0'];
        return (await ok(helm([...args, ...REQUIRED]))).stdout.split('hostUsers: false').length - 1;
      };
      expect(await podsWith()).toBe(0);
      await setNode('one', '6.18.4-cloud', true);
      await setNode('other', '10.0.26100', false, 'windows');
      expect(await podsWith()).toBe(4);
      await setNode('two', '6.2.0-37-generic', true);
      expect(await podsWith()).toBe(0);
      await setNode('two', '6.3.0', false);
      expect(await podsWith()).toBe(0);
      for (const name of ['one', 'two', 'other']) await cluster.remove(`/api/v1/nodes/${name}`);
    });

    // Helm takes two seconds of processor time for an upgrade, so each upgrade here tests two things.
    test('moves from SQLite to PostgreSQL and back with the same claim, only with one replica, keeps registered agents outside the release, and accepts an absent or long enough key', async () => {
      const deployment = `/apis/apps/v1/namespaces/${RELEASE_NAMESPACE}/deployments/agent-compliance-control-plane`;
      const strategy = async () =>
        (await cluster.get<{ spec: { strategy: unknown } }>(deployment)).spec.strategy;
      const rolling = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } };
      const uidOf = async (path: string) => (await cluster.get<Meta>(path)).metadata.uid;
      const stored = 'adminKey.existingSecret=stored-key';
      await cluster.apply([
        {
          ...{ apiVersion: 'platform.io/v1', kind: 'AgentObservation' },
          metadata: { name: 'far-away', namespace: 'platform-remote' },
          spec: { source: 'remote' },
        },
      ]);
      const agent = await uidOf(FAR_AWAY);
      // Helm also has to remove the settings of the previous strategy, which Kubernetes rejects with this type.
      expect(await strategy()).toEqual({ type: 'Recreate' });
      // Like a bound claim.
      await cluster.patch(CLAIM_PATH, { spec: { volumeName: 'absent' } });
      const claim = await uidOf(CLAIM_PATH);
      await secret('database', { url: 'postgres://user:password@db.example/agents' });
      await secret('stored-key', { 'admin-key': 'fifteen-letters' });
      const rejected = await rejection(BY_KEY('absent'), 'controlPlane.replicas=2', stored);
      expect(rejected).toContain('changes from or to sqlite only with 1 replica');
      expect(rejected).toContain('Secret database has no entry absent');
      expect(rejected).toContain(
        'adminKey.existingSecret: the key in the entry admin-key of Secret stored-key',
      );
      expect(rejected).toContain('16 characters');
      expect(rejected).not.toContain('fifteen-letters');
      await withoutSecrets('stored-key');
      await ok(upgrade(POSTGRES, 'remote.createNamespace=false', stored));
      await withoutSecrets('database');
      expect(await strategy()).toEqual(rolling);
      // The page about upgrades has the way back that works.
      const rollback = await helm(['rollback', RELEASE, '2']);
      expect(rollback.code).toBe(1);
      expect(rollback.stderr).toMatch(/agent-compliance-control-plane-data.*immutable/s);
      await secret('stored-key', { 'admin-key': 'sixteen-letters-' });
      await ok(upgrade('controlPlane.store.type=sqlite', 'remote.namespace=elsewhere', stored));
      await withoutSecrets('stored-key');
      expect((await cluster.get<Meta>(CLAIM_PATH)).metadata).toMatchObject({
        uid: claim,
        annotations: { 'helm.sh/resource-policy': 'keep' },
      });
      await ok(upgrade('remote.createNamespace=true', 'remote.namespace=platform-remote'));
      expect(await uidOf(FAR_AWAY)).toBe(agent);
      for (const name of ['platform-remote', 'elsewhere'])
        expect(await cluster.get(`${NAMESPACES}/${name}`)).toMatchObject({ status: { phase: 'Active' } });
    });

    test('is not upgraded if Helm would delete registered agents, or with Secrets that the control plane would reject', async () => {
      // As in version 0.1.0.
      const annotate = (value: string | null) =>
        cluster.patch(`${NAMESPACES}/platform-remote`, {
          metadata: { annotations: { 'helm.sh/resource-policy': value } },
        });
      await annotate(null);
      await secret('database', {
        mysql: 'mysql://user:password@db',
        newline: 'postgres://user:password@db/agents\n',
      });
      await secret('agent-compliance-admin', { 'admin-key': 'fifteen-letters' });
      await secret('stored-key', { 'admin-key': 'sixteen-letters-\n' });
      const keyOf = (path: string, name: string) =>
        `- ${path}: the key in the entry admin-key of Secret ${name}`;
      const caKey = 'controlPlane.store.postgres.caKey=ca.crt';
      const expectRejection = async (set: string[], ...messages: string[]) => {
        const rejected = await rejection(...set);
        for (const message of messages) expect(rejected).toContain(message);
        expect(rejected).not.toMatch(/user:password|-letters/);
      };
      await expectRejection(
        [BY_KEY('mysql'), caKey, 'remote.createNamespace=false', 'adminKey.generate=true'],
        'first: kubectl annotate namespace platform-remote helm.sh/resource-policy=keep',
        'the entry mysql of Secret database is not a URL that begins with',
        'Secret database has no entry ca.crt',
        keyOf('adminKey.generate', 'agent-compliance-admin'),
        '16 characters',
      );
      await expectRejection(
        [BY_KEY('newline'), 'adminKey.existingSecret=stored-key'],
        'without spaces and newlines',
        keyOf('adminKey.existingSecret', 'stored-key'),
        'newlines',
      );
      await withoutSecrets('database', 'agent-compliance-admin', 'stored-key');
      await annotate('keep');
    });

    test('removes the objects of a failed test and requests its logs', async () => {
      const pod = `${OWN}/pods/agent-compliance-test`;
      const tested = helm(['test', RELEASE, '--timeout', '100s']);
      await until(() => cluster.serves(pod), 'the pod');
      // Binds and fails the pod like the scheduler and the kubelet for a container that exits with an error.
      const target = { apiVersion: 'v1', kind: 'Node', name: 'absent' };
      await cluster.post(`${pod}/binding`, { metadata: { name: 'agent-compliance-test' }, target });
      await cluster.patch(`${pod}/status`, { status: { phase: 'Failed' } });
      const { code, stderr } = await tested;
      expect(code).toBe(1);
      expect(stderr).toContain('pod agent-compliance-test failed');
      // The node that would provide the logs does not exist.
      expect(stderr).toContain('Failed to stream pod logs for pod: agent-compliance-test');
      const left = ['pods,configmaps,serviceaccounts,rolebindings', '-l', 'app.kubernetes.io/component=test'];
      expect((await ok(kubectl(['get', ...left, '-A', '-o', 'name']))).stdout).toBe('');
    });

    test('is uninstalled and leaves only the CRDs, registered agents and the database', async () => {
      await ok(helm(['uninstall', RELEASE]));
      await untilGone(CANARY_NAMESPACE);
      expect((await releaseObjects()).sort()).toEqual([
        ...DEFINITIONS,
        KEPT_NAMESPACE,
        `namespace/${RELEASE_NAMESPACE}`,
        `persistentvolumeclaim/${CLAIM}`,
      ]);
      await cluster.remove(CLAIM_PATH);
      expect(await cluster.serves(FAR_AWAY)).toBe(true);
    });
  });

  describe('with every option on, in a namespace that admits only restricted pods,', () => {
    const values = CHART_OPTIONS['every option on'];
    let stderr: string;
    let release: { manifest: string; hooks: { manifest: string }[]; info: { notes: string } };

    beforeAll(async () => {
      const definitions = MONITORS.map((kind) => readFileSync(join(SCHEMAS, `${kind}.yaml`), 'utf8'));
      await cluster.apply(definitions.map((text) => parse(text) as unknown));
      const modes = ['enforce', 'warn'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'restricted']);
      await cluster.post(NAMESPACES, { metadata: { name: 'team' } });
      await cluster.patch(OWN, { metadata: { labels: Object.fromEntries(modes) as object } });
      await ok(kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s']));
      const installed = await ok(helm(['install', RELEASE, CHART, '-o', 'json'], values));
      stderr = installed.stderr;
      release = JSON.parse(installed.stdout) as typeof release;
    });

    test('is installed without warnings from the API server', () => {
      expect(stderr).toBe('');
    });

    test('adopts the CRD and the registered agents of the previous release', async () => {
      expect((await releaseObjects()).length).toBeGreaterThan(20);
      expect(await cluster.serves(FAR_AWAY)).toBe(true);
    });

    test('meets the restricted profile with every pod, including the pod of helm test', async () => {
      const workloads = [release, ...release.hooks]
        .flatMap(({ manifest }) => parseAllDocuments(manifest))
        .map((document) => document.toJS() as Workload | null)
        .filter((object) => object !== null)
        .filter(({ kind }) => kind === 'Deployment' || kind === 'Pod');
      expect(workloads.map(({ metadata }) => metadata.name).sort()).toEqual([
        'agent-compliance-control-plane',
        'agent-compliance-operator',
        'agent-compliance-test',
        'agent-compliance-webhook',
      ]);
      const pods = workloads.map(({ metadata, spec }) => ({
        name: `${metadata.name}-pod`,
        // The ServiceAccount of the test is created together with its pod.
        spec: { ...(spec.template?.spec ?? spec), serviceAccountName: 'default' },
      }));
      expect({ ...(await createPods(pods)), stdout: '' }).toEqual({ code: 0, stdout: '', stderr: '' });
      const loose = pods.map(({ name, spec }) => ({
        name,
        spec: { ...spec, securityContext: { ...spec.securityContext, runAsNonRoot: false } },
      }));
      const { stderr } = await createPods(loose);
      for (const { name } of loose)
        expect(stderr).toContain(`pods "${name}" is forbidden: violates PodSecurity "restricted`);
    });

    function createPods(pods: readonly { name: string; spec: object }[]): Promise<RunResult> {
      const items = pods.map(({ name, spec }) => ({
        ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
        spec,
      }));
      return kubectl(['create', '--dry-run=server', '-f', '-'], { apiVersion: 'v1', kind: 'List', items });
    }

    test('prints commands that run without changes', async () => {
      const deployment = ['create', 'deployment', 'chat', '-n', 'default', '--image=agent:1', '--port=8000'];
      await ok(kubectl(deployment));
      writeFileSync(join(directory, 'agent.yaml'), 'kind: PlatformAgent\n');
      const commands = release.info.notes.split('\n').filter((line) => line.startsWith('     kubectl '));
      expect(commands).toHaveLength(6);
      const [adminKey, forward, ...next] = commands.map((command) => command.trim());
      expect((await ok(runInShell(adminKey ?? ''))).stdout).toMatch(/^[A-Za-z0-9]{48}$/);
      // No pod runs here, so nothing can be forwarded.
      expect(forward).toBe(
        'kubectl -n platform-system port-forward service/agent-compliance-control-plane 8443:8080',
      );
      // No webhook runs here that could check the manifest.
      await cluster.remove(`${ADMISSION}/validatingwebhookconfigurations/agent-compliance-manifests`);
      for (const command of next) await ok(runInShell(command));
      const annotations = { 'platform.io/inject': 'true' };
      expect(await cluster.get('/apis/apps/v1/namespaces/default/deployments/chat')).toMatchObject({
        spec: { template: { metadata: { annotations } } },
      });
    });

    /** Runs a command in the directory of agent.yaml, with kubectl on the path and the cluster selected. */
    function runInShell(command: string): Promise<RunResult> {
      const path = `${join(clusterBinary('kubectl'), '..')}:${process.env['PATH'] ?? ''}`;
      return run(['sh', '-c', `cd "${directory}" && ${command}`], {
        env: { ...process.env, PATH: path, KUBECONFIG: cluster.control.kubeconfig },
      });
    }

    test('uses only exposed metrics in its alerts and dashboard', async () => {
      const rig = await ProcessRig.open();
      try {
        const exposed = await exposedMetrics({
          ...{ rig, kubeconfig: cluster.control.kubeconfig, namespace: RELEASE_NAMESPACE },
          manifest: join(CHART, '../../examples/agents/compliant/agent.yaml'),
        });
        const expressions = expressionsIn(release.manifest);
        expect(expressions.length).toBeGreaterThan(30);
        const named = expressions.flatMap((expression) => metricsIn(expression));
        expect([...new Set(named)].filter((name) => !exposed.has(name))).toEqual([]);
      } finally {
        await rig.close();
      }
    });

    const adminKey = async () =>
      (await cluster.get<{ data: Record<string, string> }>(KEY)).data['admin-key'] ?? '';

    test('keeps its generated admin key across an uninstallation', async () => {
      const generated = await adminKey();
      expect(Buffer.from(generated, 'base64').toString()).toMatch(/^[A-Za-z0-9]{48}$/);
      await ok(helm(['uninstall', RELEASE, '--wait', '--timeout', '110s']));
      expect(await adminKey()).toBe(generated);
      await untilGone(CANARY_NAMESPACE);
      await ok(helm(['install', RELEASE, CHART], values));
      expect(await adminKey()).toBe(generated);
    });

    test('keeps the key across an upgrade, and with crds.keep=false removes the CRD', async () => {
      const generated = await adminKey();
      await ok(helm(['upgrade', RELEASE, CHART, '--reuse-values', '--set', 'crds.keep=false']));
      expect(await adminKey()).toBe(generated);
      await ok(helm(['uninstall', RELEASE]));
      for (const definition of DEFINITIONS) await untilGone(definition);
      // The canary's namespace is removed some seconds later.
      const left = (await releaseObjects()).filter((name) => name !== CANARY_NAMESPACE);
      expect(left.sort()).toEqual([KEPT_NAMESPACE, `namespace/${RELEASE_NAMESPACE}`, ADMIN_KEY]);
    });
  });
});

async function ok(result: Promise<RunResult>): Promise<RunResult> {
  const { code, stdout, stderr } = await result;
  if (code !== 0) throw new Error(stderr || stdout);
  return { code, stdout, stderr };
}
