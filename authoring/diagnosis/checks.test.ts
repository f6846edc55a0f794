import { describe, expect, test } from '@jest/globals';
import {
  helmFacts,
  installedFacts,
  installFacts,
  manifestThere,
  observation,
  pod,
  workload,
} from '../../testing/cluster/diagnosis-facts.ts';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import type { AgentObservation } from '../../core/observation/observation.ts';
import type { AnnotationMistake } from './annotation-mistakes.ts';
import type { EgressFence } from './egress-fence.ts';
import { CHECK_GROUPS, checkReport, type CheckInput } from './check-report.ts';
import {
  known,
  notKnown,
  type Fact,
  type InstalledFacts,
  type InstallFacts,
  type ManifestText,
  type WorkloadFacts,
} from './facts.ts';
import { fails } from './rule.ts';

const reportOf = (input: CheckInput) => checkReport('https://cluster', input);
const installed = (change: Partial<InstalledFacts> = {}): CheckInput => ({
  stage: 'installed',
  facts: installedFacts(change),
});
/** With an agent that has this condition. */
const observed = (...condition: Parameters<typeof observation>): CheckInput =>
  installed({ observations: known([observation(...condition)]) });
const withPod = (change: Parameters<typeof pod>[0]): CheckInput => installed({ pods: known([pod(change)]) });
const withGuard = (hasPolicy: boolean, bindings: string[][]): CheckInput =>
  installed({ guard: known({ name: 'g', hasPolicy, bindings }) });
const withCertificateUntil = (date: string): CheckInput =>
  installed({
    certificates: known([{ what: 'certificate of the injector', notAfter: new Date(date), lateDays: 14 }]),
  });
const pre = (change: Partial<InstallFacts> = {}): CheckInput => ({
  stage: 'pre',
  facts: installFacts(change),
});
const missing = (elsewhere: Fact<readonly string[]>): CheckInput => ({
  stage: 'missing',
  facts: installedFacts(),
  namespace: 'platform-system',
  elsewhere,
});

/** What `platform generate-egress` writes for the agent chat; an earlier version used another label. */
const fence = (label: string): EgressFence => ({
  ...{ kind: 'NetworkPolicy', namespace: 'team', name: 'chat-egress', isLimit: true },
  selector: { matchLabels: { [label]: 'chat' }, matchExpressions: [] },
});

const rejection = { outcome: 'refused' as const, by: 'guard' as const, message: 'denied', noResponse: false };
const image = { container: 'agent', reason: 'ImagePullBackOff', message: 'not found' };
const configMap = (text: ManifestText, change: Partial<WorkloadFacts> = {}) =>
  known([workload({ manifest: { configMap: 'chat-manifest', text: known(text) }, ...change })]);

const WRONG = manifestText().replace('kind: PlatformAgent', 'kind: Wrong');
const mistake = (key: string, change: Partial<AnnotationMistake> = {}) =>
  known([
    {
      ...{
        kind: 'Deployment',
        namespace: 'team',
        name: 'chat',
        what: 'annotation' as const,
        key,
        meant: key,
      },
      ...{ place: 'spec.template.metadata.annotations', ...change },
    },
  ]);

const instance = (name: string, manifestHash: string) => ({
  ...{ name, manifestHash, seq: 1, phase: 'Healthy' as const, score: 100, intervalSeconds: 30 },
  ...{ startedAt: '2026-01-31T00:00:00Z', lastHeartbeat: '2026-01-31T23:59:00Z', day: '2026-01-31' },
  ...{ tokensToday: 0, costTodayUsd: 0, violations: 0, criticalIssues: 0, deniedInWindow: 0 },
});

