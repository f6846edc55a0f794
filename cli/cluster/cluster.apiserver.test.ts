// platform check and platform uninstall against a real API server with the chart installed by Helm and real faults. The
// injector runs in this process. Tests that need nodes and running pods are in e2e/install.test.ts.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import type { CheckReport } from '../../authoring/diagnosis/check-report.ts';
import type { CheckFinding } from '../../authoring/diagnosis/rule.ts';
import { CHART_KINDS, GRANTED } from '../../authoring/diagnosis/install-permissions.ts';
import type { LeftoverReport } from '../../authoring/diagnosis/leftovers.ts';
import { whyNoControlPlane } from '../../e2e/cluster/control.ts';
import { run } from '../../e2e/cluster/run.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { runBuiltCommand } from '../../testing/machine/built-command.ts';
import { clusterBinary } from '../../testing/machine/cluster-binary.ts';
import { ApiCluster, pathOf, type AnyObject } from '../../testing/cluster/api-cluster.ts';
import { workloadOfKind } from '../../testing/cluster/annotation-mistakes.ts';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import { until } from '../../testing/time/until.ts';
import { optedInPod } from '../../testing/cluster/pods.ts';
import { REQUIRED } from '../../testing/cluster/rendered-chart.ts';
import { issueCa } from '../../webhook/certificates/issue.ts';
import { readConfig } from '../../webhook/config.ts';
import { startWebhook, type Webhook } from '../../webhook/start.ts';
import { runCommandLine } from '../program.ts';
import type { Rendered } from '../rendered.ts';

// Far more than any test needs.
jest.setTimeout(300_000);

const CHART = join(import.meta.dirname, '../../helm/agent-compliance');
const RELEASE = 'agent-compliance';
const NAMESPACE = 'platform-system';
const GUARD = `${RELEASE}-guard`;
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const INJECTOR = `${ADMISSION}/mutatingwebhookconfigurations/${RELEASE}`;
const BINDING = `${ADMISSION}/validatingadmissionpolicybindings/${GUARD}`;
const OWN = `/api/v1/namespaces/${NAMESPACE}`;
const TEAM = '/api/v1/namespaces/team';
const JOBS = '/api/v1/namespaces/jobs';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/team/deployments';
const OBSERVATIONS = '/apis/platform.io/v1/namespaces/team/agentobservations';
const TLS = `${OWN}/secrets/${RELEASE}-webhook-tls`;
const QUOTA = '/api/v1/namespaces/platform-canary/resourcequotas/none';
/** Found in every run, because no node runs the processes. */
const BASE = ['process-not-ready'];

type Body = Record<string, unknown>;
type Act = () => Promise<unknown>;
/** The previous row causes and fixes this fault. */
const NOTHING: Act = () => Promise.resolve();

/** A workload that opts in. */
const deployment = (name: string): Body => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: 'team' },
  spec: {
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name }, annotations: { 'platform.io/inject': 'true' } },
      spec: { containers: [{ name: 'agent', image: 'agent' }] },
    },
  },
});

const configMapOf = (agent: string): Body => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap' },
  ...{ metadata: { name: `${agent}-manifest`, namespace: 'team' }, data: { 'agent.yaml': manifestText() } },
});

