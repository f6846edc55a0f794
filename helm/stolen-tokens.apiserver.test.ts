// What the token of each part's ServiceAccount can do at a real API server with the chart's roles and policies, as
// docs/guide/operations.md describes it: a table of requests that are allowed and of attacks that are rejected.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { dirname } from 'node:path';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import type { KubeClient, KubeResponse, KubeRequest } from '../kube/client.ts';
import { ApiCluster, patchOf as patch, rejectionIn } from '../testing/cluster/api-cluster.ts';
import { render, RELEASE_NAMESPACE } from '../testing/cluster/rendered-chart.ts';
import { until } from '../testing/time/until.ts';

// Much longer than the tests need.
jest.setTimeout(300_000);

const APPS = '/apis/apps/v1/namespaces';
const BATCH = '/apis/batch/v1/namespaces';
const CONFIGURATION = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/agent-compliance';
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const SET_IN = (namespace: string) => `${APPS}/${namespace}/replicasets/x`;
/** Kinds of the chart that need a node and are not installed here. */
const WITHOUT = ['Deployment', 'Pod', 'ConfigMap', 'PodDisruptionBudget'];
const TIME = '2026-03-01T10:00:00.000Z';
const BY_ROLE = 'cannot';
const ONLY_ANNOTATION = 'the operator may change only the annotation platform.io/retry of a workload';
const ONLY_BUNDLE = 'the webhook may change only clientConfig.caBundle of its configurations';

const retry = { metadata: { annotations: { 'platform.io/retry': TIME } } };
const get = (path: string): KubeRequest => ({ method: 'GET', path });
const post = (path: string, body: unknown): KubeRequest => ({ method: 'POST', path, body });
const remove = (path: string): KubeRequest => ({ method: 'DELETE', path });
const accounts = `/api/v1/namespaces/${RELEASE_NAMESPACE}/serviceaccounts`;
/** A patch of a ReplicaSet of `team` with the annotation for a retry, and with these changes. */
const withRetry = (metadata: object): KubeRequest =>
  patch(SET_IN('team'), { metadata: { ...retry.metadata, ...metadata } });
const withAnnotation = (annotations: object): KubeRequest =>
  withRetry({ annotations: { ...retry.metadata.annotations, ...annotations } });
/** A patch of the webhook's configuration. */
const configure = (...operations: object[]): KubeRequest => patch(CONFIGURATION, operations, 'json');
const bundle = { op: 'add', path: '/webhooks/0/clientConfig/caBundle', value: '' };
const change = (path: string, value: unknown, op = 'add') =>
  configure(bundle, { op, path: path === '' ? '/webhooks' : path, value });

type Row = [what: string, request: KubeRequest];
type Attack = [what: string, request: KubeRequest, message: string];

const OPERATOR_MAY: Row[] = [
  ...['replicasets', 'statefulsets', 'daemonsets'].map((plural): Row => [
    `annotates one of the ${plural} for a retry`,
    patch(`${APPS}/team/${plural}/x`, retry),
  ]),
  ['annotates a Job for a retry', patch(`${BATCH}/team/jobs/x`, retry)],
  ['reads pods in every namespace', get('/api/v1/namespaces/kube-system/pods')],
  [
    'writes an AgentObservation in any namespace',
    post('/apis/platform.io/v1/namespaces/kube-system/agentobservations', {
      apiVersion: 'platform.io/v1',
      kind: 'AgentObservation',
      metadata: { name: 'x' },
      spec: { source: 'remote' },
    }),
  ],
  ['requests a token of the canary', post(`${accounts}/agent-compliance-canary/token`, { spec: {} })],
];

