// A release at a real API server from installation to removal, with the defaults and then with every option on. No pods run
// here, so the tests check only the objects; e2e/install.test.ts tests running pods.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { startControlPlane, whyNoControlPlane, type ControlPlane } from '../e2e/cluster/control.ts';
import { run, type RunResult } from '../e2e/cluster/run.ts';
import { CHART_OPTIONS } from '../testing/cluster/chart-options.ts';
import { clusterBinary, UNVALIDATED } from '../testing/machine/cluster-binary.ts';
import { exposedMetrics, expressionsIn, metricsIn } from '../testing/cluster/exposed-metrics.ts';
import { SCHEMAS } from '../testing/cluster/kubernetes-schemas.ts';
import { ProcessRig } from '../testing/machine/process-rig.ts';
import { CHART, RELEASE_NAMESPACE, REQUIRED, type ChartObject } from '../testing/cluster/rendered-chart.ts';

// Much longer than the tests need.
jest.setTimeout(300_000);

const RELEASE = 'agent-compliance';
/** Represents the caBundle that the webhook writes. */
const CA_BUNDLE = Buffer.from('certificates').toString('base64');
const DEFINITIONS = ['agentobservations', 'agentpolicies'].map(
  (plural) => `customresourcedefinition.apiextensions.k8s.io/${plural}.platform.io`,
);
/** A generated key, which is kept. */
const ADMIN_KEY = 'secret/agent-compliance-admin';
const KEY = ['get', 'secret', 'agent-compliance-admin', '-o', 'jsonpath={.data.admin-key}'];
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

