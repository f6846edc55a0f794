import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { AgentObservation } from '../core/observation/observation.ts';
import type { Heartbeat } from '../core/shapes/heartbeat.ts';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import type { KubeClient } from '../kube/client.ts';
import { deleteObject, getObject } from '../kube/objects.ts';
import { AGENT_OBSERVATIONS, AGENT_POLICIES, collectionPath, objectPath, PODS } from '../kube/resources.ts';
import { silentLogger } from '../runtime/logger.ts';
import { Secret } from '../runtime/secret.ts';
import { apiAudit, permissionsOf } from '../testing/cluster/api-audit.ts';
import { ApiCluster, found as until } from '../testing/cluster/api-cluster.ts';
import { manifestText } from '../testing/manifests/manifest-text.ts';
import { aHeartbeat } from '../testing/fleet/heartbeat.ts';
import { injectedSpec } from '../testing/cluster/injected-spec.ts';
import { issueCa } from '../webhook/certificates/issue.ts';
import type { ControlPlaneConfig } from './config.ts';
import { CONTROL_PLANE_PERMISSIONS } from './permissions.ts';
import { startControlPlane, type ControlPlane } from './start.ts';
import { DEFAULT_RETENTION } from './stores/sql/retention.ts';

const ADMIN = { 'x-admin-key': 'admin-key-of-a-test' };
const REMOTE = 'platform-remote';