const container = (image: string) => ({ name: 'agent', image });
const template = (spec: object) => ({ spec: { template: { spec } } });
const OPERATOR_MAY_NOT: Attack[] = [
  ...['replicasets', 'statefulsets', 'daemonsets'].map((plural): Attack => [
    `changes the image in one of the ${plural}`,
    patch(
      `${APPS}/team/${plural}/x`,
      { ...retry, ...template({ containers: [container('evil')] }) },
      'strategic-merge',
    ),
    ONLY_ANNOTATION,
  ]),
  [
    'mounts the node into a ReplicaSet',
    patch(
      SET_IN('team'),
      { ...retry, ...template({ volumes: [{ name: 'node', hostPath: { path: '/' } }] }) },
      'strategic-merge',
    ),
    ONLY_ANNOTATION,
  ],
  ['scales a ReplicaSet', patch(SET_IN('team'), { ...retry, spec: { replicas: 9 } }), ONLY_ANNOTATION],
  ['suspends a Job', patch(`${BATCH}/team/jobs/x`, { ...retry, spec: { suspend: true } }), ONLY_ANNOTATION],
  ...['kube-system', RELEASE_NAMESPACE, 'legacy'].map((namespace): Attack => [
    `annotates in ${namespace}`,
    patch(SET_IN(namespace), retry),
    `the operator must not change workloads in namespace ${namespace}`,
  ]),
  ['adds another annotation', withAnnotation({ other: 'x' }), ONLY_ANNOTATION],
  ['changes another annotation', withAnnotation({ kept: 'y' }), ONLY_ANNOTATION],
  ['removes another annotation', withAnnotation({ kept: null }), ONLY_ANNOTATION],
  [
    'writes a text that is not a time',
    patch(SET_IN('team'), { metadata: { annotations: { 'platform.io/retry': 'x'.repeat(99) } } }),
    ONLY_ANNOTATION,
  ],
  ['labels a ReplicaSet', withRetry({ labels: { app: 'other' } }), ONLY_ANNOTATION],
  [
    'triggers garbage collection of a ReplicaSet by an absent owner',
    withRetry({
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'gone', uid: 'gone' }],
    }),
    ONLY_ANNOTATION,
  ],
  ['blocks the deletion of a ReplicaSet', withRetry({ finalizers: ['example.com/never'] }), ONLY_ANNOTATION],
  ['changes a Deployment', patch(`${APPS}/team/deployments/x`, retry), BY_ROLE],
  ['scales through the subresource', patch(`${SET_IN('team')}/scale`, { spec: { replicas: 9 } }), BY_ROLE],
  ['reads a Secret', get('/api/v1/namespaces/team/secrets/x'), BY_ROLE],
  [
    'changes its policy',
    patch(`${ADMISSION}/validatingadmissionpolicies/agent-compliance-operator-permissions`, {
      spec: { failurePolicy: 'Ignore' },
    }),
    BY_ROLE,
  ],
  [
    'removes its binding',
    remove(`${ADMISSION}/validatingadmissionpolicybindings/agent-compliance-operator-permissions`),
    BY_ROLE,
  ],
  [
    'requests a token of another ServiceAccount',
    post(`${accounts}/agent-compliance-webhook/token`, { spec: {} }),
    BY_ROLE,
  ],
];

const WEBHOOK_MAY: Row[] = [
  ['reads a ReplicaSet of the release', get(`${APPS}/${RELEASE_NAMESPACE}/replicasets/x`)],
  ['sets the caBundle', configure({ ...bundle, value: Buffer.from('x').toString('base64') })],
  ['clears the caBundle', configure(bundle)],
  [
    'reads its certificates',
    get(`/api/v1/namespaces/${RELEASE_NAMESPACE}/secrets/agent-compliance-webhook-tls`),
  ],
];