/** The observation of the agent chat, of which one pod reports a manifest, and a newer one the manifest of the ConfigMap. */
const reporting = (manifestHash: string, change: Partial<AgentObservation['spec']> = {}) => {
  const { status, ...rest } = observation('Routed', 'True', 'ThroughSidecar', '');
  const agentRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'chat' };
  const reported = {
    ...{ manifestHash: 'a'.repeat(64), reportedBy: 'chat-0' },
    instances: [instance('chat-0', 'a'.repeat(64)), instance('chat-1', manifestHash)],
  };
  return {
    ...rest,
    spec: { source: 'sidecar' as const, agentRef, ...change },
    status: { phase: 'Healthy' as const, ...status, ...reported },
  };
};
const remote = (change: Partial<AgentObservation> = {}) => {
  const found = observation('Reporting', 'False', 'NoHeartbeat', '');
  return known([{ ...found, spec: { source: 'remote' as const }, ...change }]);
};
const failed = (message: string, exitCode = 1) => ({
  container: 'platform-sidecar',
  exitCode,
  message,
});

/** Every finding: the fault, its code, and a part of the message and of the hint. */
const FOUND: [fault: string, input: CheckInput, code: string, message: string, hint: string][] = [
  [
    'Kubernetes 1.32',
    pre({ version: known('v1.32.9') }),
    'kubernetes-version',
    'v1.32.9 is older than 1.33',
    'upgrade',
  ],
  [
    'an unknown version',
    installed({ version: known('next') }),
    'kubernetes-version',
    'is not a recognised version',
    'upgrade',
  ],
  [
    'an API that is not served',
    pre({ missingApis: known(['policy/v1 poddisruptionbudgets']) }),
    'kubernetes-api',
    'does not serve policy/v1',
    '--runtime-config',
  ],
  [
    'a missing permission',
    pre({ missingPermissions: known(['create clusterroles.rbac.authorization.k8s.io in every namespace']) }),
    'rights-install',
    'missing permission: create clusterroles',
    'administrator',
  ],
  [
    'a namespace without a release',
    pre({ existing: known([{ kind: 'Namespace', name: 'platform-canary', owner: null }]) }),
    'name-taken',
    'platform-canary already exists and belongs to no release',
    'createNamespace',
  ],
  [
    'a definition of another release',
    pre({
      existing: known([
        {
          kind: 'CustomResourceDefinition',
          name: 'agentobservations.platform.io',
          owner: { release: 'old', namespace: 'ns' },
        },
      ]),
    }),
    'name-taken',
    'belongs to release old in ns',
    'meta.helm.sh/release-name=agent-compliance',
  ],
  ['no release', missing(known([])), 'release-missing', 'not installed in platform-system', 'helm install'],
  [
    'a release elsewhere',
    missing(known(['security'])),
    'release-missing',
    'not installed in platform-system',
    'platform check -n security',
  ],
  [
    'an upgrade that failed',
    installed({ helm: known(helmFacts({ status: 'failed' })) }),
    'release-not-deployed',
    '"failed"',
    'helm history',
  ],
  [
    'an unreadable newest revision',
    installed({ helm: known(helmFacts({ content: { ok: false, why: 'it has no manifest' } })) }),
    'release-unreadable',
    'Secret sh.helm.release.v1.r.v2 in platform-system, cannot be read: it has no manifest',
    'kubectl delete secret sh.helm.release.v1.r.v2 -n platform-system',
  ],
  [
    'components of two versions',
    installed({ release: { name: 'r', namespace: 'n', versions: ['0.1.0', '0.2.0'] } }),
    'release-versions',
    '0.1.0, 0.2.0',
    'helm status',
  ],
  [
    'an object that was deleted',
    installed({ missingObjects: known(['Lease platform-operator']) }),
    'release-object-missing',
    'Lease platform-operator',
    'helm upgrade',
  ],
  [
    'no definition',
    installed({ definition: known(null) }),
    'definition-missing',
    'does not exist',
    'crds.install',
  ],
  [
    'a definition of another version',
    installed({ definition: known({ established: true, served: ['v2'] }) }),
    'definition-missing',
    'does not serve version v1 (it serves v2)',
    'describe crd',
  ],
  [
    'a definition that is not established',
    installed({ definition: known({ established: false, served: ['v1'] }) }),
    'definition-missing',
    'is not established',
    'describe crd',
  ],
  [
    'too few pods',
    installed({ deployments: known([{ name: 'webhook', wanted: 2, available: 1 }]) }),
    'deployment-unavailable',
    '1 of 2 pods',
    'describe pods',
  ],
  [
    'no pods wanted',
    installed({ deployments: known([{ name: 'webhook', wanted: 0, available: 0 }]) }),
    'deployment-unavailable',
    'scaled to zero',
    'kubectl scale deployment webhook',
  ],
  [
    'an image that cannot be pulled',
    withPod({ waiting: [image] }),
    'image-pull',
    'ImagePullBackOff, not found',
    'describe pod chat-1 -n team',
  ],
  [
    'a control plane that is not ready',
    installed({
      processes: [{ part: 'control-plane', ready: known({ ok: false, text: 'the store is unavailable' }) }],
    }),
    'process-not-ready',
    'the store is unavailable',
    'component=control-plane',
  ],
  ['no Lease', installed({ lease: known(null) }), 'leader-missing', 'does not exist', 'logs'],
  [
    'a Lease without holder',
    installed({ lease: known({ holder: '', fresh: false }) }),
    'leader-missing',
    'has no holder',
    'logs',
  ],
  [
    'a leader that stopped renewing',
    installed({ lease: known({ holder: 'op-1', fresh: false }) }),
    'leader-missing',
    'no longer renewed by op-1',
    'logs',
  ],
  [
    'no webhook configuration',
    installed({ injector: known(null) }),
    'injector-not-asked',
    'no MutatingWebhookConfiguration',
    'helm upgrade',
  ],
  [
    'an empty caBundle',
    installed({ injector: known({ name: 'w', hasCa: false, excluded: [] }) }),
    'injector-not-trusted',
    'has no caBundle',
    'logs',
  ],
  [
    'another CA',
    installed({ trusted: known(false) }),
    'injector-not-trusted',
    'is not signed by a CA in the caBundle',
    'logs',
  ],
  [
    'no certificate yet',
    installed({ trusted: known(null) }),
    'injector-not-trusted',
    'no certificate yet',
    'logs',
  ],
  [
    'an unavailable injector',
    installed({ trial: known({ ...rejection, noResponse: true }) }),
    'injector-no-answer',
    'did not answer',
    'component=webhook',
  ],
  [
    'a pod without sidecar',
    installed({ trial: known({ outcome: 'admitted' }) }),
    'injector-no-answer',
    'without a sidecar',
    'component=webhook',
  ],
  [
    'a quota',
    installed({ trial: known({ ...rejection, by: 'other', message: 'exceeded quota' }) }),
    'injection-refused',
    'exceeded quota',
    'the component that rejected',
  ],
  [
    'a canary that fails',
    installed({ canary: known({ status: 'False', message: 'differs' }) }),
    'canary-failing',
    'differs',
    'component=operator',
  ],
  [
    'no guard',
    withGuard(false, [['Deny']]),
    'guard-missing',
    'ValidatingAdmissionPolicy g does not exist',
    'helm upgrade',
  ],
  [
    'a guard without binding',
    withGuard(true, []),
    'guard-missing',
    'ValidatingAdmissionPolicyBinding g does not exist',
    'helm upgrade',
  ],
  [
    'a guard that only audits',
    withGuard(true, [['Warn', 'Audit']]),
    'guard-off',
    'does not deny; its validationActions: Warn, Audit',
    'guard.action=deny',
  ],
  [
    'a guard that is switched off',
    installed({
      helm: known(helmFacts({ content: { ok: true, objects: [] } })),
      guard: known({ name: 'g', hasPolicy: false, bindings: [] }),
    }),
    'guard-off',
    'switched off',
    'guard.action=deny',
  ],
  [
    'an invalid pod that is admitted',
    installed({ wrongTrial: known({ outcome: 'admitted' }) }),
    'guard-ineffective',
    'neither the injector nor the guard rejects',
    'helm upgrade',
  ],
  [
    'an expired certificate',
    withCertificateUntil('2026-01-01'),
    'certificate-expired',
    'expired on 2026-01-01',
    'component=webhook',
  ],
  [
    'a certificate close to expiry',
    withCertificateUntil('2026-02-10'),
    'certificate-not-renewed',
    'expires on 2026-02-10',
    'component=webhook',
  ],
  [
    'no ConfigMap',
    installed({ workloads: configMap({ state: 'absent' }) }),
    'manifest-missing',
    'Deployment chat in team: its ConfigMap chat-manifest does not exist',
    'kubectl create configmap chat-manifest -n team --from-file=agent.yaml',
  ],
  [
    'a ConfigMap without the key',
    installed({ workloads: configMap({ state: 'no-key' }) }),
    'manifest-missing',
    'has no key agent.yaml',
    'kubectl apply',
  ],
  [
    'a ConfigMap with an invalid manifest',
    installed({ workloads: configMap(manifestThere(WRONG)) }),
    'manifest-invalid',
    'agent.yaml:',
    "-o jsonpath='{.data.agent\\.yaml}' > agent.yaml; platform validate agent.yaml",
  ],
  [
    'an invalid manifest of a Job, in binaryData',
    installed({
      workloads: configMap(manifestThere(WRONG, { member: 'binaryData' }), {
        kind: 'Job',
      }),
    }),
    'manifest-invalid',
    'Job chat in team: its ConfigMap chat-manifest contains no valid manifest: agent.yaml:',
    "-o jsonpath='{.binaryData.agent\\.yaml}' | base64 -d > agent.yaml",
  ],
  [
    'a manifest that is not text',
    installed({ workloads: configMap({ state: 'not-text' }) }),
    'manifest-invalid',
    'agent.yaml is not a UTF-8 text file',
    '| base64 -d',
  ],
  [
    'a manifest that the pod does not run',
    installed({ observations: known([reporting('b'.repeat(64))]) }),
    'manifest-stale',
    'Deployment chat in team: pod chat-1 does not run the manifest in ConfigMap chat-manifest: it reports the SHA-256 bbbbbbbbbbbb…, the ConfigMap has aaaaaaaaaaaa…',
    'kubectl rollout restart deployment chat -n team',
  ],
  [
    'a manifest that the pod of a Job does not run',
    installed({
      observations: known([
        reporting('b'.repeat(64), {
          agentRef: { apiVersion: 'batch/v1', kind: 'Job', name: 'chat' },
        }),
      ]),
      workloads: known([workload({ kind: 'Job' })]),
    }),
    'manifest-stale',
    'Job chat in team',
    'kubectl delete pods -n team -l platform.io/agent=chat',
  ],
  [
    'a manifest that a pod without owner does not run',
    installed({
      observations: known([
        reporting('b'.repeat(64), {
          agentRef: { apiVersion: 'v1', kind: 'Pod', name: 'chat' },
        }),
      ]),
      workloads: known([workload({ kind: 'Pod' })]),
    }),
    'manifest-stale',
    'Pod chat in team',
    'kubectl delete pod chat -n team, and create it again',
  ],
  [
    'a hand-made observation with the name of an agent',
    installed({ observations: remote() }),
    'agent-hidden',
    'AgentObservation chat in team has source remote, so the agent of Deployment chat is not observed',
    'kubectl delete agentobservation chat -n team',
  ],
  [
    'a registered agent with the name of an agent',
    installed({
      observations: remote({
        status: {
          phase: 'Pending',
          tokenHashes: [{ hash: 'h', expiresAt: '2027-01-01T00:00:00Z' }],
        },
      }),
    }),
    'agent-hidden',
    'has source remote',
    'set another platform.io/agent-name in the pod template of Deployment chat',
  ],
  [
    'a mirrored agent with the name of an agent',
    installed({
      observations: remote({
        metadata: {
          namespace: 'team',
          name: 'chat',
          labels: { 'platform.io/mirrored': 'true' },
        },
      }),
    }),
    'agent-hidden',
    'has source remote',
    'set another platform.io/agent-name',
  ],
  [
    'an annotation in the wrong place',
    installed({ mistakes: mistake('platform.io/inject') }),
    'annotation-ignored',
    'Deployment chat in team: the annotation platform.io/inject is not in spec.template.metadata.annotations and has no effect',
    'set platform.io/inject in spec.template.metadata.annotations',
  ],
  [
    'a typing mistake in an annotation',
    installed({
      mistakes: mistake('platform.io/injekt', { meant: 'platform.io/inject' }),
    }),
    'annotation-ignored',
    'Deployment chat in team: the annotation platform.io/injekt is unknown and has no effect',
    'set platform.io/inject in spec.template.metadata.annotations',
  ],
  [
    'an unknown annotation',
    installed({ mistakes: mistake('platform.io/team', { meant: null }) }),
    'annotation-unknown',
    'the annotation platform.io/team is unknown and has no effect',
    'remove it',
  ],
  [
    'a sidecar that ends with a JSON log',
    installed({
      pods: known([
        pod({
          failed: [
            failed(
              '{"level":"info","message":"first"}\n{"level":"error","message":"/manifest/agent.yaml:1:1 wrong"}\n{"level":"error","message":"start failed, exiting","error":"not valid"}\n',
            ),
          ],
        }),
        pod({ name: 'chat-2', failed: [failed('')] }),
      ]),
    }),
    'sidecar-failing',
    'container platform-sidecar of pod chat-1 in team (and of 1 more pods) ended with exit code 1: first; /manifest/agent.yaml:1:1 wrong; start failed, exiting: not valid',
    'kubectl logs chat-1 -n team -c platform-sidecar --previous',
  ],
  [
    'a sidecar that was killed',
    installed({ pods: known([pod({ failed: [failed('OOMKilled', 137)] })]) }),
    'sidecar-failing',
    'ended with exit code 137: OOMKilled',
    'kubectl logs',
  ],
  [
    'pods that are rejected',
    installed({ workloads: known([workload({ refused: known('violates PodSecurity') })]) }),
    'workload-refused',
    'violates PodSecurity',
    'kubectl describe deployment chat -n team',
  ],
  [
    'pods of a Job that are rejected',
    installed({
      workloads: known([workload({ kind: 'Job', refused: known('exceeded quota') })]),
    }),
    'workload-refused',
    'Job chat in team: its pods are rejected: exceeded quota',
    'kubectl describe job chat -n team',
  ],
  [
    'an excluded namespace',
    installed({
      injector: known({ name: 'w', hasCa: true, excluded: ['team'] }),
      workloads: known([workload()]),
    }),
    'namespace-excluded',
    'excluded from injection',
    'excludedNamespaces',
  ],
  [
    'a pod from before the installation',
    withPod({ hasSidecar: false, injected: null }),
    'pod-without-sidecar',
    'pod chat-1 in team opts in but runs without a sidecar',
    'kubectl rollout restart deployment chat -n team',
  ],
  [
    'a bare pod from before the installation',
    withPod({ hasSidecar: false, injected: null, owner: null }),
    'pod-without-sidecar',
    'without a sidecar',
    'kubectl delete pod chat-1 -n team, and create it again',
  ],
  [
    'a pod whose owner has an invalid name',
    withPod({ hasSidecar: false, injected: null, owner: { kind: 'Deployment', name: 'x; rm -rf ~' } }),
    'pod-without-sidecar',
    'without a sidecar',
    'kubectl delete pod chat-1 -n team',
  ],
  [
    'a pod with lanes that no network policy encloses',
    withPod({ hasEgressLane: true }),
    'agent-not-enforced',
    'pod chat-1 in team has egress lanes, but no network policy enforces where it connects to',
    'platform generate-egress agent.yaml -n team | kubectl apply -f -',
  ],
  [
    'an egress policy for an agent without pods',
    installed({ workloads: known([]), fences: known([fence('platform.io/agent-name')]) }),
    'egress-policy-unused',
    'NetworkPolicy chat-egress in team is for the agent chat, but selects no pod',
    'platform generate-egress agent.yaml -n team | kubectl apply -f -',
  ],
  [
    'an egress policy of an earlier version for the pods of platform generate',
    installed({
      workloads: known([]),
      pods: known([pod({ optedIn: false, labels: { 'platform.io/agent-name': 'chat' } })]),
      fences: known([fence('platform.io/agent')]),
    }),
    'egress-policy-unused',
    'selects no pod',
    'platform generate-egress agent.yaml -n team',
  ],
  [
    'an egress policy for pods that were injected by an earlier version',
    installed({
      pods: known([pod({ labels: { 'platform.io/agent': 'chat' } })]),
      fences: known([fence('platform.io/agent-name')]),
    }),
    'egress-policy-unused',
    'selects no pod',
    'kubectl rollout restart deployment chat -n team',
  ],
  [
    'a pod with an older version',
    withPod({ injected: { version: '0.9', config: 'c' } }),
    'pod-outdated',
    'version 0.9, but the injector has version 1.0',
    'rollout restart',
  ],
  [
    'a pod with other settings',
    withPod({ injected: { version: '1.0', config: 'old' } }),
    'pod-outdated',
    'settings',
    'rollout restart',
  ],
  [
    'a silent agent',
    observed('Reporting', 'False', 'Stale', 'no heartbeat since noon'),
    'agent-silent',
    'no heartbeat since noon',
    'describe agentobservation chat -n team',
  ],
  [
    'an agent that never reported',
    observed('Reporting', 'False', 'NeverReported', 'since noon'),
    'agent-never-reported',
    'since noon',
    'describe agentobservation chat -n team',
  ],
  [
    'a Service that bypasses the sidecar',
    observed('Routed', 'False', 'ServiceBypassesSidecar', 'Service front port 80'),
    'agent-bypassed',
    'Service front',
    'describe',
  ],
  [
    'a process on a port of the sidecar',
    observed('Routed', 'False', 'PortTaken', 'the sidecar of pod x-1'),
    'agent-port-taken',
    'the sidecar of pod x-1',
    'describe',
  ],
  [
    'two workloads with the same agent name',
    observed('Conflict', 'True', 'NameClaimedTwice', 'claimed twice'),
    'agent-conflict',
    'claimed twice',
    'describe',
  ],
  [
    'an agent with little evidence',
    observed('Compliant', 'Unknown', 'NotShown', 'never shown: tool search'),
    'agent-not-shown',
    'never shown: tool search',
    'describe agentobservation chat -n team',
  ],
  [
    'rules that are not loaded',
    observed('PolicyLoaded', 'False', 'PolicyNotLoaded', 'without rules'),
    'agent-policy-not-loaded',
    'without rules',
    'describe',
  ],
];

