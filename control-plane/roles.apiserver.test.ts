import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { AGENT_OBSERVATIONS, collectionPath } from '../kube/resources.ts';
import { silentLogger } from '../runtime/logger.ts';
import { systemClock } from '../runtime/clock.ts';
import { ApiCluster, found as until } from '../testing/cluster/api-cluster.ts';
import { blocksUnder } from '../testing/documents/documented-commands.ts';
import { aPerson } from '../testing/fleet/persons.ts';
import type { AccessRight } from './auth/access/access.ts';
import { KubernetesAccess } from './auth/access/kubernetes-access.ts';
import { PERSON_AUDIENCE } from './auth/kubernetes-tokens.ts';
import { readConfig } from './config.ts';
import { CONTROL_PLANE_PERMISSIONS } from './permissions.ts';
import { startControlPlane, type ControlPlane } from './start.ts';

const REMOTE = 'platform-remote';
const ADMIN_KEY = 'admin-key-of-a-test';
const GROUP = ['platform.io'];
const READER = { apiGroups: GROUP, resources: ['agentobservations'], verbs: ['get', 'list', 'watch'] };
/** The rules of the Role in the guide. */
function approverRules(): object[] {
  const [example] = blocksUnder('docs/guide/roles.md', 'Rights in a cluster');
  return (parse(example!.body) as { rules: object[] }).rules;
}

