import { expect, test } from '@jest/globals';
import {
  complaints,
  unrest,
  worldOf,
  type ListedObservation,
  type World,
  type WorldItem,
} from './cluster-snapshot.ts';

const OPTED_IN = { 'platform.io/inject': 'true' };

type Plain = Record<string, unknown>;

function workload(name: string, replicas: number, annotations: Plain = OPTED_IN): WorldItem {
  const status = { observedGeneration: 1, replicas, updatedReplicas: replicas, readyReplicas: replicas };
  return {
    kind: 'Deployment',
    metadata: { name, uid: `of-${name}`, generation: 1 },
    spec: { replicas, template: { metadata: { annotations } } },
    status,
  } as WorldItem;
}

function pod(app: string, suffix: string, containerPort = 4000): WorldItem {
  return {
    kind: 'Pod',
    metadata: {
      name: `${app}-${suffix}`,
      uid: `uid-${app}-${suffix}`,
      labels: { app },
      annotations: OPTED_IN,
    },
    spec: {
      containers: [{}],
      initContainers: [{ name: 'platform-sidecar', ports: [{ name: 'http', containerPort }] }],
    },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  };
}

const service = (app: string, targetPort: string | number): WorldItem => ({
  kind: 'Service',
  metadata: { name: app, uid: `svc-${app}` },
  spec: { selector: { app }, ports: [{ targetPort }] },
});

function observation(
  name: string,
  pods: readonly string[],
  status: Plain = {},
  ownerName = name,
): ListedObservation {
  const verdicts = {
    Injected: 'True SidecarPresent',
    Routed: 'True ThroughSidecar',
    Conflict: 'False OneWorkload',
    Reporting: pods.length > 0 ? 'True HeartbeatReceived' : 'False ScaledToZero',
    ...(status['verdicts'] as Plain | undefined),
  };
  return {
    kind: 'AgentObservation',
    metadata: {
      name,
      uid: `ao-${name}`,
      ownerReferences: [{ kind: 'Deployment', name: ownerName, uid: `of-${ownerName}` }],
    },
    spec: { source: 'sidecar', agentRef: { kind: 'Deployment', name: ownerName } },
    status: {
      phase: pods.length > 0 ? 'Healthy' : 'Pending',
      instances: pods.map((each) => ({ name: each, uid: `uid-${each}` })),
      instanceCount: pods.length,
      conditions: Object.entries(verdicts).map(([type, verdict]) => {
        const [status = '', reason = ''] = verdict.split(' ');
        return { type, status, reason };
      }),
      ...status,
    },
  };
}

const RUNNING = [workload('shop', 2), pod('shop', 'a'), pod('shop', 'b'), service('shop', 'http')];
const BOTH = ['shop-a', 'shop-b'];
const world = (...items: WorldItem[]): World => worldOf(items);

test('reports nothing if the observations match the cluster', () => {
  const quiet = world(
    ...RUNNING,
    observation('shop', BOTH),
    workload('rest', 0),
    observation('rest', []),
    workload('plain', 1, {}),
  );
  expect(unrest(quiet)).toEqual([]);
  expect(complaints(quiet)).toEqual([]);
});

test.each<[string, World, string]>([
  ['no observation', world(...RUNNING), 'shop: no observation'],
  [
    'an observation of a deleted workload',
    world(observation('shop', [])),
    'shop: left over from Deployment shop',
  ],
  [
    'a missing instance',
    world(...RUNNING, observation('shop', ['shop-a'])),
    'shop: instances shop-a uid-shop-a, not shop-a uid-shop-a,shop-b uid-shop-b',
  ],
  [
    'an instance of a previous pod',
    world(...RUNNING, observation('shop', ['shop-a', 'shop-z'])),
    'shop: instances shop-a uid-shop-a,shop-z uid-shop-z, not shop-a uid-shop-a,shop-b uid-shop-b',
  ],
  [
    'outdated drift',
    world(...RUNNING, observation('shop', BOTH, { drift: ['x'] })),
    'shop: drift x, not undefined',
  ],
  [
    'a wrong Injected condition',
    world(...RUNNING, observation('shop', BOTH, { verdicts: { Injected: 'False SidecarMissing' } })),
    'shop: Injected False SidecarMissing, not True SidecarPresent',
  ],
  [
    'a Service that bypasses the sidecar',
    world(...RUNNING, { ...service('shop', 8000) }, observation('shop', BOTH)),
    'shop: Routed True ThroughSidecar, not False ServiceBypassesSidecar',
  ],
  [
    'no Service',
    world(...RUNNING.slice(0, 3), observation('shop', BOTH)),
    'shop: Routed True ThroughSidecar, not Unknown NoService',
  ],
  [
    'silence',
    world(...RUNNING, observation('shop', BOTH, { verdicts: { Reporting: 'False Stale' } })),
    'shop: Reporting False Stale, not True HeartbeatReceived',
  ],
  [
    'the name of another agent of a workload with zero replicas',
    world(workload('rest', 0, { ...OPTED_IN, 'platform.io/agent-name': 'other' }), observation('rest', [])),
    'rest: the name of its workload rest, not other',
  ],
  [
    'a workload that no longer opts in',
    world(workload('rest', 0, {}), observation('rest', [])),
    'rest: opts in false, not true',
  ],
])('reports %s', (_, seen, complaint) => {
  expect(complaints(seen)).toContain(complaint);
});

test('two workloads with the same agent name are a conflict, and either may own the observation', () => {
  const renamed = [
    workload('chat', 1, { ...OPTED_IN, 'platform.io/agent-name': 'shop' }),
    pod('chat', 'c'),
    service('chat', 'http'),
  ];
  const verdicts = { Conflict: 'True NameClaimedTwice' };
  const all = ['chat-c', ...BOTH];
  for (const owner of ['shop', 'chat'])
    expect(complaints(world(...RUNNING, ...renamed, observation('shop', all, { verdicts }, owner)))).toEqual(
      [],
    );
  expect(complaints(world(...RUNNING, ...renamed, observation('shop', all)))).toEqual([
    'shop: Conflict False OneWorkload, not True NameClaimedTwice',
  ]);
});

test.each<[string, WorldItem[]]>([
  [
    'a pod that is missing',
    [{ ...workload('shop', 2), status: { observedGeneration: 1, replicas: 1 } } as WorldItem],
  ],
  ['a change that no controller has processed', [{ ...workload('shop', 0), status: {} } as WorldItem]],
  ['a pod of a deleted workload', [pod('shop', 'a')]],
])('%s is unsettled', (_, items) => {
  expect(unrest(world(...items)).length).toBeGreaterThan(0);
});

test('terminating pods and pods that are not ready are unsettled', () => {
  const [shop, first] = [workload('shop', 1), pod('shop', 'a')];
  const going = { ...first, metadata: { ...first.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
  const unready = {
    ...first,
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] },
  };
  expect(unrest(world(shop, going as WorldItem))).toEqual(['Pod shop-a is going']);
  expect(unrest(world(shop, unready as WorldItem))).toEqual(['Pod shop-a is Running, ready False']);
});
