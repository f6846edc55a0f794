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
  ["a ReplicaSet's pod is named after its Deployment", hashed('chat-6bf7bc4bf5', '6bf7bc4bf5'), 'chat'],
  ['a ReplicaSet of its own keeps its name', { ownerReferences: [owner('ReplicaSet', 'chat-a')] }, 'chat-a'],
  [
    "a label that is no part of the ReplicaSet's name takes nothing away",
    hashed('chat-a', '6bf7bc4bf5'),
    'chat-a',
  ],
  ["a StatefulSet's pod", { ownerReferences: [owner('StatefulSet', 'db-agent')] }, 'db-agent'],
  ["a CronJob's Job loses its minutes", { ownerReferences: [owner('Job', 'nightly-29384920')] }, 'nightly'],
  ["a Job's short number stays", { ownerReferences: [owner('Job', 'nightly-2024')] }, 'nightly-2024'],
  ['a bare pod', { name: 'solo' }, 'solo'],
  ['an owner that is no controller', { name: 'solo', ownerReferences: [owner('X', 'x', false)] }, 'solo'],
])('%s', (_case, metadata, name) => {
  expect(agentNameOf(metadata, undefined)).toEqual({ ok: true, name });
});

test('the annotation wins over the owner', () => {
  expect(agentNameOf(hashed('chat-6bf7bc4bf5', '6bf7bc4bf5'), 'support')).toEqual({
    ok: true,
    name: 'support',
  });
});

test('a pod with generateName and no owner has no name yet', () => {
  expect(agentNameOf({ generateName: 'x-' }, undefined)).toEqual({ ok: false, reason: 'unknown', name: '' });
});

test.each(['with.dots', 'a'.repeat(64)])('the workload name "%s" is no agent name', (name) => {
  expect(agentNameOf({ name }, undefined)).toEqual({ ok: false, reason: 'invalid', name });
});