describe('platform check finds', () => {
  test.each(FOUND)('%s', (...[, input, code, message, hint]) => {
    const found = reportOf(input).findings.filter((each) => each.code === code);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({
      status: 'found',
      docs: `docs/reference/checks.md#${code}`,
      message: expect.stringContaining(message),
      hint: expect.stringContaining(hint),
    });
    expect(reportOf(input).passed).not.toContain(code);
  });

  test('no problems in a valid installation, and lists the passed checks', () => {
    expect(reportOf(installed())).toEqual({
      version: 1,
      server: 'https://cluster',
      kubernetes: 'v1.36.4',
      release: { name: 'agent-compliance', namespace: 'platform-system', versions: ['1.0'] },
      findings: [],
      passed: expect.arrayContaining([
        'kubernetes-version',
        'release-missing',
        'guard-missing',
        'agent-silent',
      ]),
    });
    expect(reportOf(pre()).findings).toEqual([]);
  });

  test('a problem for every code', () => {
    const codes = CHECK_GROUPS.flatMap(({ rules }) => rules).map(({ code }) => code);
    expect([...new Set(FOUND.map(([, , code]) => code))].sort()).toEqual([...codes].sort());
    expect(new Set(codes).size).toBe(codes.length);
  });

  test.each<[string, Partial<InstalledFacts>]>([
    ['an agent between two runs', { observations: known([observation('Reporting', 'False', 'Idle', '')]) }],
    [
      'an agent that is scaled to zero',
      { observations: known([observation('Reporting', 'False', 'ScaledToZero', '')]) },
    ],
    [
      'an agent that waits for its first heartbeat',
      {
        observations: known([observation('Reporting', 'Unknown', 'AwaitingFirstHeartbeat', '')]),
      },
    ],
    ['the present manifest', { observations: known([reporting('a'.repeat(64))]) }],
    [
      'a manifest that changed a moment ago',
      {
        observations: known([reporting('b'.repeat(64))]),
        workloads: configMap(
          manifestThere(undefined, {
            changedAt: new Date('2026-01-31T23:56:01Z'),
          }),
        ),
      },
    ],
    [
      'another manifest of the other workload with the agent name',
      {
        observations: known([
          reporting('b'.repeat(64), {
            agentRef: { apiVersion: 'v1', kind: 'Pod', name: 'chat' },
          }),
        ]),
      },
    ],
    [
      'a registered agent in another namespace',
      {
        workloads: known([workload({ namespace: 'a' })]),
        observations: remote(),
      },
    ],
    [
      'a registered agent with another name',
      {
        workloads: known([workload({ agentName: 'a' })]),
        observations: remote(),
      },
    ],
    [
      'an annotation in an excluded namespace',
      {
        injector: known({ name: 'w', hasCa: true, excluded: ['team'] }),
        mistakes: mistake('platform.io/inject'),
      },
    ],
    ['a sidecar whose port is taken', { pods: known([pod({ failed: [failed('', 98)] })]) }],
    ['an image of a foreign pod', { pods: known([pod({ optedIn: false, waiting: [image] })]) }],
    [
      'a certificate that is renewed in time',
      { certificates: known([{ what: 'x', notAfter: new Date('2026-03-01'), lateDays: 14 }]) },
    ],
    ['a release that Helm did not install', { helm: known(null) }],
    [
      'a pod that opts in in an excluded namespace',
      {
        injector: known({ name: 'w', hasCa: true, excluded: ['team'] }),
        pods: known([pod({ hasSidecar: false, injected: null })]),
      },
    ],
    [
      'an invalid pod with a guard that only warns',
      {
        guard: known({ name: 'g', hasPolicy: true, bindings: [['Warn', 'Audit']] }),
        wrongTrial: known({ outcome: 'admitted' }),
      },
    ],
  ])('no error in %s', (_what, change) => {
    expect(reportOf(installed(change)).findings.filter(({ severity }) => severity === 'error')).toEqual([]);
  });

  test('a sidecar that fails because of an invalid manifest only once', () => {
    const pods = known([pod({ failed: [failed('not valid')] })]);
    const { findings } = reportOf(installed({ pods, workloads: configMap(manifestThere(WRONG)) }));
    expect(findings.map(({ code }) => code)).toEqual(['manifest-invalid']);
  });

  test('an invalid manifest instead of its difference from what the pod runs', () => {
    const observations = known([reporting('b'.repeat(64))]);
    const { findings } = reportOf(installed({ observations, workloads: configMap(manifestThere(WRONG)) }));
    expect(findings.map(({ code }) => code)).toEqual(['manifest-invalid']);
  });

  test('no outdated sidecar in a pod with a manually added sidecar', () => {
    const manual = pod({ optedIn: false, injected: { version: '0.9', config: 'c' } });
    expect(reportOf(installed({ pods: known([manual]) })).passed).toContain('pod-outdated');
  });

  test('errors first, then unknown results, then warnings', () => {
    const { findings } = reportOf(
      installed({
        observations: known([observation('Routed', 'False', '', 'past')]),
        lease: notKnown('missing permission: get leases in platform-system'),
        definition: known(null),
      }),
    );
    expect(findings.map(({ code, status }) => [code, status])).toEqual([
      ['definition-missing', 'found'],
      ['leader-missing', 'unknown'],
      ['agent-bypassed', 'found'],
    ]);
  });
});