(whyNoControlPlane() ? describe.skip : describe)('a cluster with the chart', () => {
  let cluster: ApiCluster;
  let webhook: Webhook | null = null;

  const platform = (args: string, file = cluster.control.kubeconfig): Promise<Rendered> =>
    runCommandLine([...args.split(' '), '--kubeconfig', file], {
      env: {},
      cwd: '/',
      now: () => new Date(),
      color: false,
      ask: null,
    });
  const json = async <T>(args: string, file?: string) =>
    JSON.parse((await platform(`${args} -o json`, file)).output) as T;
  const check = (args = '', file?: string) => json<CheckReport>(`check${args}`, file);
  const codesOf = ({ findings }: CheckReport) => [...new Set(findings.map(({ code }) => code))].sort();

  const apply = (object: Body) => cluster.apply([object]);
  const create = (path: string, body: unknown) => cluster.post(path, body);
  const merge = (path: string, patch: Body) => cluster.patch(path, patch);
  const removePod = (name: string) => cluster.remove(`${TEAM}/pods/${name}`, { gracePeriodSeconds: 0 });
  const helm = async (...args: string[]) => {
    const { stdout, stderr, code } = await run([
      ...[clusterBinary('helm'), '--kubeconfig', cluster.control.kubeconfig, '-n', NAMESPACE],
      ...args,
    ]);
    if (code !== 0) throw new Error(stderr);
    return stdout;
  };

  /** A changed policy, binding or webhook configuration takes about a second to become effective. */
  async function eventually(
    runOnce: () => Promise<CheckReport>,
    isExpected: (codes: string[], report: CheckReport) => boolean,
  ): Promise<CheckReport> {
    const end = Date.now() + 120_000;
    for (;;) {
      const report = await runOnce();
      if (isExpected(codesOf(report), report)) return report;
      if (Date.now() > end) throw new Error(JSON.stringify(report.findings, null, 1));
      await sleep(200);
    }
  }
  const recovered = () => eventually(check, (codes) => codes.join() === BASE.join());
  const foundThat = async (isExpected: (each: CheckFinding) => boolean) => {
    const report = await eventually(check, (_, { findings }) => findings.some(isExpected));
    return { report, findings: report.findings.filter(isExpected) };
  };
  const found = async (code: string) => (await foundThat((each) => each.code === code)).findings;

  async function startInjector(): Promise<void> {
    const config = readConfig({
      SIDECAR_IMAGE: 'registry.example/agent-compliance/sidecar:0.0.0-source',
      POD_NAMESPACE: NAMESPACE,
      KUBECONFIG: await cluster.kubeconfigOf(NAMESPACE, `${RELEASE}-webhook`),
      MANIFEST_CONFIGURATION: `${RELEASE}-manifests`,
    });
    if (!config.ok) throw new Error(JSON.stringify(config.problems));
    const signal = new AbortController().signal;
    webhook = await startWebhook({ ...config.config, PORT: 0 }, silentLogger, signal, { everyMs: 500 });
    const { port } = webhook;
    const hasService = JSON.stringify(await cluster.get(INJECTOR)).includes('"service":');
    for (const [configuration, path] of [
      [INJECTOR, 'mutate/pod'],
      [`${ADMISSION}/validatingwebhookconfigurations/${RELEASE}-manifests`, 'validate/manifest'],
    ] as const) {
      const patch = [
        ...(hasService ? [{ op: 'remove', path: '/webhooks/0/clientConfig/service' }] : []),
        { op: 'add', path: '/webhooks/0/clientConfig/url', value: `https://127.0.0.1:${port}/${path}` },
      ];
      await cluster.patch(configuration, patch, 'json');
    }
  }

  async function stopInjector(): Promise<void> {
    await webhook?.close();
    webhook = null;
  }

  const lease = (renewTime: Date, leaseDurationSeconds: number) =>
    merge(`/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/platform-operator`, {
      spec: {
        holderIdentity: 'operator-1',
        leaseDurationSeconds,
        renewTime: renewTime.toISOString().replace('Z', '000Z'),
      },
    });
  const goodLease = () => lease(new Date(), 3_600);
  const canary = (status: string) => {
    const condition = { type: 'CanaryPassing', status, reason: 'Differs', message: 'not the expected pod' };
    const conditions = [{ ...condition, lastTransitionTime: '2026-01-01T00:00:00Z' }];
    const policy = `${ADMISSION}/validatingadmissionpolicies/${RELEASE}-canary`;
    return merge(`${policy}/status`, { status: { conditions } });
  };
  const observe = (...conditions: [type: string, status: string, reason: string][]) => {
    const rest = { message: 'some message', lastTransitionTime: '2026-01-01T00:00:00Z' };
    const all = conditions.map(([type, status, reason]) => ({ type, status, reason, ...rest }));
    const status = { phase: 'Healthy', conditions: all };
    return merge(`${OBSERVATIONS}/chat/status`, { status });
  };
  const manifest = (data: Record<string, string>) => merge(`${TEAM}/configmaps/chat-manifest`, { data });
  const available = (part: string, count: number) =>
    merge(`/apis/apps/v1/namespaces/${NAMESPACE}/deployments/${RELEASE}-${part}/status`, {
      status: { replicas: count, availableReplicas: count, readyReplicas: count, updatedReplicas: count },
    });

  beforeAll(async () => {
    cluster = await ApiCluster.start();
    await cluster.namespaces('team');
    expect((await check()).findings.map(({ code }) => code)).toEqual(['release-missing']);
    expect(await platform('check --pre')).toMatchObject({ exitCode: 0 });
    await helm('install', RELEASE, CHART, '--create-namespace', ...REQUIRED);
    await until(() => cluster.serves(OBSERVATIONS));
    // The controllers that set this do not run here.
    for (const name of [NAMESPACE, 'platform-canary'])
      await cluster.post(`/api/v1/namespaces/${name}/serviceaccounts`, { metadata: { name: 'default' } });
    const parts = ['operator', 'webhook', 'control-plane'].map((part) => available(part, 2));
    await Promise.all([...parts, goodLease()]);
    await startInjector();
    // The API server uses a changed CA of a webhook a moment later.
    await until(() =>
      apply(configMapOf('chat')).then(
        () => true,
        () => false,
      ),
    );
    await apply(deployment('chat'));
    const spec = { source: 'sidecar', agentRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'chat' } };
    await apply({
      ...{ apiVersion: 'platform.io/v1', kind: 'AgentObservation' },
      ...{ metadata: { name: 'chat', namespace: 'team' }, spec },
    });
  });

  afterAll(async () => {
    await stopInjector();
    await cluster?.close();
  });

  test('has no finding except the processes that no node runs', async () => {
    const report = await recovered();
    expect(report).toMatchObject({ version: 1, release: { name: RELEASE, namespace: NAMESPACE } });
    expect(report.findings.map(({ subject }) => subject).sort()).toEqual(['control-plane', 'operator']);
  });

  describe('with many faults at once', () => {
    let report: CheckReport;

    const WAITING = { reason: 'ErrImagePull', message: 'not found' };
    const FAULTS: [fault: string, code: string, message: string, cause: Act, fix: Act][] = [
      [
        'a guard that only audits',
        'guard-off',
        'does not deny; its validationActions: Audit',
        () => merge(BINDING, { spec: { validationActions: ['Audit'] } }),
        () => merge(BINDING, { spec: { validationActions: ['Deny'] } }),
      ],
      [
        'a webhook that is scaled to zero',
        'deployment-unavailable',
        `Deployment ${RELEASE}-webhook in ${NAMESPACE} has 0 of 2`,
        () => available('webhook', 0),
        () => available('webhook', 2),
      ],
      [
        'a canary that fails',
        'canary-failing',
        'not the expected pod',
        () => canary('False'),
        () => canary('True'),
      ],
      [
        'a leader that no longer renews its lease',
        'leader-missing',
        'no longer renewed by operator-1',
        () => lease(new Date(Date.now() - 60_000), 15),
        goodLease,
      ],
      [
        'a deleted object of the release',
        'release-object-missing',
        `ServiceAccount ${RELEASE}-operator`,
        () => cluster.remove(`${OWN}/serviceaccounts/${RELEASE}-operator`),
        () => create(`${OWN}/serviceaccounts`, { metadata: { name: `${RELEASE}-operator` } }),
      ],
      [
        'an invalid manifest',
        'manifest-invalid',
        'Deployment chat in team: its ConfigMap chat-manifest contains no valid manifest: agent.yaml:1:1',
        () => manifest({ 'agent.yaml': 'hello' }),
        () => manifest({ 'agent.yaml': manifestText() }),
      ],
      [
        'a workload without its ConfigMap',
        'manifest-missing',
        'Deployment other in team: its ConfigMap other-manifest does not exist',
        () => apply(deployment('other')),
        () => cluster.remove(`${DEPLOYMENTS}/other`),
      ],
      [
        'an agent that does not report',
        'agent-silent',
        'agent chat in team: some message',
        () =>
          observe(
            ['Reporting', 'False', 'Stale'],
            ['Routed', 'False', 'ServiceBypassesSidecar'],
            ['Compliant', 'Unknown', 'NotShown'],
          ),
        () =>
          observe(
            ['Reporting', 'True', 'HeartbeatReceived'],
            ['Routed', 'True', 'ThroughSidecar'],
            ['Compliant', 'True', 'Compliant'],
          ),
      ],
      [
        'a Service that bypasses the sidecar',
        'agent-bypassed',
        'agent chat in team: some message',
        NOTHING,
        NOTHING,
      ],
      [
        'an agent with little evidence',
        'agent-not-shown',
        'agent chat in team: some message',
        NOTHING,
        NOTHING,
      ],
      [
        'a pod with an image that does not exist',
        'image-pull',
        'ErrImagePull, not found',
        async () => {
          await create(`${TEAM}/pods`, optedInPod({ metadata: { name: 'pull' } }));
          await apply(configMapOf('pull'));
          const image = { image: '', imageID: '', ready: false, restartCount: 0 };
          const containerStatuses = [{ name: 'agent', state: { waiting: WAITING }, ...image }];
          await merge(`${TEAM}/pods/pull/status`, { status: { containerStatuses } });
        },
        async () => {
          await removePod('pull');
          await cluster.remove(`${TEAM}/configmaps/pull-manifest`);
        },
      ],
    ];

    beforeAll(async () => {
      await Promise.all(FAULTS.map(([, , , cause]) => cause()));
      const codes = FAULTS.map(([, code]) => code);
      report = await eventually(check, (all) => codes.every((code) => all.includes(code)));
    });

    test.each(FAULTS)('%s is found', (...[, code, expected]) => {
      const found = report.findings.filter((each) => each.code === code);
      expect(found.map(({ message }) => message)).toEqual([expect.stringContaining(expected)]);
    });

    test('nothing else is found, and all findings disappear after the fixes', async () => {
      expect(codesOf(report)).toEqual([...BASE, ...FAULTS.map(([, code]) => code)].sort());
      await Promise.all(FAULTS.map(([, , , , fix]) => fix()));
      await recovered();
    });
  });

  describe('with agents of every kind of workload', () => {
    const IN = { namespace: 'jobs' };
    const BROKEN = Buffer.from('hello').toString('base64');
    const GOOD = Buffer.from(manifestText()).toString('base64');
    const EARLIER = manifestText().replace('1.0.0', '0.9.0');
    const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');
    const inject = { 'platform.io/inject': 'true' };
    const jobs = (kind: string, name: string, inner: Record<string, string> = inject): Body => {
      const object = workloadOfKind(kind, { inner }, name) as { metadata: Body };
      return { ...object, metadata: { ...object.metadata, ...IN } };
    };
    const named = (kind: string, name: string, more: Body, apiVersion = 'v1'): Body => ({
      ...{ apiVersion, kind, metadata: { name, ...IN }, ...more },
    });
    const configMap = (name: string, more: Body): Body => named('ConfigMap', `${name}-manifest`, more);
    const good = (name: string): Body => configMap(name, { data: { 'agent.yaml': manifestText() } });
    const agent = (name: string, kind: string, apiVersion: string): Body =>
      named(
        'AgentObservation',
        name,
        { spec: { source: 'sidecar', agentRef: { apiVersion, kind, name } } },
        'platform.io/v1',
      );
    const observations = OBSERVATIONS.replace('team', 'jobs');
    const status = (path: string, body: Body) => merge(`${path}/status`, { status: body });
    /** The manifest that an agent reports. In the future, so that its ConfigMap did not change a moment ago. */
    const reports = (name: string, text: string) =>
      status(`${observations}/${name}`, {
        phase: 'Healthy',
        instances: [
          {
            ...{ name: `${name}-1`, manifestHash: hashOf(text), seq: 1, phase: 'Healthy', score: 100 },
            ...{ startedAt: '2026-01-01T00:00:00Z', intervalSeconds: 30, day: '2026-01-01' },
            ...{ tokensToday: 0, costTodayUsd: 0, violations: 0, criticalIssues: 0, deniedInWindow: 0 },
            lastHeartbeat: new Date(Date.now() + 600_000).toISOString(),
          },
        ],
      });
    const ended = {
      ...{ startTime: '2026-01-01T00:00:00Z', completionTime: '2026-01-01T00:01:00Z', succeeded: 1 },
      conditions: ['SuccessCriteriaMet', 'Complete'].map((type) => ({ type, status: 'True' })),
    };
    /** What a StatefulSet's controller writes, which does not run here. */
    const refusal = async (name: string) => {
      const path = `/apis/apps/v1/namespaces/jobs/statefulsets/${name}`;
      const { uid } = (await cluster.get<{ metadata: { uid: string } }>(path)).metadata;
      const time = new Date().toISOString().replace(/[.]\d+/, '');
      await apply(
        named('Event', `${name}.1`, {
          ...{ type: 'Warning', reason: 'FailedCreate', count: 3, firstTimestamp: time, lastTimestamp: time },
          involvedObject: { apiVersion: 'apps/v1', kind: 'StatefulSet', name, uid, ...IN },
          message: `create Pod ${name}-0 in StatefulSet ${name} failed error: exceeded quota`,
        }),
      );
    };
    const output = `${JSON.stringify({ message: 'start failed, exiting', error: 'no such option' })}\n`;
    const notRunning = {
      ...{ name: 'platform-sidecar', image: '', imageID: '', ready: false, restartCount: 3 },
      state: { waiting: { reason: 'CrashLoopBackOff' } },
      lastState: { terminated: { exitCode: 1, message: output } },
    };
    const objects: Body[] = [
      ...[jobs('Job', 'batch'), configMap('batch', { binaryData: { 'agent.yaml': BROKEN } })],
      jobs('Job', 'done'),
      jobs('Pod', 'lone'),
      ...[jobs('Pod', 'failing'), good('failing')],
      ...[jobs('ReplicaSet', 'bare'), configMap('bare', { data: { other: '' } })],
      ...[jobs('StatefulSet', 'refused'), good('refused')],
      ...[jobs('DaemonSet', 'binary'), configMap('binary', { binaryData: { 'agent.yaml': GOOD } })],
      ...[jobs('CronJob', 'hidden'), good('hidden')],
      named('AgentObservation', 'hidden', { spec: { source: 'remote' } }, 'platform.io/v1'),
      ...[jobs('Deployment', 'stale'), agent('stale', 'Deployment', 'apps/v1')],
      configMap('stale', { immutable: true, data: { 'agent.yaml': EARLIER } }),
      agent('binary', 'DaemonSet', 'apps/v1'),
      ...[jobs('StatefulSet', 'mute'), good('mute'), agent('mute', 'StatefulSet', 'apps/v1')],
      jobs('Deployment', 'typo', { 'platform.io/injekt': 'true', 'platform.io/team': 'a' }),
    ];

    beforeAll(async () => {
      // With the label, the policy admits the remote observation, which stands for one that an earlier version admitted.
      const labels = { 'app.kubernetes.io/part-of': 'agent-compliance' };
      await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'jobs', labels } });
      await create(`${JOBS}/serviceaccounts`, { metadata: { name: 'default' } });
      await cluster.apply(objects);
      await merge(JOBS, { metadata: { labels: { 'app.kubernetes.io/part-of': null } } });
      // The pods of `stale` keep the content of the earlier ConfigMap.
      await cluster.remove(`${JOBS}/configmaps/stale-manifest`);
      await apply(configMap('stale', { immutable: true, data: { 'agent.yaml': manifestText() } }));
      const never = {
        type: 'Reporting',
        status: 'False',
        reason: 'NeverReported',
        message: 'no heartbeat yet',
      };
      await Promise.all([
        refusal('refused'),
        status('/apis/batch/v1/namespaces/jobs/jobs/done', ended),
        status(`${JOBS}/pods/failing`, { initContainerStatuses: [notRunning] }),
        reports('stale', EARLIER),
        reports('binary', manifestText()),
        status(`${observations}/mute`, {
          phase: 'Unknown',
          conditions: [{ ...never, lastTransitionTime: '2026-01-01T00:00:00Z' }],
        }),
      ]);
    });
    afterAll(async () => {
      const options = { gracePeriodSeconds: 0, propagationPolicy: 'Background' };
      for (const object of objects as unknown as AnyObject[]) await cluster.remove(pathOf(object), options);
      await cluster.remove(`${JOBS}/events/refused.1`);
      await recovered();
    });

    test('finds each fault once, with the names of the objects, and nothing else', async () => {
      const report = await check(' --fail-on warning');
      const others = report.findings.filter(({ code }) => !BASE.includes(code));
      const shown = others.map(({ code, message, hint }) => [code, message, hint]).sort();
      const has = (text: string): unknown => expect.stringContaining(text);
      expect(shown).toEqual([
        [
          'agent-hidden',
          'AgentObservation hidden in jobs has source remote, so the agent of CronJob hidden is not observed',
          'kubectl delete agentobservation hidden -n jobs',
        ],
        [
          'agent-never-reported',
          'agent mute in jobs: no heartbeat yet',
          has('agentobservation mute -n jobs'),
        ],
        [
          'annotation-ignored',
          'Deployment typo in jobs: the annotation platform.io/injekt is unknown and has no effect',
          'set platform.io/inject in spec.template.metadata.annotations',
        ],
        ['annotation-unknown', has('the annotation platform.io/team is unknown'), has('remove it')],
        [
          'manifest-invalid',
          has('Job batch in jobs: its ConfigMap batch-manifest contains no valid manifest: agent.yaml:1:1'),
          has("-o jsonpath='{.binaryData.agent\\.yaml}' | base64 -d > agent.yaml"),
        ],
        ['manifest-missing', 'Pod lone in jobs: its ConfigMap lone-manifest does not exist', has('-n jobs')],
        [
          'manifest-missing',
          'ReplicaSet bare in jobs: its ConfigMap bare-manifest has no key agent.yaml',
          has('kubectl apply'),
        ],
        [
          'manifest-stale',
          has('Deployment stale in jobs: pod stale-1 does not run the manifest in ConfigMap stale-manifest'),
          'kubectl rollout restart deployment stale -n jobs',
        ],
        [
          'sidecar-failing',
          'container platform-sidecar of pod failing in jobs ended with exit code 1: start failed, exiting: no such option',
          'kubectl logs failing -n jobs -c platform-sidecar --previous',
        ],
        [
          'workload-refused',
          'StatefulSet refused in jobs: its pods are rejected: exceeded quota',
          'kubectl describe statefulset refused -n jobs',
        ],
      ]);
    });
  });

  test('an unreadable Helm revision is one finding, and the other checks still run', async () => {
    const name = `sh.helm.release.v1.${RELEASE}.v2`;
    const labels = { owner: 'helm', name: RELEASE, version: '2', status: 'deployed' };
    await apply({
      ...{ apiVersion: 'v1', kind: 'Secret', type: 'helm.sh/release.v1' },
      ...{ metadata: { name, namespace: NAMESPACE, labels }, stringData: { release: 'cut off' } },
    });
    const { findings } = await check();
    const others = findings.filter(({ code }) => !BASE.includes(code));
    expect(others.map(({ code, status, subject }) => [code, status, subject])).toEqual([
      ['release-unreadable', 'found', `Secret ${NAMESPACE}/${name}`],
      ['release-object-missing', 'unknown', ''],
    ]);
    await cluster.remove(`${OWN}/secrets/${name}`);
  });

  describe('while the injector is unavailable', () => {
    beforeAll(stopInjector);
    afterAll(async () => {
      if (await cluster.serves(`${TEAM}/pods/chat`)) await removePod('chat');
      await apply({
        ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingAdmissionPolicyBinding' },
        ...{ metadata: { name: GUARD }, spec: { policyName: GUARD, validationActions: ['Deny'] } },
      });
      await startInjector();
    });

    test('reports that the guard rejects a pod that opts in', async () => {
      // Until the guard that an earlier test restored is effective, the API server admits the pod.
      const { report, findings } = await foundThat(
        ({ code, message }) =>
          code === 'injector-no-answer' && message.includes('the injector did not answer'),
      );
      expect(report.findings.filter(({ code }) => code === 'injector-no-answer')).toEqual(findings);
      expect(findings).toHaveLength(1);
    });

    test('reports an empty caBundle, a caBundle of another CA and an expired certificate', async () => {
      const bundle = (value: string) =>
        cluster.patch(
          INJECTOR,
          [{ op: 'replace', path: '/webhooks/0/clientConfig/caBundle', value }],
          'json',
        );
      const base64 = (text: string) => Buffer.from(text).toString('base64');
      const other = await issueCa({ now: new Date('2020-01-01'), days: 30 });
      await bundle('');
      expect((await found('injector-not-trusted'))[0]?.message).toContain('has no caBundle');
      await bundle(base64(other.cert));
      const wrong = await eventually(check, (codes) => codes.includes('injector-not-trusted'));
      expect(wrong.findings.find(({ code }) => code === 'injector-not-trusted')?.message).toContain(
        'is not signed by a CA in the caBundle',
      );
      await merge(TLS, { data: { 'ca.crt': base64(other.cert) } });
      expect((await found('certificate-expired'))[0]?.message).toBe(
        'the CA of the injector expired on 2020-01-31',
      );
    });

    test('reports each pod that is admitted without a sidecar because the guard is missing', async () => {
      const hard = { pods: '0' };
      await create(dirname(QUOTA), { metadata: { name: 'none' }, spec: { hard } });
      // The controller that sets the status does not run here.
      await merge(`${QUOTA}/status`, { status: { hard, used: hard } });
      await cluster.remove(BINDING);
      const guardIneffective = (status: string) =>
        foundThat((each) => each.code === 'guard-ineffective' && each.status === status);
      // The quota rejects the test pod before injector and guard do.
      expect((await guardIneffective('unknown')).findings[0]?.message).toContain('quota: none');
      await cluster.remove(QUOTA);
      const { report } = await guardIneffective('found');
      expect(codesOf(report)).toEqual(expect.arrayContaining(['guard-missing', 'injector-no-answer']));
      await create(`${TEAM}/pods`, optedInPod());
      expect((await found('pod-without-sidecar'))[0]).toMatchObject({
        message: 'pod chat in team opts in but runs without a sidecar',
        hint: 'kubectl delete pod chat -n team, and create it again',
      });
    });
  });

  test('--wait returns when all checks pass, and with the findings after the timeout', async () => {
    await recovered();
    const waited = await platform('check --wait 2s');
    expect(waited).toMatchObject({ exitCode: 1, output: expect.stringContaining('process-not-ready') });
    expect(await platform('check --pre --wait 30s')).toMatchObject({ exitCode: 0 });
  });

  test('--pre finds names that belong to another release', async () => {
    const { findings } = await check(' --pre --release other');
    expect(findings.map(({ code, subject }) => [code, subject])).toEqual([
      ['name-taken', 'Namespace platform-remote'],
      ['name-taken', 'Namespace platform-canary'],
      ['name-taken', 'CustomResourceDefinition agentobservations.platform.io'],
      ['name-taken', 'CustomResourceDefinition agentpolicies.platform.io'],
      ['name-taken', 'CustomResourceDefinition agentstops.platform.io'],
    ]);
  });

  test('reports checks as unknown, with the missing permission, for a user without permissions', async () => {
    const file = await cluster.kubeconfigOf('team', 'default');
    const withoutPermissions = await check('', file);
    expect(withoutPermissions.findings.map(({ code, status, message }) => [code, status, message])).toEqual([
      ['release-missing', 'unknown', `missing permission: list deployments in ${NAMESPACE}`],
    ]);
    const apiGroup = 'rbac.authorization.k8s.io';
    const inside = `/apis/${apiGroup}/v1/namespaces/${NAMESPACE}`;
    const metadata = { name: 'reader' };
    const rules = [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['list'] }];
    await create(`${inside}/roles`, { metadata, rules });
    await create(`${inside}/rolebindings`, {
      ...{ metadata, roleRef: { apiGroup, kind: 'Role', name: 'reader' } },
      subjects: [{ kind: 'ServiceAccount', name: 'default', namespace: 'team' }],
    });
    // A new permission takes a moment to become effective.
    const some = await eventually(
      () => check('', file),
      (_, { passed }) => passed.includes('release-missing'),
    );
    expect(some.passed).toEqual([
      ...['kubernetes-version', 'kubernetes-api', 'release-missing', 'release-versions'],
      'deployment-unavailable',
    ]);
    expect(some.findings.every(({ status }) => status === 'unknown')).toBe(true);
    const reasons = some.findings.map(({ message }) => message);
    for (const permission of [
      `list secrets in ${NAMESPACE}`,
      `get leases in ${NAMESPACE}`,
      `get services/proxy in ${NAMESPACE}`,
      'list validatingadmissionpolicies',
      'create pods in default (as a dry run)',
      'list agentobservations in every namespace',
    ])
      expect(reasons).toContain(`missing permission: ${permission}`);
    const { findings } = await check(' --pre', file);
    expect(findings.map(({ message }) => message)).toEqual(
      expect.arrayContaining(
        [
          'missing permission: create deployments.apps in platform-system',
          'missing permission: create clusterroles.rbac.authorization.k8s.io in every namespace',
          'missing permission: patch agentobservations.platform.io/status in every namespace',
        ].map((message) =>
          message.replace('agentobservations.platform.io/status', 'agentobservations/status.platform.io'),
        ),
      ),
    );
  });

  test('the built command reports the same findings and exits', async () => {
    await recovered();
    const built = await runBuiltCommand(['check', '-o', 'json'], {
      cwd: '/',
      env: { KUBECONFIG: cluster.control.kubeconfig },
    });
    expect(built).toMatchObject({ errors: '', exitCode: 1 });
    expect(codesOf(JSON.parse(built.output) as CheckReport)).toEqual(BASE);
  });

  test.each<[string, string]>([
    ['check --kubeconfig /nowhere', '/nowhere cannot be read'],
    ['check --context other', 'no context "other"'],
    ['check -n platform-system --release other', 'not installed'],
  ])('platform %s exits with 1 and the reason', async (args, reason) => {
    const { exitCode, output, errors } = await runCommandLine(
      [
        ...args.split(' '),
        ...(args.includes('--kubeconfig') ? [] : ['--kubeconfig', cluster.control.kubeconfig]),
      ],
      { env: {}, cwd: '/', now: () => new Date(), color: false, ask: null },
    );
    expect(exitCode).toBe(1);
    expect(output + errors).toContain(reason);
  });

  test('--pre checks exactly the permissions that the rendered chart needs', async () => {
    const rendered = await helm('template', RELEASE, CHART, '--kube-version', '1.36.0', ...REQUIRED);
    const objects = parseAllDocuments(rendered).flatMap(
      (document) =>
        (document.toJS() as (Body & { kind: string; apiVersion: string; rules?: Rule[] }) | null) ?? [],
    );
    const hooks = (object: Body) => JSON.stringify(object).includes('helm.sh/hook');
    const kinds = objects
      .filter((each) => !hooks(each))
      .map(({ kind, apiVersion }) => {
        const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : '';
        return `${`${kind.toLowerCase()}s`.replace(/ys$/, 'ies')}.${group}`;
      });
    expect([...new Set(kinds)].sort()).toEqual(
      CHART_KINDS.map(({ resource, group }) => `${resource}.${group}`).sort(),
    );
    const granted = GRANTED.flatMap(({ group, resources, verbs }) =>
      resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}.${group}`)),
    );
    const delegated = objects
      .flatMap(({ rules = [] }) => (Array.isArray(rules) ? rules : []))
      .filter((rule) => Array.isArray(rule.apiGroups))
      .flatMap(({ apiGroups, resources, verbs }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}.${group}`)),
        ),
      );
    expect([...new Set(delegated)].sort()).toEqual(granted.sort());
  });

  test('init --from kagent: converts an Agent of the cluster with its ModelConfig', async () => {
    const kinds = { agents: 'Agent', modelconfigs: 'ModelConfig' };
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    const crds = Object.entries(kinds).map(([plural, kind]) => ({
      ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
      metadata: { name: `${plural}.kagent.dev` },
      spec: {
        ...{ group: 'kagent.dev', scope: 'Namespaced', names: { plural, kind } },
        versions: [{ name: 'v1alpha2', served: true, storage: true, schema }],
      },
    }));
    for (const crd of crds) await apply(crd);
    const folder = mkdtempSync(join(tmpdir(), 'kagent-'));
    try {
      const path = (plural: keyof typeof kinds) => `/apis/kagent.dev/v1alpha2/namespaces/team/${plural}`;
      const createKagent = async (plural: keyof typeof kinds, name: string, spec: object) => {
        // A new kind is served a moment after it is established.
        await until(() => cluster.serves(path(plural)));
        const body = { apiVersion: 'kagent.dev/v1alpha2', kind: kinds[plural], metadata: { name }, spec };
        await create(path(plural), body);
      };
      await createKagent('modelconfigs', 'default-model-config', {
        provider: 'Anthropic',
        model: 'claude-sonnet-4-5',
      });
      await createKagent('agents', 'helper', {
        type: 'Declarative',
        declarative: { systemMessage: 'Help.' },
      });
      const result = await platform(`init ${folder} --from kagent:team/helper`);
      expect(result).toMatchObject({ exitCode: 0, errors: '' });
      const text = readFileSync(join(folder, 'agent.yaml'), 'utf8');
      expect(text).toMatch(
        /name: helper\n[^]*provider: anthropic\n {4}id: claude-sonnet-4-5\n[^]*system: Help\./,
      );
      expect((await platform(`init ${folder} --from kagent:team/none`)).errors).toBe(
        'error: the cluster has no Agent of kagent with the name team/none\n',
      );
    } finally {
      rmSync(folder, { recursive: true, force: true });
      for (const crd of crds as AnyObject[]) await cluster.remove(pathOf(crd));
    }
  });

  describe('uninstalling', () => {
    const uninstall = (args = '') => json<LeftoverReport>(`uninstall${args}`);

    test('uninstall prints the commands and removes nothing', async () => {
      const { output, exitCode } = await platform('uninstall');
      expect(exitCode).toBe(0);
      expect(output).toContain(`helm uninstall ${RELEASE} -n ${NAMESPACE} --wait`);
      expect(output).toContain('CustomResourceDefinition agentobservations.platform.io is kept');
      expect(output).toContain(
        'Namespace platform-remote is kept; removing it removes every AgentObservation in it',
      );
      expect(output).toContain('1 AgentObservation is kept in team');
      const verified = await platform('uninstall --verify');
      expect(verified).toMatchObject({ exitCode: 1, output: expect.stringContaining('is still installed') });
      expect(
        await cluster.serves(`/apis/apps/v1/namespaces/${NAMESPACE}/deployments/${RELEASE}-webhook`),
      ).toBe(true);
    });

    test('--verify lists each leftover with its command, and nothing after they are removed', async () => {
      await recovered();
      await create(`${TEAM}/pods`, optedInPod());
      await helm('uninstall', RELEASE);
      const labels = { 'app.kubernetes.io/name': 'agent-compliance', 'app.kubernetes.io/instance': RELEASE };
      await apply({
        ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' },
        ...{ metadata: { name: 'agent-compliance-view', labels }, rules: [] },
      });
      const report = await uninstall(' --verify');
      expect(report.left.map(({ command }) => command)).toEqual([
        'kubectl delete clusterroles.rbac.authorization.k8s.io agent-compliance-view',
        'kubectl delete pod chat -n team, and create it again',
      ]);
      await cluster.remove('/apis/rbac.authorization.k8s.io/v1/clusterroles/agent-compliance-view');
      await removePod('chat');
      const { output, exitCode } = await platform('uninstall --verify');
      expect({ output, exitCode }).toEqual({
        output: expect.stringContaining('nothing is left'),
        exitCode: 0,
      });
      const { kept, unknown } = await uninstall();
      expect(unknown).toEqual([]);
      expect(kept.map(({ command }) => command)).toEqual([
        'kubectl delete customresourcedefinitions.apiextensions.k8s.io agentobservations.platform.io',
        'kubectl delete customresourcedefinitions.apiextensions.k8s.io agentpolicies.platform.io',
        'kubectl delete customresourcedefinitions.apiextensions.k8s.io agentstops.platform.io',
        'kubectl delete namespaces platform-remote',
        'kubectl delete agentobservations --all -n team',
        `kubectl delete namespace ${NAMESPACE}`,
      ]);
    });

    test('--verify does not report success without the permission to check', async () => {
      const file = await cluster.kubeconfigOf('team', 'default');
      const { exitCode, output } = await platform('uninstall --verify', file);
      expect(exitCode).toBe(1);
      expect(output).toContain('unknown: missing permission: list clusterroles in every namespace');
    });
  });
});

interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
}