const POD_RULE = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] };
const WEBHOOK_MAY_NOT: Attack[] = [
  [
    'extends the webhook to Secrets',
    change('/webhooks/0/rules/-', { ...POD_RULE, resources: ['secrets'] }),
    ONLY_BUNDLE,
  ],
  ['extends the webhook to updates', change('/webhooks/0/rules/0/operations/-', 'UPDATE'), ONLY_BUNDLE],
  [
    'extends the webhook to every namespace',
    change('/webhooks/0/namespaceSelector', {}, 'replace'),
    ONLY_BUNDLE,
  ],
  ['extends the webhook to every pod', change('/webhooks/0/matchConditions', [], 'replace'), ONLY_BUNDLE],
  ['makes webhook failures block pods', change('/webhooks/0/failurePolicy', 'Fail', 'replace'), ONLY_BUNDLE],
  ['sets an object selector', change('/webhooks/0/objectSelector', { matchLabels: { a: 'b' } }), ONLY_BUNDLE],
  [
    'sends reviews to another port',
    change('/webhooks/0/clientConfig/service/port', 444, 'replace'),
    ONLY_BUNDLE,
  ],
  [
    'sends reviews to another Service',
    change('/webhooks/0/clientConfig/service/name', 'other', 'replace'),
    ONLY_BUNDLE,
  ],
  [
    'sends reviews out of the cluster',
    change('/webhooks/0/clientConfig', { url: 'https://example.com/x' }, 'replace'),
    ONLY_BUNDLE,
  ],
  [
    'adds a second webhook',
    configure(
      { op: 'copy', from: '/webhooks/0', path: '/webhooks/1' },
      { op: 'replace', path: '/webhooks/1/name', value: 'b.platform.io' },
    ),
    ONLY_BUNDLE,
  ],
  ['removes the webhook', configure({ op: 'remove', path: '/webhooks/0' }), ONLY_BUNDLE],
  ['renames the webhook', change('/webhooks/0/name', 'other.platform.io', 'replace'), ONLY_BUNDLE],
  ['labels its configuration', change('/metadata/labels/x', 'y'), ONLY_BUNDLE],
  ['annotates its configuration', change('/metadata/annotations', { x: 'y' }), ONLY_BUNDLE],
  [
    'triggers garbage collection of its configuration',
    change('/metadata/ownerReferences', [{ apiVersion: 'v1', kind: 'Namespace', name: 'gone', uid: 'gone' }]),
    ONLY_BUNDLE,
  ],
  ['deletes its configuration', remove(CONFIGURATION), BY_ROLE],
  ['creates another configuration', post(dirname(CONFIGURATION), { metadata: { name: 'x' } }), BY_ROLE],
  [
    'changes the guard',
    patch(`${ADMISSION}/validatingadmissionpolicies/agent-compliance-guard`, { spec: { validations: [] } }),
    BY_ROLE,
  ],
  [
    'changes its own policy',
    patch(`${ADMISSION}/validatingadmissionpolicies/agent-compliance-webhook-permissions`, {
      spec: { failurePolicy: 'Ignore' },
    }),
    BY_ROLE,
  ],
  [
    'reads the admin key',
    get(`/api/v1/namespaces/${RELEASE_NAMESPACE}/secrets/agent-compliance-admin`),
    BY_ROLE,
  ],
  ['reads pods', get('/api/v1/namespaces/team/pods'), BY_ROLE],
  ['annotates a ReplicaSet for a retry', patch(SET_IN('team'), retry), BY_ROLE],
  ['reads a ReplicaSet of a team', get(SET_IN('team')), BY_ROLE],
];

const OBSERVATIONS = '/apis/platform.io/v1/namespaces';
const CONTROL_PLANE_MAY: Row[] = [
  ['reads a pod in any namespace', get('/api/v1/namespaces/team/pods/x')],
  ['lists the AgentObservations', get('/apis/platform.io/v1/agentobservations')],
  [
    'writes the status of any agent',
    patch(`${OBSERVATIONS}/team/agentobservations/x/status`, { status: { phase: 'Healthy' } }),
  ],
];
const CONTROL_PLANE_MAY_NOT: Attack[] = [
  ['lists pods', get('/api/v1/pods'), BY_ROLE],
  [
    "creates an agent in a team's namespace",
    post(`${OBSERVATIONS}/team/agentobservations`, { metadata: { name: 'y' }, spec: { source: 'remote' } }),
    BY_ROLE,
  ],
  ['deletes an agent of a team', remove(`${OBSERVATIONS}/team/agentobservations/x`), BY_ROLE],
  [
    'changes the metadata of an agent',
    patch(`${OBSERVATIONS}/team/agentobservations/x`, { metadata: { labels: { a: 'b' } } }),
    BY_ROLE,
  ],
  [
    'reads a Secret',
    get(`/api/v1/namespaces/${RELEASE_NAMESPACE}/secrets/agent-compliance-webhook-tls`),
    BY_ROLE,
  ],
  ['annotates a ReplicaSet for a retry', patch(SET_IN('team'), retry), BY_ROLE],
  ['changes the webhook', configure(bundle), BY_ROLE],
];

/** A pod that meets the restricted profile of the canary's namespace. */
const POD = {
  metadata: { name: 'x' },
  spec: {
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        ...container('agent'),
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
      },
    ],
  },
};
const CANARY_MAY: Row[] = [
  ['creates a dry-run pod in its namespace', post('/api/v1/namespaces/platform-canary/pods', POD)],
];
const CANARY_MAY_NOT: Attack[] = [
  [
    'creates a pod',
    { ...post('/api/v1/namespaces/platform-canary/pods', POD), query: {} },
    'only dry-run pods are allowed in this namespace',
  ],
  ['creates a dry-run pod in another namespace', post('/api/v1/namespaces/team/pods', POD), BY_ROLE],
];

