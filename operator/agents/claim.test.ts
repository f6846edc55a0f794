import { describe, expect, test } from '@jest/globals';
import type { Pod } from '../../kube/types.ts';
import { claimOf, makesAgent, SKIPPED_POD_SUMMARIES, type Claim } from './claim.ts';

const EXCLUDED = ['kube-system', 'system'];
const OPTED = { 'platform.io/inject': 'true' };
const replicaSet = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  name: 'web-5d9f',
  uid: 'r',
  controller: true,
};
const node = { apiVersion: 'v1', kind: 'Node', name: 'node-1', uid: 'n', controller: true };

const podOf = (metadata: Partial<Pod['metadata']>): Pod => ({
  metadata: { name: 'p', namespace: 'team', ...metadata },
});
const agent = (key: string): Claim => ({ kind: 'agent', key });
const skipped = (code: keyof typeof SKIPPED_POD_SUMMARIES): Claim => ({ kind: 'skipped', code });

const CASES: [string, Pod, Claim][] = [
  ['with the label', podOf({ labels: { 'platform.io/agent': 'x' } }), agent('team/x')],
  ['with a label that is empty', podOf({ labels: { 'platform.io/agent': '' } }), null],
  ['with a label that is no name', podOf({ labels: { 'platform.io/agent': 'Not_A_Label' } }), null],
  ['without a word', podOf({}), null],
  ['that opts out', podOf({ annotations: { 'platform.io/inject': 'false' } }), null],
  ['that opts in', podOf({ annotations: OPTED }), agent('team/p')],
  [
    'that opts in with a value that is refused',
    podOf({ annotations: { 'platform.io/inject': 'yes' } }),
    agent('team/p'),
  ],
  [
    'of a Deployment',
    podOf({ annotations: OPTED, labels: { 'pod-template-hash': '5d9f' }, ownerReferences: [replicaSet] }),
    agent('team/web'),
  ],
  [
    'that says its name',
    podOf({ annotations: { ...OPTED, 'platform.io/agent-name': 'bot' }, ownerReferences: [replicaSet] }),
    agent('team/bot'),
  ],
  [
    'that says a name which no agent can have',
    podOf({ annotations: { ...OPTED, 'platform.io/agent-name': 'Bot!' } }),
    skipped('agent-name-invalid'),
  ],
  ['without any name', podOf({ name: '', annotations: OPTED }), skipped('agent-name-unknown')],
  [
    'of the cluster itself',
    podOf({ namespace: 'kube-system', annotations: OPTED }),
    skipped('namespace-excluded'),
  ],
  ['of the product', podOf({ namespace: 'system', annotations: OPTED }), skipped('namespace-excluded')],
  [
    'that a node mirrors',
    podOf({ annotations: { ...OPTED, 'kubernetes.io/config.mirror': 'm' }, ownerReferences: [node] }),
    skipped('mirror-pod'),
  ],
];

describe('a pod', () => {
  test.each(CASES)('%s', (_, pod, expected) => {
    expect(claimOf(pod, EXCLUDED)).toEqual(expected);
  });

  test('has a case for every reason why it is not seen', () => {
    const codes = CASES.flatMap(([, , claim]) => (claim?.kind === 'skipped' ? [claim.code] : []));
    expect([...new Set(codes)].sort()).toEqual([
      'agent-name-invalid',
      'agent-name-unknown',
      'mirror-pod',
      'namespace-excluded',
    ]);
    expect(codes.every((code) => code in SKIPPED_POD_SUMMARIES)).toBe(true);
  });

  const sidecar = { containers: [], initContainers: [{ name: 'platform-sidecar', restartPolicy: 'Always' }] };
  test.each<[string, Pod, boolean]>([
    ['has the sidecar', { ...podOf({ namespace: 'kube-system' }), spec: sidecar }, true],
    ['should have it', podOf({ annotations: OPTED }), true],
    ['has neither it nor the wish', podOf({ labels: { 'platform.io/agent': 'x' } }), false],
    ['wishes for it where there is none', podOf({ namespace: 'system', annotations: OPTED }), false],
  ])('makes its workload an agent or not: it %s', (_, pod, expected) => {
    expect(makesAgent(pod, EXCLUDED)).toBe(expected);
  });
});