(whyNoControlPlane() ? describe.skip : describe)('callers and rights on a real API server', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'agent-compliance-roles-'));
  let cluster: ApiCluster;
  let process: ControlPlane;
  let url: string;

  beforeAll(async () => {
    cluster = await ApiCluster.start();
    await cluster.define('agentobservations', 'agentpolicies');
    await cluster.namespaces(REMOTE, 'one', 'two');
    const { cluster: everywhere, remote } = CONTROL_PLANE_PERMISSIONS;
    await cluster.account(REMOTE, 'control-plane', { cluster: everywhere, namespace: remote });
    await cluster.account('one', 'viewer', { cluster: [], namespace: [READER] });
    await cluster.account('one', 'approver', { cluster: [], namespace: approverRules() });
    const everything = { apiGroups: GROUP, resources: ['agentobservations'], verbs: ['*'] };
    await cluster.account('one', 'owner', { cluster: [], namespace: [everything] });
    await cluster.account('two', 'auditor', { cluster: [READER], namespace: [] });
    await cluster.account('two', 'stranger', { cluster: [], namespace: [] });
    for (const [namespace, name] of [
      ['one', 'chat'],
      ['one', 'shop'],
      ['two', 'shop'],
    ] as const)
      await cluster.post(collectionPath(AGENT_OBSERVATIONS, namespace), {
        ...{ apiVersion: 'platform.io/v1', kind: 'AgentObservation', metadata: { name } },
        spec: { source: 'sidecar', agentRef: { apiVersion: 'apps/v1', kind: 'Deployment', name } },
      });
    const read = readConfig({
      ...{ STORE: 'kubernetes', DATA_DIR: scratch, PLATFORM_ADMIN_KEY: ADMIN_KEY },
      KUBECONFIG: await cluster.kubeconfigOf(REMOTE, 'control-plane'),
    });
    if (!read.ok) throw new Error(JSON.stringify(read.problems));
    process = await startControlPlane(
      { ...read.config, PORT: 0 },
      silentLogger,
      new AbortController().signal,
    );
    url = `http://127.0.0.1:${process.port}`;
    await until('readiness', async () => (await fetch(`${url}/readyz`)).ok);
  }, 90_000);

  afterAll(async () => {
    await process?.close();
    await cluster?.close();
    rmSync(scratch, { recursive: true, force: true });
  });

  const tokenOf = (namespace: string, name: string, audience = PERSON_AUDIENCE): Promise<string> =>
    cluster.token(namespace, name, { audiences: [audience] });

  async function ask(token: string, method: string, path: string, body?: object) {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      ...{ status: response.status, total: response.headers.get('x-total-count') },
      body: (text === '' ? null : JSON.parse(text)) as Record<string, unknown>,
    };
  }

  test.each([
    ['one', 'viewer', ['one/chat', 'one/shop']],
    ['two', 'auditor', ['one/chat', 'one/shop', 'two/shop']],
    ['two', 'stranger', []],
  ])('%s/%s sees the agents that kubectl shows', async (namespace, name, agents) => {
    const { body, total } = await ask(await tokenOf(namespace, name), 'GET', '/agents');
    const rows = body as unknown as { namespace: string; agentName: string }[];
    expect(rows.map((row) => `${row.namespace}/${row.agentName}`)).toEqual(agents);
    expect(total).toBe(String(agents.length));
    const user = cluster.as(`system:serviceaccount:${namespace}:${name}`);
    for (const each of ['one', 'two']) {
      const { ok } = await user.send({ method: 'GET', path: collectionPath(AGENT_OBSERVATIONS, each) });
      expect([each, ok]).toEqual([each, agents.some((agent) => agent.startsWith(`${each}/`))]);
    }
  });

  test('a caller without a token of this audience is refused', async () => {
    const refused = async (token: string): Promise<unknown> => {
      const { status, body } = await ask(token, 'GET', '/agents');
      return [status, body['detail']];
    };
    const wrong = [401, 'the token is not a token for the audience agent-compliance'];
    expect(await refused(await tokenOf('one', 'viewer', 'platform.io'))).toEqual(wrong);
    expect(await refused(await cluster.token('one', 'viewer'))).toEqual(wrong);
    expect(await refused('no-jwt')).toEqual(wrong);
    const token = await tokenOf('one', 'viewer');
    const [head = '', claims = '', signature = ''] = token.split('.');
    const other = Buffer.from(claims, 'base64url').toString().replaceAll(':viewer', ':approver');
    const forged = [head, Buffer.from(other).toString('base64url'), signature].join('.');
    expect(await refused(forged)).toEqual([401, expect.stringMatching(/^the token was rejected: /)]);
  });

  test('the token of a deleted ServiceAccount is refused', async () => {
    await cluster.account('two', 'gone', { cluster: [READER], namespace: [] });
    const token = await tokenOf('two', 'gone');
    await cluster.remove('/api/v1/namespaces/two/serviceaccounts/gone');
    await until('the refusal', async () => (await ask(token, 'GET', '/me')).status === 401);
  });

  test('a proof needs the subresource, which a Role with all verbs does not include', async () => {
    const proof = { verifiedBy: 'qa', method: 'looked' };
    const submit = async (name: string, agent: string) => {
      const path = `/agents/${agent}/proof/rule/MEM-01`;
      return (await ask(await tokenOf('one', name), 'POST', path, proof)).status;
    };
    expect(await submit('viewer', 'chat')).toBe(403);
    expect(await submit('owner', 'chat')).toBe(403);
    expect(await submit('approver', 'chat')).toBe(201);
    // Of both agents with this name, the approver sees one.
    expect(await submit('approver', 'shop')).toBe(201);
    const { body } = await ask(await tokenOf('one', 'viewer'), 'GET', '/agents/chat/proof');
    expect(body).toMatchObject([
      { ...proof, actor: { method: 'kubernetes', sub: 'system:serviceaccount:one:approver' } },
    ]);
    const stored = await cluster.get(`${collectionPath(AGENT_OBSERVATIONS, 'one')}/chat`);
    // The definition keeps the actor.
    expect(stored).toMatchObject({
      status: { proofs: [{ actor: { sub: 'system:serviceaccount:one:approver' } }] },
    });
  });

  test('callers get their rights', async () => {
    const me = async (namespace: string, name: string) =>
      (await ask(await tokenOf(namespace, name), 'GET', '/me')).body['can'];
    const none = { stop: [], resume: [], prove: [], admin: false };
    expect(await me('one', 'approver')).toEqual({ ...none, read: ['one'], prove: ['one'] });
    expect(await me('two', 'auditor')).toEqual({ ...none, read: '*' });
    expect(await me('two', 'stranger')).toEqual({ ...none, read: [] });
  });

  test('a right that is given counts within ten seconds', async () => {
    const token = await tokenOf('two', 'stranger');
    expect((await ask(token, 'GET', '/agents')).total).toBe('0');
    await cluster.apply([
      {
        ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding' },
        metadata: { name: 'stranger', namespace: 'one' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'viewer' },
        subjects: [{ kind: 'ServiceAccount', name: 'stranger', namespace: 'two' }],
      },
    ]);
    await until('the right', async () => (await ask(token, 'GET', '/agents')).total === '2');
  });

  test('a person of an identity provider has the rights that kubectl gives to the same name and groups', async () => {
    const binding = (name: string, namespace: string, subject: object) => ({
      ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', metadata: { name, namespace } },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'viewer' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', ...subject }],
    });
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', rules: [READER] };
    await cluster.apply([
      { ...role, metadata: { name: 'viewer', namespace: 'two' } },
      binding('group', 'one', { kind: 'Group', name: 'oidc:sre' }),
      binding('user', 'two', { kind: 'User', name: 'oidc:bob' }),
      binding('everyone', REMOTE, { kind: 'Group', name: 'system:authenticated' }),
      { ...role, metadata: { name: 'viewer', namespace: REMOTE } },
    ]);
    const access = new KubernetesAccess({
      client: await cluster.clientOf(REMOTE, 'control-plane'),
      ...{ clock: systemClock, apiServer: { failed: () => true } },
    });
    const masters = ['system:masters'];
    for (const [sub, groups, wanted] of [
      ['alice', ['oidc:sre'], ['one', REMOTE]],
      ['bob', [], ['two', REMOTE]],
      ['bob', ['oidc:sre'], ['one', 'two', REMOTE]],
      ['carol', ['sre'], [REMOTE]],
      // A claim never gives a group of the system.
      ['carol', masters, [REMOTE]],
    ] as const) {
      const can = (right: AccessRight, namespace: string | null) =>
        access.can(aPerson(sub, groups), right, namespace);
      const user = cluster.as(`oidc:${sub}`, ...groups.filter((each) => each !== masters[0]));
      for (const namespace of ['one', 'two', REMOTE]) {
        const { ok } = await user.send({
          method: 'GET',
          path: collectionPath(AGENT_OBSERVATIONS, namespace),
        });
        const isAllowed = wanted.some((each) => each === namespace);
        expect([sub, groups, namespace, ok, await can('read', namespace)]).toEqual([
          ...[sub, groups, namespace, isAllowed, isAllowed],
        ]);
      }
      expect(await can('read', null)).toBe(false);
      expect(await can('prove', 'one')).toBe(false);
    }
  });
});
