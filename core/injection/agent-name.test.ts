import { expect, test } from '@jest/globals';
import { agentNameOf } from './agent-name.ts';
import type { OwnerReference, PodMetadata } from './pod.ts';

const owner = (kind: string, name: string, controller = true): OwnerReference => ({
  apiVersion: 'v1',
  kind,
  name,
  uid: 'u',
  controller,
});

const hashed = (ownerName: string, hash: string): PodMetadata => ({
  generateName: `${ownerName}-`,
  labels: { 'pod-template-hash': hash },
  ownerReferences: [owner('ReplicaSet', ownerName)],
});

test.each<[string, PodMetadata, string]>([
  ["uses the Deployment's name for a pod of its ReplicaSet", hashed('chat-6bf7bc4bf5', '6bf7bc4bf5'), 'chat'],
  [
    'uses the name of a ReplicaSet without a Deployment',
    { ownerReferences: [owner('ReplicaSet', 'chat-a')] },
    'chat-a',
  ],
  [
    "keeps the ReplicaSet's name if it does not end with the pod-template-hash",
    hashed('chat-a', '6bf7bc4bf5'),
    'chat-a',
  ],
  ["uses the StatefulSet's name", { ownerReferences: [owner('StatefulSet', 'db-agent')] }, 'db-agent'],
  [
    "removes the timestamp from the name of a CronJob's Job",
    { ownerReferences: [owner('Job', 'nightly-29384920')] },
    'nightly',
  ],
  [
    "keeps a short number at the end of a Job's name",
    { ownerReferences: [owner('Job', 'nightly-2024')] },
    'nightly-2024',
  ],
  ['uses the name of a bare pod', { name: 'solo' }, 'solo'],
  [
    'ignores an owner that is not the controller',
    { name: 'solo', ownerReferences: [owner('X', 'x', false)] },
    'solo',
  ],
])('%s', (_case, metadata, name) => {
  expect(agentNameOf(metadata, undefined)).toEqual({ ok: true, name });
});

test('prefers the annotation over the owner', () => {
  expect(agentNameOf(hashed('chat-6bf7bc4bf5', '6bf7bc4bf5'), 'support')).toEqual({
    ok: true,
    name: 'support',
  });
});

test('reports an unknown name for a pod with generateName and no owner', () => {
  expect(agentNameOf({ generateName: 'x-' }, undefined)).toEqual({ ok: false, reason: 'unknown', name: '' });
});

test.each(['with.dots', 'a'.repeat(64)])('rejects the workload name "%s" as agent name', (name) => {
  expect(agentNameOf({ name }, undefined)).toEqual({ ok: false, reason: 'invalid', name });
});
