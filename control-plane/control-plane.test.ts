import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { RULE_IDS } from '../core/audit/rules.ts';
import type { Heartbeat } from '../core/shapes/heartbeat.ts';
import { silentLogger } from '../runtime/logger.ts';
import {
  ADMIN_KEY,
  JWT_SECRET,
  startControlPlaneRig,
  type ControlPlaneRig,
  type RigRequest,
  type RigResponse,
} from '../testing/fleet/control-plane-rig.ts';
import { EGRESS } from '../testing/fleet/egress-report.ts';
import { aHeartbeat } from '../testing/fleet/heartbeat.ts';
import type { ManualClock } from '../testing/time/manual-clock.ts';
import type { PodIdentification } from './auth/pod-identity.ts';
import type { Store } from './stores/store.ts';

/** The identity behind each bearer token; replaces TokenReview in these tests. */
const PODS: Record<string, PodIdentification> = {
  'token-of-shop-1': {
    kind: 'pod',
    namespace: 'team',
    pod: 'shop-1',
    uid: 'u-1',
    agentName: 'shop',
  },
  'token-of-a-namesake': {
    kind: 'pod',
    namespace: 'platform-remote',
    pod: 'shop-1',
    uid: 'u-2',
    agentName: 'shop',
  },
  unbound: { kind: 'no-agent', reason: 'the token is not bound to a pod, so it identifies no agent' },
};

let rig: ControlPlaneRig;
let clock: ManualClock;
let store: Store;
let stopping: boolean;
let warnings: Readonly<Record<string, unknown>>[];

beforeEach(async () => {
  stopping = false;
  warnings = [];
  const invalid = {
    kind: 'unauthenticated',
    reason: 'the token was rejected: invalid bearer token',
  } as const;
  rig = await startControlPlaneRig({
    rateLimitSeconds: 10,
    logger: { ...silentLogger, warn: (message, fields) => void warnings.push({ message, ...fields }) },
    pods: {
      identify: (token) =>
        token === 'cluster-away'
          ? Promise.reject(new Error('connect ECONNREFUSED 10.0.0.1:443'))
          : Promise.resolve(PODS[token] ?? invalid),
    },
    isStopping: () => stopping,
  });
  ({ clock, store } = rig);
});
afterEach(() => rig.close());

const call = (method: string, path: string, request?: RigRequest) => rig.send(method, path, request);
const admin = (method: string, path: string, body?: unknown) => rig.admin(method, path, body);
const push = (key: string, body: unknown) =>
  call('POST', '/api/v1/heartbeat', { headers: { authorization: `Bearer ${key}` }, body });
const registered = (agentName = 'shop') => rig.register(agentName);

const problem = (status: number, title: string, detail: string, extra = {}) => ({
  type: 'about:blank',
  title,
  status,
  detail,
  ...extra,
});

const UNHEALTHY: Partial<Heartbeat> = {
  health: {
    agentName: 'shop',
    timestamp: '2026-03-01T10:00:00.000Z',
    status: 'unhealthy',
    summary: { passed: 0, failed: 1, warnings: 0, skipped: 0 },
    checks: [{ id: 'env:KEY', category: 'env', status: 'fail', severity: 'error' }],
  },
  gap: {
    score: 80,
    grade: 'B',
    source: 'agent-sdk',
    issues: [{ severity: 'high', property: 'env:KEY', description: 'KEY is not set', recommendation: 'set' }],
  },
};

