import { expect, test } from '@jest/globals';
import type { AgentObservation } from '../core/observation/observation.ts';
import { keepObservation, keepPodMetadata } from './kept-metadata.ts';
import { heapBytesOf } from './namespace-budget.ts';

const many = (count: number, value: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`example.com/${index}`, value]));
const owners = (count: number, name: string) =>
  Array.from({ length: count }, (_, index) => ({ apiVersion: 'v1', kind: 'Node', name, uid: String(index) }));

/** What a tenant can write into the metadata of an object. */
const hostile = {
  name: 'x',
  namespace: 'n',
  uid: 'u',
  resourceVersion: '1',
  labels: { ...many(8_000, 'v'.repeat(63)), 'platform.io/agent': 'x', 'pod-template-hash': 'h' },
  annotations: {
    ...many(1_000, 'v'),
    'platform.io/inject': 'y'.repeat(200_000),
    'platform.io/agent-name': 'y'.repeat(200_000),
    'platform.io/compliant-grade': 'y'.repeat(200_000),
    'platform.io/ca': 'PEM',
    'platform.io/mirrored-from': 'y'.repeat(200_000),
  },
  finalizers: Array.from({ length: 1_000 }, (_, index) => `example.com/${index}`),
  ownerReferences: owners(1_000, 'z'.repeat(1_000)),
  managedFields: [{ manager: 'm'.repeat(1_000) }],
};

test('the metadata of a pod is cached with a bounded size', () => {
  const kept = keepPodMetadata(hostile);
  expect(Object.keys(kept).sort()).toEqual(
    ['annotations', 'labels', 'name', 'namespace', 'ownerReferences', 'resourceVersion', 'uid'].sort(),
  );
  expect(Object.keys(kept.labels ?? {})).toHaveLength(100);
  expect(kept.labels).toMatchObject({ 'platform.io/agent': 'x', 'pod-template-hash': 'h' });
  // Neither a valid value nor a valid name, and it still opts in.
  const tooLong = '(too long)';
  expect(kept.annotations).toEqual({
    'platform.io/inject': tooLong,
    'platform.io/agent-name': tooLong,
    'platform.io/compliant-grade': tooLong,
    'platform.io/ca': 'PEM',
  });
  expect(kept.ownerReferences).toEqual([]);
  expect(heapBytesOf(kept)).toBeLessThan(30_000);
  // A CA that is too long is not a known CA.
  const annotations = { 'platform.io/ca': 'y'.repeat(200_000) };
  expect(keepPodMetadata({ ...hostile, annotations }).annotations).toEqual({ 'platform.io/ca': '' });
});

test('the controller of a pod is cached, with bounded texts', () => {
  const controller = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'x-1', uid: 'r', controller: true };
  const ownerReferences = [...owners(5, 'a'), { ...controller, blockOwnerDeletion: true }];
  expect(keepPodMetadata({ name: 'x', ownerReferences }).ownerReferences).toEqual([controller]);
  const long = [{ ...controller, name: 'x'.repeat(318) }];
  expect(keepPodMetadata({ name: 'x', ownerReferences: long }).ownerReferences?.[0]?.name).toBe('(too long)');
});

test('an observation is cached with its status and the metadata that the product reads', () => {
  const observation: AgentObservation = {
    apiVersion: 'platform.io/v1',
    kind: 'AgentObservation',
    metadata: { ...hostile, labels: { ...hostile.labels, 'platform.io/mirrored': 'true' }, generation: 3 },
    spec: { source: 'remote' },
    status: { phase: 'Healthy' },
  };
  const kept = keepObservation(observation);
  expect(kept).toEqual({
    ...observation,
    metadata: {
      ...{ name: 'x', namespace: 'n', uid: 'u', resourceVersion: '1', generation: 3 },
      labels: { 'platform.io/mirrored': 'true' },
      annotations: { 'platform.io/mirrored-from': '(too long)', 'platform.io/compliant-grade': '(too long)' },
      ownerReferences: owners(10, '(too long)'),
    },
  });
});
