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
  ['with an empty label', podOf({ labels: { 'platform.io/agent': '' } }), null],
  ['with an invalid label', podOf({ labels: { 'platform.io/agent': 'Not_A_Label' } }), null],
  ['without label and annotations', podOf({}), null],
  ['that opts out', podOf({ annotations: { 'platform.io/inject': 'false' } }), null],
  ['that opts in', podOf({ annotations: OPTED }), agent('team/p')],
  [
    'that opts in with a rejected value',
    podOf({ annotations: { 'platform.io/inject': 'yes' } }),
    agent('team/p'),
  ],
  [
    'of a Deployment',
    podOf({ annotations: OPTED, labels: { 'pod-template-hash': '5d9f' }, ownerReferences: [replicaSet] }),
    agent('team/web'),
  ],
  [
    'with an agent name',
    podOf({ annotations: { ...OPTED, 'platform.io/agent-name': 'bot' }, ownerReferences: [replicaSet] }),
    agent('team/bot'),
  ],
  [
    'with an invalid agent name',
    podOf({ annotations: { ...OPTED, 'platform.io/agent-name': 'Bot!' } }),
    skipped('agent-name-invalid'),
  ],
  ['without any name', podOf({ name: '', annotations: OPTED }), skipped('agent-name-unknown')],
  ['in kube-system', podOf({ namespace: 'kube-system', annotations: OPTED }), skipped('namespace-excluded')],
  [
    'in the namespace of the product',
    podOf({ namespace: 'system', annotations: OPTED }),
    skipped('namespace-excluded'),
  ],
  [
    'that mirrors a static pod',
    podOf({ annotations: { ...OPTED, 'kubernetes.io/config.mirror': 'm' }, ownerReferences: [node] }),
    skipped('mirror-pod'),
  ],
];

describe('a pod', () => {
  test.each(CASES)('%s', (_, pod, expected) => {
    expect(claimOf(pod, EXCLUDED)).toEqual(expected);
  });

  test('has a case for every reason why it is skipped', () => {
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
    ['should have the sidecar', podOf({ annotations: OPTED }), true],
    ['neither has the sidecar nor opts in', podOf({ labels: { 'platform.io/agent': 'x' } }), false],
    ['opts in, in an excluded namespace', podOf({ namespace: 'system', annotations: OPTED }), false],
  ])('that %s makes its workload an agent or not', (_, pod, expected) => {
    expect(makesAgent(pod, EXCLUDED)).toBe(expected);
  });
});