(whyNoControlPlane() ? describe.skip : describe)('a release', () => {
  let control: ControlPlane;
  let directory: string;

  const kubectl = (args: readonly string[], input = '') =>
    run([clusterBinary('kubectl'), '--kubeconfig', control.kubeconfig, '-n', RELEASE_NAMESPACE, ...args], {
      input,
    });
  /** helm/manifests.integration.test.ts validates the rendered chart; here validation took half of the processor time. */
  const WITHOUT_SCHEMAS = ['--disable-openapi-validation'];
  const helm = (args: readonly string[], values?: object) => {
    const given = values ? ['-f', '-'] : [];
    if (args[0] === 'install' || args[0] === 'upgrade') given.push(...WITHOUT_SCHEMAS);
    const command = [clusterBinary('helm'), '--kubeconfig', control.kubeconfig, '-n', RELEASE_NAMESPACE];
    return run([...command, ...args, ...given], { input: values ? JSON.stringify(values) : '' });
  };

  /** Waits for objects that Kubernetes removes with a delay. */
  const untilGone = (...names: string[]) => ok(kubectl(['wait', '--for=delete', ...names, '--timeout=110s']));
  const CANARY_NAMESPACE = 'namespace/platform-canary';
  const KEPT_NAMESPACE = 'namespace/platform-remote';

  const remoteAgent = (...args: string[]) => kubectl(['-n', 'platform-remote', ...args]);

  async function releaseObjects(): Promise<string[]> {
    const { stdout } = await ok(kubectl(['get', KINDS, '-o', 'name']));
    return stdout.split('\n').filter((name) => /agent-compliance|platform/.test(name));
  }

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'chart-lifecycle-'));
    control = await startControlPlane({ controllers: true });
  });
  afterAll(async () => {
    await control?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  describe('with the defaults', () => {
    const upgrade = (...set: string[]) =>
      ok(helm(['upgrade', '--install', RELEASE, CHART, '--create-namespace', ...REQUIRED, ...set]));
    let installed: RunResult;

    beforeAll(async () => {
      installed = await ok(helm(['install', RELEASE, CHART, '--create-namespace', ...REQUIRED]));
    });

    async function valueOf(path: string, ...object: string[]): Promise<string> {
      return (await ok(kubectl(['get', ...object, '-o', `jsonpath={${path}}`]))).stdout;
    }

    test('prints the next steps', () => {
      expect(installed.stdout).toContain('kubectl create configmap chat-manifest --from-file=agent.yaml');
      expect(installed.stdout).toContain(
        "No admin key is set: the control plane's admin API responds with 503.",
      );
    });

    test('is upgraded without losing certificates, trust or the leader', async () => {
      const data = JSON.stringify({ data: { 'tls.crt': 'aGVsbG8=' } });
      await ok(kubectl(['patch', 'secret', 'agent-compliance-webhook-tls', '-p', data]));
      const trust = JSON.stringify([
        { op: 'add', path: '/webhooks/0/clientConfig/caBundle', value: CA_BUNDLE },
      ]);
      const configuration = ['mutatingwebhookconfiguration', RELEASE];
      await ok(kubectl(['patch', ...configuration, '--type=json', '-p', trust]));
      const spec = JSON.stringify({ spec: { holderIdentity: 'me' } });
      await ok(kubectl(['patch', 'lease', 'platform-operator', '--type=merge', '-p', spec]));

      // Helm takes two seconds of processor time for an upgrade, so this one also prepares the next test.
      await upgrade('--set', 'webhook.timeoutSeconds=3,guard.action=warn,controlPlane.store.type=sqlite');

      const binding = ['validatingadmissionpolicybinding', 'agent-compliance-guard'];
      expect(await valueOf('.webhooks[0].timeoutSeconds', ...configuration)).toBe('3');
      expect(await valueOf('.spec.validationActions', ...binding)).toBe('["Warn","Audit"]');
      expect({
        secret: await valueOf('.data', 'secret', 'agent-compliance-webhook-tls'),
        trust: await valueOf('.webhooks[0].clientConfig.caBundle', ...configuration),
        leader: await valueOf('.spec.holderIdentity', 'lease', 'platform-operator'),
      }).toEqual({ secret: '{"tls.crt":"aGVsbG8="}', trust: CA_BUNDLE, leader: 'me' });
    });

    test('has user namespaces if every node supports them', async () => {
      const node = (name: string, kernelVersion: string, userNamespaces: boolean, os = 'linux') => ({
        ...{ apiVersion: 'v1', kind: 'Node', metadata: { name } },
        status: {
          nodeInfo: { kernelVersion, operatingSystem: os },
          runtimeHandlers: [
            { name: '', features: { userNamespaces } },
            { name: 'sandbox', features: { userNamespaces: true } },
          ],
        },
      });
      const setNode = (object: object) =>
        ok(
          kubectl(
            ['apply', '--server-side', '--force-conflicts', '--validate=false', '-f', '-'],
            JSON.stringify(object),
          ).then(() =>
            kubectl(
              ['apply', '--server-side', '--force-conflicts', '--subresource=status', '-f', '-'],
              JSON.stringify(object),
            ),
          ),
        );
      const podsWith = async (...set: string[]) => {
        const args = ['template', RELEASE, CHART, '--dry-run=server', '--kube-version', '1.36.0'];
        return (await ok(helm([...args, ...REQUIRED, ...set]))).stdout.split('hostUsers: false').length - 1;
      };
      expect(await podsWith()).toBe(0);
      await setNode(node('one', '6.18.4-cloud', true));
      await setNode(node('other', '10.0.26100', false, 'windows'));
      expect(await podsWith()).toBe(4);
      expect(await podsWith('--set', 'userNamespaces=false')).toBe(0);
      await setNode(node('two', '6.2.0-37-generic', true));
      expect(await podsWith()).toBe(0);
      await setNode(node('two', '6.3.0', false));
      expect(await podsWith()).toBe(0);
      expect(await podsWith('--set', 'userNamespaces=true')).toBe(4);
      await setNode(node('two', '6.3.0', true));
      expect(await podsWith()).toBe(4);
      await ok(kubectl(['delete', 'node', 'one', 'two', 'other']));
    });

    const CLAIM = 'persistentvolumeclaim/agent-compliance-control-plane-data';
    const DATABASE = 'controlPlane.store.type=postgres,controlPlane.store.postgres.existingSecret=database';

    test('moves from SQLite to PostgreSQL and back with the same claim, only with one replica', async () => {
      const strategy = () => valueOf('.spec.strategy', 'deployment', 'agent-compliance-control-plane');
      const rolling = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } };
      // Helm also has to remove the settings of the previous strategy, which Kubernetes rejects with this type.
      expect(JSON.parse(await strategy())).toEqual({ type: 'Recreate' });
      // Like a bound claim.
      await ok(kubectl(['patch', CLAIM, '-p', '{"spec":{"volumeName":"absent"}}']));
      const uid = await valueOf('.metadata.uid', CLAIM);
      const url = '--from-literal=url=postgres://user:password@db.example/agents';
      await ok(kubectl(['create', 'secret', 'generic', 'database', url]));
      const wrong = `${DATABASE},controlPlane.replicas=2,controlPlane.store.postgres.urlKey=absent`;
      const rejected = await helm(['upgrade', RELEASE, CHART, ...REQUIRED, '--set', wrong]);
      expect(rejected.stderr).toContain('changes from or to sqlite only with 1 replica');
      expect(rejected.stderr).toContain('Secret database has no entry absent');
      await upgrade('--set', DATABASE);
      await ok(kubectl(['delete', 'secret', 'database']));
      expect(JSON.parse(await strategy())).toEqual(rolling);
      // The page about upgrades has the way back that works.
      const rollback = await helm(['rollback', RELEASE, '2']);
      expect(rollback.code).toBe(1);
      expect(rollback.stderr).toMatch(/agent-compliance-control-plane-data.*immutable/s);
      await upgrade('--set', 'controlPlane.store.type=sqlite');
      expect(await valueOf('.metadata.annotations', CLAIM)).toContain('"helm.sh/resource-policy":"keep"');
      expect(await valueOf('.metadata.uid', CLAIM)).toBe(uid);
    });

    test('is not upgraded to PostgreSQL with a Secret that has no valid URL or lacks the CA certificates', async () => {
      const entries = [
        [
          'mysql',
          'mysql://user:password@db',
          'the entry mysql of Secret database is not a URL that begins with',
        ],
        ['newline', 'postgres://user:password@db/agents\n', 'without spaces and newlines'],
      ] as const;
      const data = entries.map(([entry, url]) => `--from-literal=${entry}=${url}`);
      await ok(kubectl(['create', 'secret', 'generic', 'database', ...data]));
      for (const [entry, , message] of entries) {
        const set = `${DATABASE},controlPlane.store.postgres.urlKey=${entry},controlPlane.store.postgres.caKey=ca.crt`;
        const rejected = await helm(['upgrade', RELEASE, CHART, ...REQUIRED, '--set', set]);
        expect(rejected.code).toBe(1);
        expect(rejected.stderr).toContain(message);
        expect(rejected.stderr).toContain('Secret database has no entry ca.crt');
        expect(rejected.stderr).not.toContain('user:password');
      }
      await ok(kubectl(['delete', 'secret', 'database']));
    });

    test('removes the objects of a failed test and requests its logs', async () => {
      const pod = ['pod', 'agent-compliance-test'];
      const tested = helm(['test', RELEASE, '--timeout', '100s']);
      await ok(kubectl(['wait', '--for=create', ...pod, '--timeout=60s']));
      // Binds and fails the pod like the scheduler and the kubelet for a container that exits with an error.
      const target = { apiVersion: 'v1', kind: 'Node', name: 'absent' };
      const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: pod[1] }, target };
      const path = `/api/v1/namespaces/${RELEASE_NAMESPACE}/pods/${pod[1]}/binding`;
      await ok(kubectl(['create', '--raw', path, '-f', '-'], JSON.stringify(binding)));
      const failed = JSON.stringify({ status: { phase: 'Failed' } });
      await ok(kubectl(['patch', ...pod, '--subresource=status', '-p', failed]));
      const { code, stderr } = await tested;
      expect(code).toBe(1);
      expect(stderr).toContain('pod agent-compliance-test failed');
      // The node that would provide the logs does not exist.
      expect(stderr).toContain('Failed to stream pod logs for pod: agent-compliance-test');
      const left = ['pods,configmaps,serviceaccounts,rolebindings', '-l', 'app.kubernetes.io/component=test'];
      expect((await ok(kubectl(['get', ...left, '-A', '-o', 'name']))).stdout).toBe('');
    });

    /** Without values, Helm uses the values of the previous revision. */
    const REMOTE = ['--set', 'remote.createNamespace=true,remote.namespace=platform-remote'];
    // Helm takes two seconds of processor time for an upgrade, so each upgrade here tests both.
    test("keeps registered agents when their namespace is no longer the release's, and accepts an absent or long enough key", async () => {
      const key = ['secret', 'generic', 'stored-key', '--from-literal=admin-key=sixteen-letters-'];
      const agent = {
        apiVersion: 'platform.io/v1',
        kind: 'AgentObservation',
        metadata: { name: 'far-away', namespace: 'platform-remote' },
        spec: { source: 'remote' },
      };
      await ok(kubectl(['create', UNVALIDATED, '-n', 'platform-remote', '-f', '-'], JSON.stringify(agent)));
      const uid = () => valueOf('.metadata.uid', 'ao', 'far-away', '-n', 'platform-remote');
      const before = await uid();
      await upgrade('--set', 'remote.createNamespace=false,adminKey.existingSecret=stored-key');
      await ok(kubectl(['create', ...key]));
      await upgrade('--set', 'remote.namespace=elsewhere,adminKey.existingSecret=stored-key');
      await ok(kubectl(['delete', 'secret', 'stored-key']));
      await upgrade(...REMOTE);
      expect(await uid()).toBe(before);
      expect(await valueOf('.status.phase', KEPT_NAMESPACE)).toBe('Active');
      expect(await valueOf('.status.phase', 'namespace/elsewhere')).toBe('Active');
    });

    test('is not upgraded if Helm would delete registered agents', async () => {
      // As in version 0.1.0.
      await ok(kubectl(['annotate', KEPT_NAMESPACE, 'helm.sh/resource-policy-']));
      const rejected = await helm([
        'upgrade',
        RELEASE,
        CHART,
        ...REQUIRED,
        '--set',
        'remote.createNamespace=false',
      ]);
      expect(rejected.code).toBe(1);
      expect(rejected.stderr).toContain(
        'first: kubectl annotate namespace platform-remote helm.sh/resource-policy=keep',
      );
      await upgrade(...REMOTE);
      expect(await valueOf('.metadata.annotations', KEPT_NAMESPACE)).toContain('resource-policy');
    });

    test.each([
      ['adminKey.generate=true', 'agent-compliance-admin', 'fifteen-letters', '16 characters'],
      ['adminKey.existingSecret=stored-key', 'stored-key', 'fifteen-letters', '16 characters'],
      ['adminKey.existingSecret=stored-key', 'stored-key', 'sixteen-letters-\n', 'newlines'],
    ])(
      'is not upgraded with %s and a key in Secret %s that the control plane would reject',
      async (set, name, key, message) => {
        const [path = ''] = set.split('=');
        const secret = ['secret', 'generic', name, `--from-literal=admin-key=${key}`];
        await ok(kubectl(['create', ...secret]));
        try {
          const rejected = await helm(['upgrade', RELEASE, CHART, ...REQUIRED, '--set', set]);
          expect(rejected.code).toBe(1);
          expect(rejected.stderr).toContain(`- ${path}: the key in the entry admin-key of Secret ${name}`);
          expect(rejected.stderr).toContain(message);
          expect(rejected.stderr).not.toContain(key.trim());
        } finally {
          await ok(kubectl(['delete', 'secret', name]));
        }
      },
    );

    test('is uninstalled and leaves only the CRDs, registered agents and the database', async () => {
      await ok(helm(['uninstall', RELEASE]));
      await untilGone(CANARY_NAMESPACE);
      expect((await releaseObjects()).sort()).toEqual([
        ...DEFINITIONS,
        KEPT_NAMESPACE,
        `namespace/${RELEASE_NAMESPACE}`,
        CLAIM,
      ]);
      await ok(kubectl(['delete', CLAIM]));
      expect((await remoteAgent('get', 'ao', 'far-away')).code).toBe(0);
    });
  });

  describe('with every option on, in a namespace that admits only restricted pods,', () => {
    const values = CHART_OPTIONS['every option on'];
    let installed: RunResult;

    beforeAll(async () => {
      const definitions = MONITORS.flatMap((kind) => ['-f', join(SCHEMAS, `${kind}.yaml`)]);
      await ok(kubectl(['create', UNVALIDATED, ...definitions]));
      await ok(kubectl(['create', 'namespace', 'team']));
      const modes = ['enforce', 'warn'].map((mode) => `pod-security.kubernetes.io/${mode}=restricted`);
      await ok(kubectl(['label', 'namespace', RELEASE_NAMESPACE, ...modes]));
      await ok(kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s']));
      installed = await helm(['install', RELEASE, CHART], values);
    });

    test('is installed without warnings from the API server', () => {
      expect(installed).toMatchObject({ code: 0, stderr: '' });
    });

    test('adopts the CRD and the registered agents of the previous release', async () => {
      expect((await releaseObjects()).length).toBeGreaterThan(20);
      expect((await remoteAgent('get', 'ao', 'far-away')).code).toBe(0);
    });

    test('meets the restricted profile with every pod, including the pod of helm test', async () => {
      const parts = await Promise.all(['manifest', 'hooks'].map((what) => ok(helm(['get', what, RELEASE]))));
      const workloads = parts
        .flatMap(({ stdout }) => parseAllDocuments(stdout))
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
      const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
      return kubectl(['create', '--dry-run=server', '-f', '-'], list);
    }

    test('prints commands that run without changes', async () => {
      const deployment = ['create', 'deployment', 'chat', '-n', 'default', '--image=agent:1', '--port=8000'];
      await ok(kubectl(deployment));
      writeFileSync(join(directory, 'agent.yaml'), 'kind: PlatformAgent\n');
      const { stdout: notes } = await ok(helm(['get', 'notes', RELEASE]));
      const commands = notes.split('\n').filter((line) => line.startsWith('     kubectl '));
      expect(commands).toHaveLength(6);
      const [adminKey, forward, ...next] = commands.map((command) => command.trim());
      expect((await ok(runInShell(adminKey ?? ''))).stdout).toMatch(/^[A-Za-z0-9]{48}$/);
      // No pod runs here, so nothing can be forwarded.
      expect(forward).toBe(
        'kubectl -n platform-system port-forward service/agent-compliance-control-plane 8443:8080',
      );
      // No webhook runs here that could check the manifest.
      await ok(kubectl(['delete', 'validatingwebhookconfiguration', 'agent-compliance-manifests']));
      for (const command of next) await ok(runInShell(command));
      const annotation = String.raw`jsonpath={.spec.template.metadata.annotations.platform\.io/inject}`;
      const patched = await ok(kubectl(['get', 'deployment', 'chat', '-n', 'default', '-o', annotation]));
      expect(patched.stdout).toBe('true');
    });

    /** Runs a command in the directory of agent.yaml, with kubectl on the path and the cluster selected. */
    function runInShell(command: string): Promise<RunResult> {
      const path = `${join(clusterBinary('kubectl'), '..')}:${process.env['PATH'] ?? ''}`;
      return run(['sh', '-c', `cd "${directory}" && ${command}`], {
        env: { ...process.env, PATH: path, KUBECONFIG: control.kubeconfig },
      });
    }

    test('uses only exposed metrics in its alerts and dashboard', async () => {
      const rig = await ProcessRig.open();
      try {
        const exposed = await exposedMetrics({
          ...{ rig, kubeconfig: control.kubeconfig, namespace: RELEASE_NAMESPACE },
          manifest: join(CHART, '../../examples/agents/compliant/agent.yaml'),
        });
        const expressions = expressionsIn((await ok(helm(['get', 'manifest', RELEASE]))).stdout);
        expect(expressions.length).toBeGreaterThan(30);
        const named = expressions.flatMap((expression) => metricsIn(expression));
        expect([...new Set(named)].filter((name) => !exposed.has(name))).toEqual([]);
      } finally {
        await rig.close();
      }
    });

    test('keeps its generated admin key across an uninstallation', async () => {
      const generated = (await ok(kubectl(KEY))).stdout;
      expect(Buffer.from(generated, 'base64').toString()).toMatch(/^[A-Za-z0-9]{48}$/);
      await ok(helm(['uninstall', RELEASE, '--wait', '--timeout', '110s']));
      expect((await ok(kubectl(KEY))).stdout).toBe(generated);
      await untilGone(CANARY_NAMESPACE);
      await ok(helm(['install', RELEASE, CHART], values));
      expect((await ok(kubectl(KEY))).stdout).toBe(generated);
    });

    test('keeps the key across an upgrade, and with crds.keep=false removes the CRD', async () => {
      const generated = (await ok(kubectl(KEY))).stdout;
      await ok(helm(['upgrade', RELEASE, CHART, '--reuse-values', '--set', 'crds.keep=false']));
      expect((await ok(kubectl(KEY))).stdout).toBe(generated);
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