describe('an unknown fact', () => {
  const facts = installedFacts();
  const keys = (Object.keys(facts) as (keyof InstalledFacts)[]).filter(
    (key) => 'known' in Object(facts[key]),
  );

  test.each(keys)('%s passes no check that needs it', (key) => {
    const { findings, passed } = reportOf(installed({ [key]: notKnown('missing permission') }));
    const unknown = findings.filter(({ status }) => status === 'unknown');
    expect(unknown.length).toBeGreaterThan(0);
    for (const finding of unknown) {
      expect(finding).toMatchObject({ subject: '', message: 'missing permission' });
      expect(passed).not.toContain(finding.code);
    }
  });

  test.each<[string, keyof InstalledFacts]>([
    ['pod-outdated', 'pods'],
    ['pod-outdated', 'trial'],
    ['namespace-excluded', 'workloads'],
    ['namespace-excluded', 'injector'],
    ['guard-missing', 'guard'],
    ['manifest-invalid', 'workloads'],
    ['manifest-stale', 'workloads'],
    ['manifest-stale', 'observations'],
    ['agent-hidden', 'observations'],
    ['annotation-ignored', 'mistakes'],
  ])('makes %s unknown: %s', (code, key) => {
    const { findings } = reportOf(installed({ [key]: notKnown('missing permission') }));
    expect(findings.filter((each) => each.code === code).map(({ status }) => status)).toEqual(['unknown']);
  });

  test('is whether the pods of a workload are rejected, if Events cannot be read', () => {
    const workloads = known([workload({ refused: notKnown('missing permission: list events') })]);
    expect(reportOf(installed({ workloads })).findings).toMatchObject([
      {
        code: 'workload-refused',
        status: 'unknown',
        message: 'missing permission: list events',
      },
    ]);
  });

  test('is the guard if another component rejects the invalid pod', () => {
    const wrongTrial = known({ ...rejection, by: 'other' as const, message: 'exceeded quota: team' });
    const { findings, passed } = reportOf(installed({ wrongTrial }));
    expect(findings).toMatchObject([
      { code: 'guard-ineffective', status: 'unknown', message: expect.stringContaining('exceeded quota') },
    ]);
    expect(passed).not.toContain('guard-ineffective');
  });

  test('counts with the severity of its check', () => {
    const of = (change: Partial<InstalledFacts>) => reportOf(installed(change)).findings;
    expect(fails(of({ lease: notKnown('x') }), 'error')).toBe(true);
    expect(fails(of({ observations: known([observation('Routed', 'False', '', '')]) }), 'error')).toBe(false);
    expect(fails(of({ observations: known([observation('Routed', 'False', '', '')]) }), 'warning')).toBe(
      true,
    );
  });
});

describe('the Kubernetes version', () => {
  test.each([
    ['v1.33.0', true],
    ['v1.33.0-alpha.1', true],
    ['v1.36.4+k3s1', true],
    ['1.34', true],
    ['v1.32.99', false],
    ['v1.9.0', false],
    ['v2.0.0', false],
    ['', false],
  ])('%s: supported is %s', (version, isSupported) => {
    const { passed } = reportOf(pre({ version: known(version) }));
    expect(passed.includes('kubernetes-version')).toBe(isSupported);
  });
});

test.each<[string, Partial<InstalledFacts>]>([
  ['selects an injected pod', { pods: known([pod({ labels: { 'platform.io/agent-name': 'chat' } })]) }],
  ['is for a workload that has no pod now', { pods: known([]) }],
  [
    'is not for an agent',
    { fences: known([{ ...fence('x'), selector: { matchLabels: { app: 'y' }, matchExpressions: [] } }]) },
  ],
])('an egress policy that %s is not reported', (_what, change) => {
  const { findings } = reportOf(installed({ fences: known([fence('platform.io/agent-name')]), ...change }));
  expect(findings.map(({ code }) => code)).not.toContain('egress-policy-unused');
});
