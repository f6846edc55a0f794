import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { KubeClient } from '../../../kube/client.ts';
import { aPerson } from '../../../testing/fleet/persons.ts';
import { ManualClock } from '../../../testing/time/manual-clock.ts';
import type { Principal } from '../principal.ts';
import { namespacesWith } from './access.ts';
import { KubernetesAccess } from './kubernetes-access.ts';

let clock: ManualClock;
let access: KubernetesAccess;
let failures: number;
let client: KubeClient;
let server: Server;
/** The namespaces in which everyone has every right; '' is all. */
let allowed: string[];
let isAway: boolean;
let questions: Asked[];

interface Asked {
  user: string;
  groups: string[];
  resourceAttributes: { namespace?: string; verb: string; resource: string; subresource?: string };
}

beforeEach(async () => {
  clock = new ManualClock('2026-03-01T10:00:00.000Z');
  [failures, allowed, isAway, questions] = [0, [], false, []];
  server = createServer((request, response) => {
    void json(request).then((body) => {
      const { spec } = body as { spec: Asked };
      questions.push(spec);
      if (isAway) return void response.destroy();
      const isAllowed = allowed.includes(spec.resourceAttributes.namespace ?? '');
      response.writeHead(201).end(JSON.stringify({ status: { allowed: isAllowed } }));
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  client = new KubeClient({
    access: {
      server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      namespace: null,
      credentials: () => Promise.resolve({ headers: {}, tls: {} }),
    },
    part: 'test',
  });
  access = new KubernetesAccess({ client, clock, apiServer: { failed: () => (failures += 1) > 0 } });
});
afterEach(async () => {
  await client.close();
  server.closeAllConnections();
  await new Promise((resolve) => void server.close(resolve));
});

const asked = (): readonly Asked[] => questions;
const alice = aPerson('alice', ['oidc:sre']);
const known = ['a', 'b', 'c'];
const readable = (who = alice) =>
  namespacesWith({ access, namespaces: () => Promise.resolve(known) }, who, 'read');

test.each([
  ['read', 'list', 'agentobservations', undefined],
  ['stop', 'create', 'agentstops', undefined],
  ['resume', 'delete', 'agentstops', undefined],
  ['prove', 'create', 'agentobservations', 'proofs'],
  ['withdraw', 'delete', 'agentobservations', 'proofs'],
  ['register', 'create', 'agentobservations', undefined],
  ['remove', 'delete', 'agentobservations', undefined],
  ['actions', 'list', 'agentobservations', 'actions'],
] as const)('%s is %s %s/%s', async (right, verb, resource, subresource) => {
  await access.can(alice, right, 'team');
  expect(asked()).toEqual([
    {
      user: 'oidc:alice',
      groups: ['oidc:sre', 'system:authenticated'],
      resourceAttributes: {
        ...{ group: 'platform.io', verb, resource, namespace: 'team' },
        ...(subresource !== undefined && { subresource }),
      },
    },
  ]);
});

test('all namespaces first, then one after the other, once per 60 s', async () => {
  allowed = ['', 'a'];
  expect(await readable()).toBeNull();
  expect(asked()).toHaveLength(1);
  expect(await access.can(alice, 'read', 'b')).toBe(true);
  allowed = ['a', 'c'];
  clock.advance(59_999);
  expect(await readable()).toBeNull();
  clock.advance(1);
  expect(await readable()).toEqual(['a', 'c']);
  expect(asked().map(({ resourceAttributes }) => resourceAttributes.namespace ?? '(all)')).toEqual([
    ...['(all)', '(all)', 'a', 'b', 'c'],
  ]);
  allowed = ['b'];
  clock.advance(9_999);
  expect(await readable()).toEqual(['a', 'c']);
  expect(asked()).toHaveLength(5);
  // A denial counts for 10 s.
  clock.advance(1);
  expect(await readable()).toEqual(['a', 'b', 'c']);
});

test('callers with other names or groups have their own decisions', async () => {
  allowed = ['a'];
  expect(await readable()).toEqual(['a']);
  allowed = [];
  expect(await readable(aPerson('bob', ['oidc:sre']))).toEqual([]);
  expect(await readable(aPerson('alice', ['oidc:sre', 'oidc:admins']))).toEqual([]);
  // The same caller with another request.
  expect(await readable(aPerson('alice', ['oidc:sre']))).toEqual(['a']);
});

test('concurrent requests share a review', async () => {
  await Promise.all([access.can(alice, 'stop', 'a'), access.can(alice, 'stop', 'a')]);
  expect(asked()).toHaveLength(1);
});

test('the last decision about a read counts for five minutes of an outage; other rights are 503', async () => {
  allowed = ['a'];
  expect(await readable()).toEqual(['a']);
  await access.can(alice, 'stop', 'a');
  isAway = true;
  clock.advance(299_999);
  expect(await readable()).toEqual(['a']);
  await expect(access.can(alice, 'stop', 'a')).rejects.toMatchObject({
    status: 503,
    message: 'cannot check the rights of the caller: the API server is unavailable; try again',
    headers: { 'retry-after': '2' },
  });
  await expect(access.can(alice, 'read', 'never-asked')).rejects.toMatchObject({ status: 503 });
  clock.advance(1);
  await expect(readable()).rejects.toMatchObject({ status: 503 });
  isAway = false;
  clock.advance(2_000);
  expect(await readable()).toEqual(['a']);
});

test('in an outage the right in all namespaces counts for each of them, unless a later decision denies it', async () => {
  allowed = [''];
  expect(await readable()).toBeNull();
  isAway = true;
  clock.advance(299_999);
  expect(await access.can(alice, 'read', 'a')).toBe(true);
  clock.advance(1);
  await expect(access.can(alice, 'read', 'a')).rejects.toMatchObject({ status: 503 });
  isAway = false;
  clock.advance(2_000);
  expect(await readable()).toBeNull();
  clock.advance(60_000);
  allowed = [];
  expect(await access.can(alice, 'read', 'a')).toBe(false);
  isAway = true;
  clock.advance(10_000);
  expect(await access.can(alice, 'read', 'a')).toBe(false);
});

test('after a failure no review is sent for two seconds', async () => {
  isAway = true;
  await expect(access.can(alice, 'stop', 'a')).rejects.toMatchObject({ status: 503 });
  expect([asked().length, failures]).toEqual([1, 1]);
  isAway = false;
  clock.advance(1_999);
  await expect(access.can(alice, 'stop', 'a')).rejects.toMatchObject({ status: 503 });
  expect(asked()).toHaveLength(1);
  clock.advance(1);
  expect(await access.can(alice, 'stop', 'a')).toBe(false);
});

test.each<[string, Principal, string[] | null]>([
  ['a reserved name of a claim', { ...alice, user: 'system:admin' }, null],
  ['no name', { ...alice, user: '' }, null],
  [
    'a reserved group of a claim',
    { ...alice, groups: ['system:masters', 'oidc:sre'] },
    ['oidc:sre', 'system:authenticated'],
  ],
  [
    'a ServiceAccount',
    {
      ...{ method: 'kubernetes', sub: 'system:serviceaccount:team:ci', overage: false },
      ...{
        user: 'system:serviceaccount:team:ci',
        groups: ['system:serviceaccounts', 'system:authenticated'],
      },
    },
    ['system:serviceaccounts', 'system:authenticated'],
  ],
])('%s', async (_, principal, groups) => {
  allowed = [''];
  expect(await access.can(principal, 'read', null)).toBe(groups !== null);
  expect(asked().map((each) => each.groups)).toEqual(groups === null ? [] : [groups]);
});