(whyNoControlPlane() ? describe.skip : describe)('the control plane on a real API server', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'agent-compliance-api-'));
  const audit = apiAudit(scratch);
  let cluster: ApiCluster;
  let kubeconfig = '';
  let client: KubeClient;
  let process: ControlPlane | null = null;
  let namespaces = 0;
  let namespace = '';

  beforeAll(async () => {
    cluster = await ApiCluster.start({ apiServerArgs: audit.args });
    ({ client } = cluster);
    await cluster.define('agentobservations', 'agentpolicies', 'agentstops');
    await cluster.namespaces(REMOTE);
    const { cluster: everywhere, remote } = CONTROL_PLANE_PERMISSIONS;
    await cluster.account(REMOTE, 'control-plane', { cluster: everywhere, namespace: remote });
    kubeconfig = await cluster.kubeconfigOf(REMOTE, 'control-plane');
  }, 90_000);

  afterAll(async () => {
    await cluster?.close();
    rmSync(scratch, { recursive: true, force: true });
  });

  afterEach(async () => {
    await process?.close();
    process = null;
  });

  async function start(overrides: Partial<ControlPlaneConfig> = {}): Promise<string> {
    const config: ControlPlaneConfig = {
      LOG_LEVEL: 'info',
      LOG_FORMAT: null,
      PORT: 0,
      PLATFORM_ADMIN_KEY: new Secret('admin-key-of-a-test'),
      PLATFORM_READ_KEY: null,
      PLATFORM_ROLES_FILE: null,
      PROOF_APPROVER_NOT_AUTHOR: false,
      JWT_SECRET: null,
      STORE: 'kubernetes',
      ORGANISATION_POLICIES: null,
      oidc: null,
      DATA_DIR: join(scratch, `data-${namespaces}`),
      database: null,
      retention: DEFAULT_RETENTION,
      RATE_LIMIT_SECONDS: 10,
      REMOTE_NAMESPACE: REMOTE,
      cluster: { kubeconfig },
      SIDECAR_CA_FILES: null,
      sidecarImages: null,
      tls: null,
      ...overrides,
    };
    process = await startControlPlane(config, silentLogger, new AbortController().signal);
    const url = `http://127.0.0.1:${process.port}`;
    await until('readiness', async () => (await fetch(`${url}/readyz`)).ok);
    return url;
  }

  async function makeNamespace(): Promise<void> {
    namespace = `team-${(namespaces += 1)}`;
    await cluster.post('/api/v1/namespaces', { metadata: { name: namespace } });
    await cluster.post(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'agent' } });
  }

  /** Creates a pod with the identity parts of an injected pod; returns its UID. */
  async function aPod(
    name: string,
    labels: Record<string, string> = { 'platform.io/agent': 'shop' },
    annotations: Record<string, string> = {},
  ) {
    const { metadata } = await cluster.post<{ metadata: { uid: string } }>(
      `/api/v1/namespaces/${namespace}/pods`,
      {
        metadata: { name, labels, annotations },
        spec: {
          serviceAccountName: 'agent',
          automountServiceAccountToken: false,
          ...injectedSpec('shop'),
          containers: [{ name: 'agent', image: 'agent' }],
        },
      },
    );
    return metadata.uid;
  }
  /** A token like the one that the kubelet mounts. */
  const podToken = (pod: string, uid: string, audience = 'platform.io') =>
    cluster.token(namespace, 'agent', {
      audiences: [audience],
      expirationSeconds: 600,
      boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: pod, uid },
    });

  const observe = (name = 'shop', where = namespace): Promise<AgentObservation | null> =>
    getObject(client, AGENT_OBSERVATIONS, { namespace: where, name });

  /** Creates the observation, like the operator does for a pod. */
  async function makeObservation(name = 'shop'): Promise<void> {
    await cluster.post(collectionPath(AGENT_OBSERVATIONS, namespace), {
      apiVersion: 'platform.io/v1',
      kind: 'AgentObservation',
      metadata: { name },
      spec: { source: 'sidecar', agentRef: { apiVersion: 'apps/v1', kind: 'Deployment', name } },
    });
  }

  const push = (url: string, token: string, body: object = aHeartbeat()) =>
    fetch(`${url}/api/v1/heartbeat`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const detailOf = async (response: Response) => ((await response.json()) as { detail: string }).detail;
  const get = async (url: string, path: string): Promise<unknown> =>
    (await fetch(`${url}/api/v1${path}`, { headers: ADMIN })).json();

  test("accepts a pod's first heartbeat once its observation exists; the cluster has the same status as the API", async () => {
    await makeNamespace();
    const url = await start();
    const token = await podToken('shop-1', await aPod('shop-1'));
    const early = await push(url, token);
    expect([early.status, early.headers.get('retry-after')]).toEqual([503, '2']);
    expect(await detailOf(early)).toBe('the AgentObservation of this agent does not exist yet; try again');
    await makeObservation();
    await until('the heartbeat', async () => (await push(url, token)).status === 204);
    const { status } = await until('the status', async () => {
      const observation = await observe();
      return observation?.status?.score === 100 ? observation : null;
    });
    expect(status).toMatchObject({ phase: 'Healthy', grade: 'A', instances: [{ name: 'shop-1' }] });
    const agents = (await get(url, `/agents?namespace=${namespace}`)) as unknown[];
    expect(agents).toEqual([
      {
        agentId: expect.stringMatching(/^agt_[0-9a-f]{32}$/),
        agentName: 'shop',
        namespace,
        runtime: 'k8s',
        source: 'sidecar',
        phase: status!.phase,
        grade: status!.grade,
        score: status!.score,
        tokens: status!.tokens,
        costUsd: 0,
        evidence: { percent: 100, shown: 1, declared: 1 },
        // The heartbeat claims 100, but no proof exists.
        proved: 67,
        compliant: { status: 'True', reason: 'Compliant', message: expect.any(String) },
        violations: 0,
        failOpen: null,
        policyMode: null,
        instances: 1,
        lastSeen: status!.lastChecked,
        stop: null,
        stale: false,
      },
    ]);
    expect(await get(url, `/agents/shop/gap?namespace=${namespace}`)).toMatchObject({
      score: 100,
      instance: 'shop-1',
      receivedAt: status!.lastChecked,
      audit: { declared: 100, proved: 67 },
    });
  });

  test('judges an agent by the AgentPolicies that select its namespace', async () => {
    await makeNamespace();
    const url = await start({ RATE_LIMIT_SECONDS: 0 });
    await makeObservation();
    const policy = {
      apiVersion: 'platform.io/v1',
      kind: 'AgentPolicy',
      metadata: { name: 'production' },
      spec: {
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
        rules: [{ id: 'tools', action: 'Deny', tools: { forbidden: ['shell*'] } }],
      },
    };
    await cluster.post(collectionPath(AGENT_POLICIES), policy);
    const uid = await aPod('shop-1');
    const token = await podToken('shop-1', uid);
    const manifest = manifestText('  tools: [{ name: shell_exec }]\n');
    const put = () =>
      fetch(`${url}/api/v1/manifest`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/yaml' },
        body: manifest,
      });
    await until('the judgement', async () => {
      const response = (await (await put()).json()) as { allowed: boolean | null };
      return response.allowed === false;
    });
    const manifestHash = createHash('sha256').update(manifest).digest('hex');
    let seq = 0;
    const allowed = async (): Promise<string> => {
      await push(url, token, aHeartbeat({ seq: ++seq, manifestHash, sidecarVersion: '0.2.0' }));
      const condition = (await observe())?.status?.conditions?.find(({ type }) => type === 'Allowed');
      return `${condition?.status} ${condition?.reason}: ${condition?.message}`;
    };
    const broken = 'False RuleBroken: production/tools: tool shell_exec is forbidden by shell*';
    await until('the condition', async () => (await allowed()) === broken);
    expect((await observe())?.status?.organisation).toMatchObject({ manifestHash, brokenTotal: 1 });
    await client.send({
      method: 'DELETE',
      path: objectPath(AGENT_POLICIES, { name: 'production' }),
    });
    await until('the end of the rule', async () => (await allowed()).startsWith('True NoPolicy'));
  });

  test('limits reviews of forged tokens, and does not block a reporting pod', async () => {
    await makeNamespace();
    const url = await start({ RATE_LIMIT_SECONDS: 0 });
    await makeObservation();
    const token = await podToken('shop-1', await aPod('shop-1'));
    await until('the heartbeat', async () => (await push(url, token)).status === 204);
    const [header, claims] = token.split('.');
    const forged = Array.from({ length: 50 }, (_, index) => `${header}.${claims}.${'A'.repeat(300)}${index}`);
    const responses = await Promise.all(forged.map((each) => push(url, each)));
    const statuses = responses.map(({ status }) => status);
    // The tokens contain the UID of a reporting pod: five reviews more than the 20 of their address.
    expect(statuses.filter((status) => status === 401)).toHaveLength(25);
    expect(statuses.filter((status) => status === 429)).toHaveLength(25);
    const limited = responses.find(({ status }) => status === 429)!;
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await push(url, token, aHeartbeat({ seq: 2 }))).status).toBe(204);
  });

  test('rejects every other token', async () => {
    await makeNamespace();
    const url = await start();
    await makeObservation();
    const uid = await aPod('shop-1');
    const plain = await aPod('plain', {});
    const gone = await podToken('gone', await aPod('gone'));
    await deleteObject(client, PODS, { namespace, name: 'gone' });
    await until(
      'the end of the pod',
      async () => !(await getObject(client, PODS, { namespace, name: 'gone' })),
    );
    const cases: [string, number][] = [
      [await podToken('shop-1', uid, 'https://kubernetes.default.svc'), 401],
      [await cluster.token(namespace, 'agent', { audiences: ['platform.io'] }), 403],
      [await podToken('plain', plain), 403],
      [gone, 401],
      ['garbage', 401],
    ];
    for (const [token, status] of cases) expect((await push(url, token)).status).toBe(status);
    expect((await observe())?.status?.instances).toBeUndefined();
  });

  test('rejects a pod whose sidecar trusts another control plane', async () => {
    await makeNamespace();
    const [own, other] = await Promise.all([...Array(2)].map(() => issueCa({ now: new Date(), days: 1 })));
    const file = join(scratch, 'ca.crt');
    writeFileSync(file, own!.cert);
    const url = await start({ SIDECAR_CA_FILES: [file] });
    await makeObservation();
    const tokenOfPod = async (name: string, ca: string) =>
      podToken(name, await aPod(name, undefined, { 'platform.io/ca': ca }));
    const foreign = await push(url, await tokenOfPod('foreign', own!.cert + other!.cert));
    expect([foreign.status, await detailOf(foreign)]).toEqual([
      403,
      expect.stringContaining(
        `the annotation platform.io/ca of the pod ${namespace}/foreign is not the CA of this control plane`,
      ),
    ]);
    const token = await tokenOfPod('own', own!.cert);
    await until('the heartbeat', async () => (await push(url, token)).status === 204);
  });

  test("stores a registered agent's key and reports in its AgentObservation, and removes them with it", async () => {
    const url = await start();
    const register = () =>
      fetch(`${url}/api/v1/register`, {
        method: 'POST',
        headers: { ...ADMIN, 'content-type': 'application/json' },
        body: JSON.stringify({ agentName: 'lambda', runtime: 'bedrock' }),
      });
    const first = (await (await register()).json()) as { agentId: string; apiKey: string };
    const observation = await observe('lambda', REMOTE);
    expect(observation).toMatchObject({
      spec: { source: 'remote' },
      status: { phase: 'Pending', agentId: first.agentId, runtime: 'bedrock' },
    });
    expect(JSON.stringify(observation)).not.toContain(first.apiKey.split('.')[2]);
    const second = await register();
    expect(second.status).toBe(200);
    const { agentId, apiKey } = (await second.json()) as { agentId: string; apiKey: string };
    expect(agentId).toBe(first.agentId);
    expect((await push(url, first.apiKey)).status).toBe(401);
    expect((await push(url, apiKey)).status).toBe(204);
    await until('the status', async () => (await observe('lambda', REMOTE))?.status?.phase === 'Healthy');
    const remove = () => fetch(`${url}/api/v1/agents/lambda`, { method: 'DELETE', headers: ADMIN });
    expect((await remove()).status).toBe(204);
    expect(await observe('lambda', REMOTE)).toBeNull();
    expect((await push(url, apiKey)).status).toBe(401);
    expect((await remove()).status).toBe(404);
  });

  test('returns 409 for the removal of a workload', async () => {
    await makeNamespace();
    const url = await start();
    await makeObservation('worker');
    const path = `${url}/api/v1/agents/worker`;
    const response = await until('the agent', async () => {
      const each = await fetch(path, { method: 'DELETE', headers: ADMIN });
      return each.status === 404 ? null : each;
    });
    expect(response.status).toBe(409);
    expect(await detailOf(response)).toBe(
      'worker is a workload of this cluster: delete the workload or remove its annotation',
    );
    expect(await observe('worker')).not.toBeNull();
  });

  test('with STORE=sqlite in a cluster, the AgentObservations contain the same status as the database', async () => {
    await makeNamespace();
    const url = await start({ STORE: 'sqlite' });
    const token = await podToken('shop-1', await aPod('shop-1'));
    // The database needs no observation. The first heartbeat after the observation exists updates the cluster.
    expect((await push(url, token, aHeartbeat({ seq: 1 }))).status).toBe(204);
    const gap = (at: string) => get(at, `/agents/shop/gap?namespace=${namespace}`);
    const gapBefore = await gap(url);
    await makeObservation();
    const proof = { verifiedBy: 'qa', method: 'looked' };
    const response = await fetch(`${url}/api/v1/agents/shop/proof/rule/MEM-01?namespace=${namespace}`, {
      method: 'POST',
      headers: { ...ADMIN, 'content-type': 'application/json' },
      body: JSON.stringify(proof),
    });
    expect(response.status).toBe(201);
    await process!.close();
    const again = await start({ STORE: 'sqlite', RATE_LIMIT_SECONDS: 0 });
    const totals = { tokensToday: 7 };
    expect((await push(again, token, aHeartbeat({ seq: 2, totals }))).status).toBe(200);
    const { status } = await until('the status', async () => {
      const observation = await observe();
      return observation?.status?.tokens === 7 ? observation : null;
    });
    expect(status).toMatchObject({ phase: 'Healthy', score: 100, proofs: [{ ruleId: 'MEM-01', ...proof }] });
    // The claim of the first heartbeat had no proof; the claim of the second one has.
    expect(gapBefore).toMatchObject({ audit: { declared: 100, proved: 67 } });
    expect(await gap(again)).toMatchObject({ audit: { declared: 100, proved: 100 } });
    expect(status?.audit?.proved).toBe(100);
    expect(await get(again, `/agents?namespace=${namespace}`)).toMatchObject([
      { agentName: 'shop', phase: 'Healthy', score: 100, tokens: 7 },
    ]);
    const path = `${again}/api/v1/agents/shop?namespace=${namespace}`;
    expect((await fetch(path, { method: 'DELETE', headers: ADMIN })).status).toBe(409);
  });

  test('stops the agents of a namespace by an AgentStop, which a heartbeat confirms', async () => {
    await makeNamespace();
    const url = await start({ RATE_LIMIT_SECONDS: 0 });
    await makeObservation();
    const token = await podToken('shop-1', await aPod('shop-1'));
    const post = () =>
      fetch(`${url}/api/v1/stops`, {
        ...{ method: 'POST', headers: { ...ADMIN, 'content-type': 'application/json' } },
        body: JSON.stringify({ namespace, reason: 'leak' }),
      });
    const response = await post();
    const { id, since } = (await response.json()) as { id: string; since: string };
    expect(response.status).toBe(201);
    let seq = 0;
    const replied = async (stop: Heartbeat['stop']): Promise<unknown> => {
      const beat = await push(url, token, aHeartbeat({ seq: ++seq, sidecarVersion: '0.2.0', stop }));
      return beat.status === 204 ? null : ((await beat.json()) as { stop?: unknown }).stop;
    };
    await until('the stop', async () => (await replied(null)) !== null);
    const applied = { id, since, cut: 0, lanes: true };
    await until('the confirmation', async () => {
      await replied(applied);
      return (await observe())?.status?.stop?.confirmed === 1;
    });
    const path = `${url}/api/v1/stops/${id}`;
    expect((await fetch(path, { method: 'DELETE', headers: ADMIN })).status).toBe(204);
    await until('the resume', async () => (await replied(applied)) === null);
  });

  test('uses all of its permissions, and requests nothing else', async () => {
    const url = await start();
    // A person, whose rights Kubernetes decides.
    const token = await cluster.token(REMOTE, 'default', { audiences: ['agent-compliance'] });
    const response = await fetch(`${url}/api/v1/agents`, { headers: { authorization: `Bearer ${token}` } });
    expect(await response.json()).toEqual([]);
    const granted = permissionsOf([
      ...CONTROL_PLANE_PERMISSIONS.cluster,
      ...CONTROL_PLANE_PERMISSIONS.remote,
    ]);
    expect(audit.of('control-plane')).toEqual({ used: granted.sort(), decisions: ['allow'] });
  });
});