const PARTS = {
  operator: { may: OPERATOR_MAY, mayNot: OPERATOR_MAY_NOT },
  webhook: { may: WEBHOOK_MAY, mayNot: WEBHOOK_MAY_NOT },
  'control-plane': { may: CONTROL_PLANE_MAY, mayNot: CONTROL_PLANE_MAY_NOT },
  canary: { may: CANARY_MAY, mayNot: CANARY_MAY_NOT },
};

(whyNoControlPlane() ? describe.skip : describe)('a stolen token', () => {
  let cluster: ApiCluster;
  const clients = new Map<string, KubeClient>();

  /** Sends a dry-run request, which is subject to the same roles and policies. */
  function send(part: string, request: KubeRequest): Promise<KubeResponse<unknown>> {
    const client = part === 'administrator' ? cluster.client : clients.get(part);
    if (!client) throw new Error(`no token of ${part}`);
    const query = request.method === 'GET' ? {} : { dryRun: 'All' };
    return client.send({ query, ...request });
  }

  beforeAll(async () => {
    cluster = await ApiCluster.start();
    await cluster.namespaces(RELEASE_NAMESPACE, 'platform-remote', 'platform-canary', 'team', 'legacy');
    await cluster.define('agentobservations', 'agentpolicies', 'agentstops');
    const objects = await render('webhook.excludedNamespaces={legacy}');
    await cluster.apply([
      ...objects.filter(({ kind }) => !WITHOUT.includes(kind)),
      ...['team', 'kube-system', RELEASE_NAMESPACE, 'legacy'].flatMap(workloads),
      {
        apiVersion: 'platform.io/v1',
        kind: 'AgentObservation',
        metadata: { name: 'x', namespace: 'team' },
        spec: { source: 'sidecar', agentRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' } },
      },
      { apiVersion: 'v1', kind: 'Pod', ...POD, metadata: { name: 'x', namespace: 'team' } },
    ]);
    for (const part of Object.keys(PARTS))
      clients.set(part, await cluster.clientOf(RELEASE_NAMESPACE, `agent-compliance-${part}`));
    // A policy becomes active about a second after its creation; by then the roles are active too.
    const last: [string, KubeRequest][] = [
      ['operator', patch(SET_IN('kube-system'), retry)],
      ['webhook', configure({ op: 'remove', path: '/webhooks/0' })],
    ];
    for (const [part, request] of last)
      await until(async () => !(await send(part, request)).ok, `the policy of the ${part}`);
  });
  afterAll(() => cluster?.close());

  describe.each(Object.entries(PARTS))('of the %s', (part, { may, mayNot }) => {
    test.each(may)('%s', async (_what, request) => {
      expect(rejectionIn(await send(part, request))).toBe('');
    });

    test.each(mayNot)('never %s', async (_what, request, message) => {
      const response = await send(part, request);
      expect(response).toMatchObject({ ok: false, status: 403, message: expect.stringContaining(message) });
    });
  });

  test('the policies do not restrict other users', async () => {
    const metadata = { annotations: { a: 'b' }, labels: { a: 'b' } };
    for (const path of [SET_IN('kube-system'), CONFIGURATION])
      expect(rejectionIn(await send('administrator', patch(path, { metadata })))).toBe('');
  });
});

function workloads(namespace: string): object[] {
  const metadata = { name: 'x', namespace, annotations: { kept: 'x' } };
  const selector = { matchLabels: { app: 'x' } };
  const pods = { metadata: { labels: { app: 'x' } }, spec: { containers: [container('agent')] } };
  const apps = (kind: string, spec: object = {}) => ({
    apiVersion: 'apps/v1',
    kind,
    metadata,
    spec: { selector, template: pods, ...spec },
  });
  return [
    apps('Deployment'),
    apps('ReplicaSet'),
    apps('StatefulSet', { serviceName: 'x' }),
    apps('DaemonSet'),
    {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata,
      spec: { template: { spec: { ...pods.spec, restartPolicy: 'Never' } } },
    },
  ];
}