describe('the admin key', () => {
  /** control-plane/hostile-input.test.ts asks every route. */
  const ADMIN_ROUTES = [
    ['POST', '/api/v1/register'],
    ['GET', '/api/v1/agents'],
  ] as const;

  test.each(ADMIN_ROUTES)(
    '%s %s requires it: 401 if missing or empty, 403 if wrong',
    async (method, path) => {
      const missing = await call(method, path);
      expect(missing.body).toEqual(problem(401, 'Unauthorized', 'header X-Admin-Key is required'));
      expect(missing.headers.get('www-authenticate')).toBe('X-Admin-Key');
      expect(missing.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
      expect((await call(method, path, { headers: { 'x-admin-key': '' } })).status).toBe(401);
      for (const wrong of ['x', `${ADMIN_KEY}x`, ADMIN_KEY.toUpperCase()])
        expect((await call(method, path, { headers: { 'x-admin-key': wrong } })).body).toEqual(
          problem(403, 'Forbidden', 'X-Admin-Key is wrong'),
        );
    },
  );

  test('counts every wrong key, and logs at most one warning per minute and source', async () => {
    const guess = (key: string) => call('GET', '/api/v1/agents', { headers: { 'x-admin-key': key } });
    for (let tries = 0; tries < 20; tries += 1) await guess(`guess-${tries}`);
    clock.advance(59_999);
    await guess('another');
    const warning = { message: 'wrong admin key', source: '127.0.0.1', path: '/api/v1/agents' };
    expect(warnings).toEqual([warning]);
    clock.advance(1);
    await guess('one more');
    expect(warnings).toEqual([warning, warning]);
    expect((await call('GET', '/metrics')).body).toContain(
      'platform_control_plane_wrong_admin_keys_total 22\n',
    );
  });

  test.each(ADMIN_ROUTES)('%s %s returns 503 if no admin key is configured', async (method, path) => {
    await rig.restart({});
    expect((await call(method, path, { headers: { 'x-admin-key': '' } })).body).toEqual(
      problem(
        503,
        'Service Unavailable',
        'admin routes are disabled: PLATFORM_ADMIN_KEY is not set on the control plane',
      ),
    );
    expect((await call('GET', '/livez')).status).toBe(200);
    expect((await call('GET', '/readyz')).status).toBe(200);
  });

  test('is checked before the body is read', async () => {
    expect((await call('POST', '/api/v1/register', { body: '{not json' })).status).toBe(401);
  });
});

describe('registration', () => {
  test('returns 201 with a key for 30 days, then 200 with the same id and a new key', async () => {
    const first = await admin('POST', '/register', { agentName: 'shop', runtime: 'docker' });
    expect(first).toMatchObject({
      status: 201,
      body: {
        agentId: expect.stringMatching(/^agt_[0-9a-f]{32}$/),
        apiKey: expect.stringMatching(/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/),
        expiresAt: '2026-03-31T10:00:00.000Z',
      },
    });
    expect(first.headers.get('cache-control')).toBe('no-store');
    clock.advance(60_000);
    const second = await admin('POST', '/register', { agentName: 'shop', runtime: 'local' });
    expect(second).toMatchObject({ status: 200, body: { expiresAt: '2026-03-31T10:01:00.000Z' } });
    const [a, b] = [first.body, second.body] as { agentId: string; apiKey: string }[];
    expect(b!.agentId).toBe(a!.agentId);
    expect((await push(a!.apiKey, aHeartbeat())).body).toEqual(
      problem(401, 'Unauthorized', 'the key is revoked; register again'),
    );
    expect((await push(b!.apiKey, aHeartbeat())).status).toBe(204);
  });

  test('accepts the manifest as text or as an object, and stores its model and hash', async () => {
    const manifest = {
      apiVersion: 'platform.io/v1',
      kind: 'PlatformAgent',
      metadata: { name: 'shop', version: '1.0.0', description: 'Sells' },
      spec: { model: { provider: 'openai', id: 'gpt-x', apiKey: '$env:KEY' } },
    };
    for (const given of [manifest, JSON.stringify(manifest)]) {
      const response = await admin('POST', '/register', {
        agentName: 'shop',
        runtime: 'docker',
        manifest: given,
      });
      expect(response.status).toBeLessThan(300);
    }
    const [agent] = await store.findByName('shop', clock.now());
    expect(agent!.status).toMatchObject({
      model: { provider: 'openai', id: 'gpt-x' },
      manifestHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  test.each<[string, unknown, string[]]>([
    ['a name with capitals', { agentName: 'Shop', runtime: 'docker' }, ['agentName']],
    ['an unknown runtime', { agentName: 'shop', runtime: 'moon' }, ['runtime']],
    [
      'an invalid manifest',
      { agentName: 'shop', runtime: 'docker', manifest: 'kind: PlatformAgent' },
      ['manifest.apiVersion', 'manifest.metadata', 'manifest.spec'],
    ],
    [
      'all members in __proto__',
      '{"__proto__": {"agentName": "shop", "runtime": "docker"}}',
      ['agentName', 'runtime'],
    ],
  ])('rejects %s with 400 and stores nothing', async (_, body, paths) => {
    const response = await admin('POST', '/register', body);
    expect(response.body).toMatchObject({ status: 400, detail: 'the registration is not valid' });
    expect((response.body as { errors: { path: string }[] }).errors.map((error) => error.path)).toEqual(
      paths,
    );
    expect((await admin('GET', '/agents')).body).toEqual([]);
  });
});

describe('a renewed key', () => {
  const renew = (key: string) =>
    call('POST', '/api/v1/token', { headers: { authorization: `Bearer ${key}` } });

  test('is issued for a valid key, which stays valid until its own expiry', async () => {
    const { agentId, apiKey } = await registered();
    clock.advance(20 * 86_400_000);
    const renewed = await renew(apiKey);
    expect(renewed).toMatchObject({ status: 200, body: { agentId, expiresAt: '2026-04-21T00:00:00.000Z' } });
    const fresh = (renewed.body as { apiKey: string }).apiKey;
    expect((await push(apiKey, aHeartbeat({ seq: 1 }))).status).toBe(204);
    clock.advance(10 * 86_400_000);
    expect((await push(apiKey, aHeartbeat({ seq: 2 }))).status).toBe(401);
    expect((await push(fresh, aHeartbeat({ seq: 3 }))).status).toBe(204);
  });

  test.each([
    ['register', async () => registered()],
    ['DELETE', async () => admin('DELETE', '/agents/shop')],
  ])('is revoked by %s, with all other keys', async (_, revoke) => {
    const { apiKey } = await registered();
    const fresh = ((await renew(apiKey)).body as { apiKey: string }).apiKey;
    await revoke();
    for (const key of [apiKey, fresh]) {
      expect((await push(key, aHeartbeat())).status).toBe(401);
      expect((await renew(key)).status).toBe(401);
    }
  });

  test('registration does not restore the keys of a removed agent with the same name', async () => {
    const { apiKey } = await registered();
    await admin('DELETE', '/agents/shop');
    await registered();
    expect((await push(apiKey, aHeartbeat())).status).toBe(401);
  });

  test('and the key from registration reach the store only as hashes', async () => {
    await renew((await registered()).apiKey);
    const [agent] = await store.findByName('shop', clock.now());
    const stored = { hash: expect.any(String), expiresAt: expect.any(String) };
    expect(agent?.status.tokenHashes).toEqual([stored, stored]);
  });

  test('is not issued to pods', async () => {
    expect((await renew('token-of-shop-1')).body).toEqual(
      problem(403, 'Forbidden', 'pod tokens are renewed by the kubelet, not by this API'),
    );
  });

  test('endless renewals of a stolen key do not block renewals of the owner', async () => {
    const { apiKey } = await registered();
    const keyIn = ({ body }: RigResponse): string => (body as { apiKey: string }).apiKey;
    for (let day = 0; day < 30; day += 1) {
      // A chain of renewals, and repeated renewals of one key.
      let stolen = apiKey;
      for (let index = 0; index < 4; index += 1) {
        const [next] = await Promise.all([renew(stolen), renew(apiKey)]);
        expect(next.status).toBe(200);
        stolen = keyIn(next);
      }
      clock.advance(86_000_000);
    }
    const own = await renew(apiKey);
    expect(own.status).toBe(200);
    expect((await push(keyIn(own), aHeartbeat())).status).toBe(204);
    const agent = await store.find({ namespace: 'platform-remote', name: 'shop' }, clock.now());
    expect(agent!.status.tokenHashes!.length).toBeLessThan(33);
  });

  test('is the same for all renewals of a UTC day, and different after a new registration', async () => {
    const idsOf = async (key: string) =>
      (await Promise.all([renew(key), renew(key)])).map(
        (response) => decodeJwt((response.body as { apiKey: string }).apiKey).jti,
      );
    const { apiKey } = await registered();
    const [first, second] = await idsOf(apiKey);
    expect(first).toBe(second);
    const again = await registered();
    expect(await idsOf(again.apiKey)).not.toContain(first);
  });
});

describe('the credential of a heartbeat', () => {
  test.each<[string, Record<string, string>, number, string]>([
    ['no credential', {}, 401, 'header Authorization: Bearer <key> is required'],
    ['garbage', { authorization: 'Bearer x.y.z' }, 401, 'the token was rejected: invalid bearer token'],
    [
      'a JWT with an invalid signature',
      {
        authorization: `Bearer ${Buffer.from('{"alg":"HS256"}').toString('base64url')}.${Buffer.from('{"sub":"agt_1","agent":"shop","exp":99999999999}').toString('base64url')}.AAAA`,
      },
      401,
      'the key is not valid or has expired; register again',
    ],
    [
      'a token that is not bound to a pod',
      { authorization: 'Bearer unbound' },
      403,
      'the token is not bound to a pod, so it identifies no agent',
    ],
  ])('rejects %s', async (_, headers, status, detail) => {
    const response = await call('POST', '/api/v1/heartbeat', { headers, body: aHeartbeat() });
    expect(response.body).toMatchObject({ status, detail });
    expect(response.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null);
    expect((await admin('GET', '/agents')).body).toEqual([]);
  });

  test('returns 503 without internal details if the API server is unavailable', async () => {
    const response = await push('cluster-away', aHeartbeat());
    expect(response.body).toEqual(
      problem(
        503,
        'Service Unavailable',
        'cannot verify the token: the API server is unavailable; try again',
      ),
    );
    expect(response.headers.get('retry-after')).toBe('2');
  });

  test('rejects the key of a registered agent if no signing key is configured', async () => {
    const { apiKey } = await registered();
    await rig.restart({});
    expect((await push(apiKey, aHeartbeat())).body).toEqual(
      problem(
        401,
        'Unauthorized',
        'registration keys are disabled: neither JWT_SECRET nor PLATFORM_ADMIN_KEY is set',
      ),
    );
  });

  test('accepts a key signed with JWT_SECRET after the admin key is removed', async () => {
    const { apiKey } = await registered();
    await rig.restart({ JWT_SECRET });
    expect((await push(apiKey, aHeartbeat())).status).toBe(204);
  });

  test('returns 409 for a pod with the name of a registered agent', async () => {
    const { apiKey } = await registered();
    await push(apiKey, aHeartbeat());
    const before = (await admin('GET', '/agents/shop/health')).body;
    expect((await push('token-of-a-namesake', aHeartbeat({ instance: 'other' }))).body).toEqual(
      problem(
        409,
        'Conflict',
        'shop in platform-remote is a registered agent, not a workload; use another agent name for the workload',
      ),
    );
    expect((await admin('GET', '/agents/shop/health')).body).toEqual(before);
  });

  test('determines the agent, not the request body', async () => {
    const { apiKey } = await registered('mine');
    const body = aHeartbeat({
      instance: 'another-instance',
      health: { ...aHeartbeat().health, agentName: 'yours' },
    });
    await push(apiKey, body);
    await push('token-of-shop-1', body);
    expect((await admin('GET', '/agents')).body).toMatchObject([
      { agentName: 'mine', namespace: 'platform-remote', runtime: 'docker' },
      { agentName: 'shop', namespace: 'team', runtime: 'k8s' },
    ]);
    for (const name of ['mine', 'shop'])
      expect((await admin('GET', `/agents/${name}/health`)).body).toMatchObject({ agentName: name });
    expect((await admin('GET', '/agents/mine/gap')).body).toMatchObject({ instance: 'another-instance' });
    expect((await admin('GET', '/agents/shop/gap')).body).toMatchObject({ instance: 'shop-1' });
  });
});

describe('a heartbeat', () => {
  test('with only health and gap is accepted', async () => {
    const { apiKey } = await registered();
    const response = await push(apiKey, {
      health: { status: 'ready', checks: [] },
      gap: { score: 77, issues: [] },
    });
    expect(response).toMatchObject({ status: 204, body: '' });
    expect((await admin('GET', '/agents')).body).toEqual([
      {
        agentId: expect.any(String),
        agentName: 'shop',
        namespace: 'platform-remote',
        runtime: 'docker',
        source: 'remote',
        phase: 'Healthy',
        grade: 'B',
        score: 77,
        tokens: 0,
        costUsd: 0,
        evidence: null,
        proved: null,
        compliant: {
          status: 'Unknown',
          reason: 'EvidenceUnknown',
          message: expect.stringMatching(/^an instance sends no evidence; /),
        },
        violations: 0,
        failOpen: null,
        policyMode: null,
        instances: 1,
        lastSeen: '2026-03-01T10:00:00.000Z',
        stop: null,
        stale: false,
      },
    ]);
  });

  test('with evidence and audit is listed with both and with the Compliant condition', async () => {
    const { apiKey } = await registered();
    const item = { kind: 'tool', name: 'search', tier: 'none' } as const;
    const evidence = { shown: 1.5, declared: 4, reported: 1, items: [item] };
    const audit = { declared: 70, proved: 30, failed: ['MODEL-01'], suppressions: [] };
    await push(apiKey, aHeartbeat({ evidence, audit }));
    expect((await admin('GET', '/agents')).body).toMatchObject([
      {
        evidence: { percent: 37, shown: 1.5, declared: 4 },
        proved: 30,
        compliant: {
          status: 'Unknown',
          reason: 'NotShown',
          message:
            'send requests through the sidecar, and report tools and guardrails: evidence is below 50%, without tool search and 1 more',
        },
      },
    ]);
    expect((await admin('GET', '/agents/shop/gap')).body).toMatchObject({ score: 100, evidence, audit });
  });

  test('of a new instance returns 429 after 60 new instances; known instances are still accepted', async () => {
    const { apiKey } = await registered();
    for (let index = 0; index < 60; index += 1)
      expect((await push(apiKey, aHeartbeat({ instance: `i-${index}` }))).status).toBe(204);
    const response = await push(apiKey, aHeartbeat({ instance: 'one-more' }));
    expect(response.body).toEqual(
      problem(
        429,
        'Too Many Requests',
        'the agent has too many new instances right now, or 1,000 reporting instances; try again',
      ),
    );
    expect(response.headers.get('retry-after')).toBe('10');
    clock.advance(10_000);
    expect((await push(apiKey, aHeartbeat({ instance: 'i-59', seq: 2 }))).status).toBe(204);
    expect((await push(apiKey, aHeartbeat({ instance: 'one-more' }))).status).toBe(204);
  });

  test('sent again returns 204 and changes nothing; the next heartbeat within the rate limit returns 429', async () => {
    const { apiKey } = await registered();
    expect((await push(apiKey, aHeartbeat())).status).toBe(204);
    clock.advance(3_000);
    expect((await push(apiKey, aHeartbeat(UNHEALTHY))).status).toBe(204);
    expect((await admin('GET', '/agents/shop/gap')).body).toMatchObject({ score: 100 });
    const early = await push(apiKey, aHeartbeat({ seq: 2, ...UNHEALTHY }));
    expect(early.body).toEqual(
      problem(429, 'Too Many Requests', 'heartbeat rate limit of this instance exceeded; try again'),
    );
    expect(early.headers.get('retry-after')).toBe('7');
    clock.advance(7_000);
    expect((await push(apiKey, aHeartbeat({ seq: 2, ...UNHEALTHY }))).status).toBe(204);
    expect((await admin('GET', '/agents/shop/gap')).body).toMatchObject({ score: 80 });
  });

  test("returns 200 with proofs, the other instances' usage of today, and a changed interval", async () => {
    const { apiKey } = await registered();
    const totals = { tokensToday: 100, costTodayUsd: 0.5 };
    await push(apiKey, aHeartbeat({ instance: 'other', totals }));
    await admin('POST', '/agents/shop/proof/rule/MEM-01', { verifiedBy: 'qa', method: 'looked' });
    const response = await push(apiKey, aHeartbeat({ intervalSeconds: 5 }));
    const proof = {
      ruleId: 'MEM-01',
      origin: 'control-plane' as const,
      verifiedBy: 'qa',
      method: 'looked',
      verifiedAt: '2026-03-01T10:00:00.000Z',
    };
    expect(response).toMatchObject({ status: 200 });
    expect(response.body).toEqual({
      proof: [proof],
      proofRevision: 1,
      othersToday: { tokens: 100, costUsd: 0.5 },
      intervalSeconds: 10,
    });
    clock.advance(10_000);
    const next = aHeartbeat({ seq: 2, intervalSeconds: 10, proof: [proof], proofRevision: 1 });
    expect((await push(apiKey, next)).body).toEqual({ othersToday: { tokens: 100, costUsd: 0.5 } });
    clock.advance(14 * 3_600_000);
    expect((await push(apiKey, { ...next, seq: 3 })).status).toBe(204);
  });

  test('stores the local proofs of its sender', async () => {
    const { apiKey } = await registered();
    const proof = {
      ruleId: 'MODEL-01',
      verifiedBy: 'chaos',
      method: 'unplugged',
      verifiedAt: '2026-02-28T10:00:00.000Z',
    };
    const response = await push(apiKey, aHeartbeat({ proof: [proof] }));
    const stored = { ...proof, origin: 'local' };
    expect(response.body).toEqual({ proof: [stored], proofRevision: 1 });
    expect((await admin('GET', '/agents/shop/proof')).body).toEqual([stored]);
  });

  test('of 64 KiB is accepted; one more byte returns 413, also when compressed', async () => {
    const { apiKey } = await registered();
    const text = JSON.stringify(aHeartbeat());
    const fits = text.padEnd(64 * 1024, ' ');
    const tooLarge = problem(
      413,
      'Content Too Large',
      'the body exceeds the limit of 65536 bytes for this route',
    );
    const authorization = `Bearer ${apiKey}`;
    const send = (body: string | Uint8Array, headers = {}) =>
      call('POST', '/api/v1/heartbeat', { body, headers: { authorization, ...headers } });
    expect((await send(`${fits} `)).body).toEqual(tooLarge);
    const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024, ' '));
    expect((await send(bomb, { 'content-encoding': 'gzip' })).body).toEqual(tooLarge);
    expect((await admin('GET', '/agents/shop/gap')).status).toBe(404);
    expect((await send(fits)).status).toBe(204);
  });

  test('without an end returns 413 and closes the connection', async () => {
    const { apiKey } = await registered();
    const socket = connect(rig.listener.port, '127.0.0.1');
    let received = '';
    socket.setEncoding('utf8').on('data', (text: string) => (received += text));
    const closed = new Promise((resolve) => socket.on('error', () => undefined).on('close', resolve));
    socket.write(
      `POST /api/v1/heartbeat HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${apiKey}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
    );
    // Sends more than the server reads, then stops: writing to a closed connection would discard the received response.
    const chunk = `4000\r\n${' '.repeat(0x4000)}\r\n`;
    for (let sent = 0; sent <= 64 * 1024 + 1024 * 1024; sent += 0x4000) socket.write(chunk);
    await closed;
    expect(received).toMatch(/^HTTP\/1\.1 413 /);
    expect(received).toContain('\r\nconnection: close\r\n');
  });

  test('returns all errors of an invalid body at once', async () => {
    const { apiKey } = await registered();
    const response = await push(apiKey, {
      health: { status: 'fine' },
      gap: { score: 'x', issues: {} },
      seq: 0.5,
    });
    expect((response.body as { errors: { path: string }[] }).errors.map((error) => error.path)).toEqual([
      'seq',
      'health.status',
      'health.checks',
      'gap.score',
      'gap.issues',
    ]);
  });
});

describe('reports', () => {
  test('return 404 for an unknown agent and for an agent without a heartbeat', async () => {
    await registered();
    expect((await admin('GET', '/agents/other/gap')).body).toEqual(
      problem(404, 'Not Found', 'agent other not found'),
    );
    expect((await admin('GET', '/agents/..%2Fx/gap')).body).toMatchObject({ status: 404 });
    for (const report of ['gap', 'health', 'usage'])
      expect((await admin('GET', `/agents/shop/${report}`)).body).toEqual(
        problem(404, 'Not Found', 'no heartbeat received from shop yet'),
      );
    expect((await admin('GET', '/agents/shop/proof')).body).toEqual([]);
    expect((await admin('GET', '/agents/other/proof')).status).toBe(404);
  });

  test('come from the worst live instance, or from the requested instance', async () => {
    const { apiKey } = await registered();
    const usage = {
      windowStartedAt: '2026-03-01T09:59:30.000Z',
      models: [{ modelId: 'm', promptTokens: 3, completionTokens: 4, totalTokens: 7, callCount: 1 }],
      totalTokens: 7,
      totalCalls: 1,
    };
    await push(apiKey, aHeartbeat({ usage, egress: EGRESS }));
    clock.advance(1_000);
    const bad = aHeartbeat({ instance: 'i-2', ...UNHEALTHY });
    await push(apiKey, bad);
    const receipt = { receivedAt: '2026-03-01T10:00:01.000Z', instance: 'i-2' };
    const { evidence, audit } = bad;
    expect((await admin('GET', '/agents/shop/gap')).body).toEqual({
      ...bad.gap,
      evidence,
      audit,
      ...receipt,
    });
    expect((await admin('GET', '/agents/shop/health')).body).toEqual({ ...bad.health, ...receipt });
    expect((await admin('GET', '/agents/shop/usage')).body).toEqual(
      problem(404, 'Not Found', 'the last heartbeat of i-2 has no usage window'),
    );
    expect((await admin('GET', '/agents/shop/usage?instance=i-1')).body).toEqual({
      ...usage,
      receivedAt: '2026-03-01T10:00:00.000Z',
      instance: 'i-1',
    });
    expect((await admin('GET', '/agents/shop/egress')).body).toEqual({ egress: null, ...receipt });
    expect((await admin('GET', '/agents/shop/egress?instance=i-1')).body).toEqual({
      ...{ egress: EGRESS, receivedAt: '2026-03-01T10:00:00.000Z', instance: 'i-1' },
    });
    expect((await admin('GET', '/agents/shop/gap?instance=i-3')).body).toEqual(
      problem(404, 'Not Found', 'no heartbeat received from instance i-3 of shop'),
    );
  });

  test('require the namespace if a name exists in several namespaces', async () => {
    await registered();
    await push('token-of-shop-1', aHeartbeat());
    const conflict = problem(409, 'Conflict', 'shop exists in several namespaces; add ?namespace=', {
      namespaces: ['platform-remote', 'team'],
    });
    expect((await admin('GET', '/agents/shop/gap')).body).toEqual(conflict);
    expect((await admin('DELETE', '/agents/shop')).body).toEqual(conflict);
    expect((await admin('GET', '/agents/shop/gap?namespace=team')).body).toMatchObject({ score: 100 });
    expect((await admin('GET', '/agents/shop/gap?namespace=else')).body).toEqual(
      problem(404, 'Not Found', 'agent shop not found in namespace else'),
    );
    expect((await admin('DELETE', '/agents/shop?namespace=team')).status).toBe(204);
    expect((await admin('GET', '/agents/shop/proof')).body).toEqual([]);
  });
});

describe('the list of agents', () => {
  const names = (response: RigResponse) =>
    (response.body as { agentName: string }[]).map((agent) => agent.agentName);

  test('is empty at first', async () => {
    const response = await admin('GET', '/agents');
    expect(response).toMatchObject({ status: 200, body: [] });
    expect(response.headers.get('x-total-count')).toBe('0');
    expect(response.headers.get('link')).toBeNull();
  });

  test('is paged with the Link header, which keeps the filters', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await registered(name);
    await push('token-of-shop-1', aHeartbeat());
    const pages: string[][] = [];
    let path: string | null = '/api/v1/agents?limit=2&phase=Pending&namespace=platform-remote&mirrored=false';
    while (path !== null) {
      const response = await call('GET', path, { headers: { 'x-admin-key': ADMIN_KEY } });
      expect(response.headers.get('x-total-count')).toBe('5');
      pages.push(names(response));
      expect(path).toContain('&phase=Pending&namespace=platform-remote&mirrored=false');
      path = /^<([^>]+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1] ?? null;
    }
    expect(pages).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
  });

  test.each([
    ['limit=0', [{ path: 'limit', message: 'is not an integer from 1 to 1000' }]],
    ['limit=1&limit=2', [{ path: 'limit', message: 'is given more than once' }]],
    ['continue=x', [{ path: 'continue', message: 'is not a valid continue token' }]],
    [
      'phase=healthy',
      [{ path: 'phase', message: 'is not one of Pending, Healthy, Degraded, Unhealthy, Unknown' }],
    ],
    ['namespace=..', [{ path: 'namespace', message: 'is not a namespace (a DNS label)' }]],
    [
      'grade=E&limit=x',
      [
        { path: 'limit', message: 'is not an integer from 1 to 1000' },
        { path: 'grade', message: 'is not one of A, B, C, D, F' },
      ],
    ],
  ])('rejects ?%s', async (query, errors) => {
    expect((await admin('GET', `/agents?${query}`)).body).toEqual(
      problem(400, 'Bad Request', 'the query is not valid', { errors }),
    );
  });
});

describe('proofs', () => {
  const rule = '/agents/shop/proof/rule/SEC-LLM-04';
  const submission = { verifiedBy: 'k6', method: '429 under load', expiresAt: '2026-06-01T00:00:00.000Z' };

  test('are stored, replaced, listed with expired and removed', async () => {
    await registered();
    const first = await admin('POST', rule, submission);
    const record = {
      ruleId: 'SEC-LLM-04',
      origin: 'control-plane' as const,
      ...submission,
      verifiedAt: '2026-03-01T10:00:00.000Z',
      actor: { method: 'admin-key' },
    };
    expect(first).toMatchObject({ status: 201, body: record });
    expect(await admin('POST', rule, submission)).toMatchObject({ status: 201, body: record });
    expect((await admin('GET', '/agents/shop/proof')).body).toEqual([record]);
    clock.advance(100 * 86_400_000);
    expect((await admin('GET', '/agents/shop/proof')).body).toEqual([{ ...record, expired: true }]);
    expect((await admin('DELETE', rule)).status).toBe(204);
    expect((await admin('GET', '/agents/shop/proof')).body).toEqual([]);
    expect((await admin('DELETE', rule)).body).toEqual(
      problem(404, 'Not Found', 'shop has no proof for SEC-LLM-04'),
    );
  });

  test('for an unknown rule return 400 with the valid ids', async () => {
    await registered();
    for (const method of ['POST', 'DELETE'])
      expect((await admin(method, '/agents/shop/proof/rule/SEC-99', submission)).body).toEqual(
        problem(400, 'Bad Request', 'SEC-99 is not a valid rule id', { validIds: RULE_IDS }),
      );
  });

  test.each<[string, unknown, string[]]>([
    ['a past expiry', { ...submission, expiresAt: '2026-03-01T09:59:59Z' }, ['expiresAt']],
  ])('with %s are rejected with 400', async (_, body, paths) => {
    await registered();
    const response = await admin('POST', rule, body);
    expect(response.body).toMatchObject({ status: 400, detail: 'the proof is not valid' });
    expect((response.body as { errors: { path: string }[] }).errors.map((error) => error.path)).toEqual(
      paths,
    );
    expect((await admin('GET', '/agents/shop/proof')).body).toEqual([]);
  });

  test('of an unknown agent return 404', async () => {
    expect((await admin('POST', rule, submission)).status).toBe(404);
    expect((await admin('DELETE', rule)).status).toBe(404);
  });
});

describe('removal', () => {
  test('deletes the agent; a second removal returns 404', async () => {
    const { apiKey } = await registered();
    await push(apiKey, aHeartbeat());
    expect((await admin('DELETE', '/agents/shop')).status).toBe(204);
    expect((await admin('DELETE', '/agents/shop')).status).toBe(404);
    expect((await admin('GET', '/agents/shop/gap')).status).toBe(404);
    expect((await admin('GET', '/agents')).body).toEqual([]);
  });
});

describe('the process', () => {
  test('is live and ready, and not ready while it stops', async () => {
    expect(await call('GET', '/livez')).toMatchObject({ status: 200, body: { status: 'live' } });
    expect(await call('GET', '/readyz')).toMatchObject({ status: 200, body: { status: 'ready' } });
    stopping = true;
    expect((await call('GET', '/readyz')).body).toEqual(
      problem(503, 'Service Unavailable', 'this process is stopping'),
    );
    expect((await call('GET', '/livez')).status).toBe(200);
  });

  test('is not ready without its store, and routes return 503 without internal details', async () => {
    await store.close();
    expect((await call('GET', '/readyz')).body).toEqual(
      problem(503, 'Service Unavailable', 'the database is not open'),
    );
    expect((await admin('GET', '/agents')).body).toEqual(
      problem(503, 'Service Unavailable', 'the database is unavailable; try again'),
    );
  });

  test('counts requests by route and heartbeats by result', async () => {
    const { apiKey } = await registered();
    await push(apiKey, aHeartbeat());
    await push(apiKey, aHeartbeat());
    await push(apiKey, {});
    await admin('GET', '/agents/some-name/gap');
    await call('GET', '/nowhere');
    const metrics = await call('GET', '/metrics');
    expect(metrics.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    const lines = (metrics.body as string).split('\n').filter((line) => !line.startsWith('#'));
    expect(lines).toEqual(
      expect.arrayContaining([
        'platform_control_plane_heartbeats_total{result="accepted"} 1',
        'platform_control_plane_heartbeats_total{result="repeat"} 1',
        'platform_control_plane_heartbeats_total{result="invalid"} 1',
        'platform_control_plane_requests_total{method="POST",route="/api/v1/register",status="201"} 1',
        'platform_control_plane_requests_total{method="GET",route="/api/v1/agents/:name/gap",status="404"} 1',
        'platform_control_plane_requests_total{method="GET",route="none",status="404"} 1',
      ]),
    );
    expect(metrics.body).not.toContain('some-name');
  });

  test('returns 405 for an unsupported method and 404 for an unknown route', async () => {
    const response = await call('PUT', '/api/v1/agents');
    expect(response).toMatchObject({ status: 405 });
    expect(response.headers.get('allow')).toBe('GET, HEAD');
    expect((await call('GET', '/api/v2/agents')).status).toBe(404);
  });
});
