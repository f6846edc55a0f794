import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { AdminAction } from '../core/shapes/admin-action.ts';
import {
  ADMIN_KEY,
  JWT_SECRET,
  startControlPlaneRig,
  type ControlPlaneRig,
  type RigResponse,
} from '../testing/fleet/control-plane-rig.ts';
import { aHeartbeat } from '../testing/fleet/heartbeat.ts';
import { aPerson, ISSUER, personsOf } from '../testing/fleet/persons.ts';
import { CLIENT_ID } from '../testing/sign-in/identity-provider.ts';
import { CookieJar, startSignInRig } from '../testing/sign-in/sign-in-rig.ts';
import { Organisation } from './organisation/organisation.ts';
import { silentLogger } from '../runtime/logger.ts';
import { ManifestWorker } from '../runtime/manifest-worker.ts';
import { loadRoles } from './auth/access/roles.ts';

const READ_KEY = 'read-key-of-the-rig';
const SESSION_SECRET = 'session-secret-of-the-rig-with-32-characters';
const SESSION_COOKIE = '__Host-platform-session';

/** Each namespace and each agent has the mark of its owners, so that a response shows whose it is about. */
const ROLES = `
roles:
  - {role: viewer, groups: ["oidc:aster"], namespaces: ["ns-aster"]}
  - {role: viewer, users: ["${ISSUER}#foreigner"], namespaces: ["ns-birch"]}
  - {role: viewer, users: ["${ISSUER}#both"], namespaces: ["ns-aster", "ns-birch"]}
  - {role: approver, users: ["${ISSUER}#approver"], namespaces: ["ns-aster"]}
  - {role: operator, users: ["${ISSUER}#operator"], namespaces: ["ns-*"]}
  - {role: admin, users: ["${ISSUER}#admin"], groups: ["oidc:chiefs"], namespaces: ["*"]}
`;
const PERSONS = [
  aPerson('viewer', ['oidc:aster', 'oidc:other']),
  { ...aPerson('approver'), user: 'oidc:a@id.example' },
  ...['foreigner', 'both', 'operator', 'admin', 'stranger'].map((sub) => aPerson(sub)),
];

const AGENTS = [
  ['ns-aster', 'aster-only'],
  ['ns-aster', 'shared'],
  ['ns-birch', 'birch-only'],
  ['ns-birch', 'shared'],
  ['ns-cedar', 'cedar-only'],
  ['ns-cedar', 'shared'],
] as const;

let rig: ControlPlaneRig;
let directory: string;
let logged: Readonly<Record<string, unknown>>[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'roles-'));
  await writeFile(join(directory, 'roles.yaml'), ROLES);
  const policy = {
    name: 'production',
    spec: {
      rules: [],
      exceptions: ['aster', 'birch', 'cedar'].map((each) => ({
        ...{ namespace: `ns-${each}`, agents: [`${each}-only`], rules: [], reason: `pilot of ${each}` },
        expires: '2027-01-01T00:00:00.000Z',
      })),
    },
  };
  logged = [];
  rig = await startControlPlaneRig({
    logger: { ...silentLogger, info: (message, fields) => void logged.push({ message, ...fields }) },
    signOn: [personsOf(PERSONS)],
    access: await loadRoles(join(directory, 'roles.yaml')),
    organisation: new Organisation(
      {
        policies: () => [policy],
        problem: () => null,
        invalid: () => [],
        labelsOf: () => ({}),
      },
      new ManifestWorker(),
    ),
  });
  await rig.restart({ PLATFORM_ADMIN_KEY: ADMIN_KEY, PLATFORM_READ_KEY: READ_KEY, JWT_SECRET });
  for (const [namespace, name] of AGENTS) await addAgent(namespace, name);
  for (const mark of ['aster', 'birch', 'cedar']) {
    const stop = { namespace: `ns-${mark}`, agents: [`${mark}-*`], reason: `by ${mark}` };
    expect((await as('admin', 'POST', '/stops', stop)).status).toBe(201);
  }
  logged.length = 0;
});
afterEach(async () => {
  await rig.close();
  await rm(directory, { recursive: true });
});

async function addAgent(namespace: string, name: string): Promise<void> {
  const at = rig.clock.now();
  await rig.store.register({ namespace, name, runtime: 'docker', manifest: null }, at);
  const usage = { windowStartedAt: at.toISOString(), models: [], totalTokens: 0, totalCalls: 0 };
  const suppressions = [{ rule: 'MODEL-02', reason: `by the owner of ${name}`, state: 'active' as const }];
  const audit = { declared: 90, proved: 40, failed: ['MODEL-01'], suppressions };
  const heartbeat = aHeartbeat({ usage, audit });
  await rig.store.heartbeat({ namespace, name, source: 'remote', instance: 'i-1', heartbeat, at });
}

/** Everything that the control plane keeps, without the log of admin actions. */
const everything = async (): Promise<string> =>
  (await rig.stored()) + JSON.stringify((await as('admin', 'GET', '/stops')).body);

type Caller = keyof typeof CALLERS;
const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
const CALLERS = {
  'no credential': {} as Record<string, string>,
  'a wrong key': { 'x-admin-key': 'guess-of-a-key-of-the-rig' },
  'a forged token': bearer('eyJhbGciOiJub25lIn0.e30.'),
  'an expired token': bearer('expired'),
  'a person without a role': bearer('person-stranger'),
  'a viewer of another namespace': bearer('person-foreigner'),
  'a viewer': bearer('person-viewer'),
  'the read key': { 'x-admin-key': READ_KEY },
};

const send = (headers: Record<string, string>, method: string, path: string, body?: unknown) =>
  rig.send(method, path, { headers, ...(body !== undefined && { body }) });
const as = (sub: string, method: string, path: string, body?: unknown): Promise<RigResponse> =>
  send(bearer(`person-${sub}`), method, `/api/v1${path}`, body);

/** The statuses of a kind of route for CALLERS, in their order. */
const NO_PERSON = [401, 403, 401, 401] as const;
const KINDS = {
  open: [null, null, null, null, null, null, null, null],
  // The credential of a person is not that of an agent.
  agentsOwn: [401, 401, 401, 401, 401, 401, 401, 401],
  list: [...NO_PERSON, 200, 200, 200, 200],
  agent: [...NO_PERSON, 404, 404, 200, 200],
  change: [...NO_PERSON, 404, 404, 403, 403],
  everywhere: [...NO_PERSON, 403, 403, 403, 403],
} as const;

interface Row {
  kind: keyof typeof KINDS;
  path: string;
  body?: unknown;
  /** Of the admin key. */
  ok: number;
}

const PROOF = '/api/v1/agents/aster-only/proof/rule/MEM-01';
const ofAgent = (part: string): Row => ({ kind: 'agent', path: `/api/v1/agents/aster-only${part}`, ok: 200 });
const list = (path: string): Row => ({ kind: 'list', path: `/api/v1${path}`, ok: 200 });
const open = (path: string, ok = 200): Row => ({ kind: 'open', path, ok });
const own = (path: string): Row => ({ kind: 'agentsOwn', path, body: {}, ok: 401 });

/** A request to every operation of the OpenAPI document, in an order in which each succeeds with the admin key. */
const ROWS: Readonly<Record<string, Row>> = {
  'GET /livez': open('/livez'),
  'GET /readyz': open('/readyz'),
  'GET /metrics': open('/metrics'),
  'GET /openapi.json': open('/openapi.json'),
  'GET /': { ...open('/'), ok: expect.any(Number) as never },
  // The rig has no identity provider; auth/oidc tests the sign-in.
  'GET /auth/login': open('/auth/login', 503),
  'GET /auth/callback': open('/auth/callback', 503),
  'POST /auth/logout': open('/auth/logout', 503),
  'GET /assets/{file}': { ...open('/assets/unknown.js'), ok: expect.any(Number) as never },
  'POST /api/v1/heartbeat': own('/api/v1/heartbeat'),
  'POST /api/v1/token': own('/api/v1/token'),
  'PUT /api/v1/manifest': own('/api/v1/manifest'),
  'POST /api/v1/audit-events': own('/api/v1/audit-events'),
  'GET /api/v1/directives': { kind: 'agentsOwn', path: '/api/v1/directives', ok: 401 },
  'GET /api/v1/stops': list('/stops'),
  'POST /api/v1/stops': {
    ...{ kind: 'everywhere', path: '/api/v1/stops', ok: 201 },
    body: { namespace: 'ns-aster', reason: 'a test' },
  },
  'DELETE /api/v1/stops/{namespace}/{stop}': {
    ...{ kind: 'everywhere', path: '/api/v1/stops/ns-aster/unknown', ok: 404 },
  },
  'GET /api/v1/me': list('/me'),
  'GET /api/v1/agents': list('/agents?trend=true'),
  'GET /api/v1/coverage': list('/coverage'),
  'GET /api/v1/rules': list('/rules'),
  'GET /api/v1/organisation': list('/organisation'),
  'GET /api/v1/history': list('/history'),
  'GET /api/v1/audit-events': list('/audit-events'),
  // The head only: the stream does not end.
  'GET /api/v1/stream': list('/stream'),
  'GET /api/v1/agents/{name}': ofAgent(''),
  'GET /api/v1/agents/{name}/organisation': ofAgent('/organisation'),
  'GET /api/v1/agents/{name}/gap': ofAgent('/gap'),
  'GET /api/v1/agents/{name}/health': ofAgent('/health'),
  'GET /api/v1/agents/{name}/egress': ofAgent('/egress'),
  'GET /api/v1/agents/{name}/usage': ofAgent('/usage'),
  'GET /api/v1/agents/{name}/history': ofAgent('/history'),
  'GET /api/v1/agents/{name}/audit-heads': ofAgent('/audit-heads'),
  'GET /api/v1/agents/{name}/proof': ofAgent('/proof'),
  'POST /api/v1/agents/{name}/proof/rule/{ruleId}': {
    ...{ kind: 'change', path: PROOF, body: { verifiedBy: 'k6', method: 'load' }, ok: 201 },
  },
  'DELETE /api/v1/agents/{name}/proof/rule/{ruleId}': { kind: 'change', path: PROOF, ok: 204 },
  'DELETE /api/v1/agents/{name}': { kind: 'change', path: '/api/v1/agents/aster-only', ok: 204 },
  'POST /api/v1/register': {
    ...{ kind: 'everywhere', path: '/api/v1/register', ok: 201 },
    body: { agentName: 'new', runtime: 'docker' },
  },
  'GET /api/v1/admin-actions': { kind: 'everywhere', path: '/api/v1/admin-actions', ok: 200 },
};

const request = (caller: Record<string, string>, operation: string): Promise<RigResponse> => {
  const [method = ''] = operation.split(' ');
  const { path, body } = ROWS[operation]!;
  return send(caller, path.endsWith('/stream') ? 'HEAD' : method, path, body);
};

/** Everything that a client receives, without the names that it sent. */
function textOf(operation: string, { headers, body }: RigResponse): string {
  const sent = JSON.stringify(ROWS[operation]);
  const text = JSON.stringify([...headers]) + JSON.stringify(body);
  const names = ['aster-only', 'ns-aster'].filter((name) => sent.includes(name));
  return names.reduce((rest, name) => rest.replaceAll(name, ''), text);
}

describe('every operation of the document', () => {
  test('has a row', async () => {
    const { paths } = (await send({}, 'GET', '/openapi.json')).body as { paths: Record<string, object> };
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(Object.keys(ROWS).sort()).toEqual(operations.sort());
  });

  test.each(Object.keys(CALLERS).map((name, index) => [name as Caller, index] as const))(
    'for %s',
    async (name, index) => {
      const before = await everything();
      const seen: Record<string, unknown> = {};
      const wanted: Record<string, unknown> = {};
      const leaks: string[] = [];
      const marks = name === 'a viewer' ? ['birch', 'cedar'] : ['aster', 'cedar'];
      for (const [operation, { kind, ok }] of Object.entries(ROWS)) {
        const response = await request(CALLERS[name], operation);
        seen[operation] = response.status;
        wanted[operation] = KINDS[kind][index] ?? ok;
        const text = textOf(operation, response);
        if (name !== 'the read key')
          leaks.push(...marks.filter((mark) => text.includes(mark)).map((mark) => `${operation}: ${mark}`));
      }
      expect(seen).toEqual(wanted);
      expect(leaks).toEqual([]);
      expect(await everything()).toBe(before);
    },
  );

  /** With every right, so that nothing but the session can be the reason for a refusal. */
  async function sessionFrom(start: string): Promise<Record<string, string>> {
    const signIn = await startSignInRig({ start, env: { SESSION_SECRET } });
    signIn.provider.account = { sub: 'chief', groups: ['chiefs'] };
    const jar = new CookieJar();
    await jar.follow(`${signIn.url}/auth/login`);
    const value = jar.get(signIn.url, SESSION_COOKIE);
    expect(value).toBeDefined();
    await rig.restart({
      ...{ PLATFORM_ADMIN_KEY: ADMIN_KEY, JWT_SECRET, SESSION_SECRET, OIDC_ISSUER: signIn.provider.url },
      ...{ OIDC_CLIENT_ID: CLIENT_ID, PUBLIC_URL: signIn.url },
    });
    // A session needs no provider.
    await signIn.close();
    return { cookie: `${SESSION_COOKIE}=${value}` };
  }

  const OWN = { 'sec-fetch-site': 'same-origin' };
  const START = '2026-03-01T09:00:01.000Z';
  type Statuses = readonly [read: number | null, write: number];
  test.each<[what: string, start: string, page: Record<string, string>, statuses: Statuses]>([
    ['a session that has expired', '2026-03-01T09:00:00.000Z', OWN, [401, 401]],
    // SameSite=Strict does not keep the cookie back.
    ['a form on another port of the host', START, { 'sec-fetch-site': 'same-site' }, [null, 403]],
    ['a form in a browser without Sec-Fetch-Site', START, {}, [null, 403]],
  ])('for %s', async (_what, start, page, [read, write]) => {
    const cookie = await sessionFrom(start);
    const caller = { ...cookie, ...page };
    const before = await everything();
    const seen: Record<string, unknown> = {};
    const wanted: Record<string, unknown> = {};
    const isOwn = page === OWN;
    for (const [operation, { kind, ok }] of Object.entries(ROWS)) {
      seen[operation] = (await request(caller, operation)).status;
      const isSafe = operation.startsWith('GET ');
      wanted[operation] = kind === 'open' || kind === 'agentsOwn' ? ok : ((isSafe ? read : write) ?? ok);
    }
    // The provider is away; who is not signed in any more may sign out.
    expect(seen).toEqual({
      ...wanted,
      ...{ 'GET /auth/callback': 400, 'POST /auth/logout': isOwn ? 200 : 403 },
    });
    expect(await everything()).toBe(before);
    // What refuses is the page, and not a missing right.
    const { status } = await request({ ...cookie, ...OWN }, 'POST /api/v1/stops');
    expect(status).toBe(isOwn ? 401 : 201);
  });

  test('for the admin key', async () => {
    for (const [operation, { ok }] of Object.entries(ROWS)) {
      const { status } = await request({ 'x-admin-key': ADMIN_KEY }, operation);
      expect([operation, status]).toEqual([operation, ok]);
    }
  });

  test('for the read key with a write says that the key can only read', async () => {
    for (const operation of Object.keys(ROWS).filter((each) => ROWS[each]!.kind === 'change'))
      expect(await request(CALLERS['the read key'], operation)).toMatchObject({
        body: { title: 'Forbidden', detail: 'this key can only read' },
      });
  });
});

describe('what a caller sees', () => {
  const namesOf = ({ body }: RigResponse): string[] =>
    (body as { namespace: string; agentName: string }[]).map((row) => `${row.namespace}/${row.agentName}`);

  test.each([
    ['viewer', ['ns-aster/aster-only', 'ns-aster/shared']],
    ['foreigner', ['ns-birch/birch-only', 'ns-birch/shared']],
    ['both', ['ns-aster/aster-only', 'ns-aster/shared', 'ns-birch/birch-only', 'ns-birch/shared']],
    ['operator', AGENTS.map(([namespace, name]) => `${namespace}/${name}`)],
    ['stranger', []],
  ])('%s: the list, its count and its pages', async (sub, agents) => {
    const all = await as(sub, 'GET', '/agents');
    expect(namesOf(all)).toEqual(agents);
    expect(all.headers.get('x-total-count')).toBe(String(agents.length));
    const paged: string[] = [];
    for (let path: string | undefined = '/agents?limit=1'; path !== undefined;) {
      const page = await as(sub, 'GET', path);
      expect(page.headers.get('x-total-count')).toBe(String(agents.length));
      paged.push(...namesOf(page));
      path = /^<\/api\/v1([^>]+)>/.exec(page.headers.get('link') ?? '')?.[1];
    }
    expect(paged).toEqual(agents);
  });

  test('a page after an agent of another namespace has only visible agents', async () => {
    const position = Buffer.from('ns-aster/aster-only').toString('base64url');
    expect(namesOf(await as('foreigner', 'GET', `/agents?continue=${position}`))).toEqual([
      'ns-birch/birch-only',
      'ns-birch/shared',
    ]);
  });

  test.each(['/agents', '/coverage', '/history'])(
    '%s of another namespace is 403, as of one that does not exist',
    async (path) => {
      const refused = async (namespace: string) => {
        const { status, body } = await as('viewer', 'GET', `${path}?namespace=${namespace}`);
        return [status, (body as { detail: string }).detail];
      };
      const text = (namespace: string) => `the caller has no right to read agents in namespace ${namespace}`;
      expect(await refused('ns-birch')).toEqual([403, text('ns-birch')]);
      expect(await refused('unknown')).toEqual([403, text('unknown')]);
      expect((await as('viewer', 'GET', `${path}?namespace=ns-aster`)).status).toBe(200);
    },
  );

  test.each([
    '',
    '/gap',
    '/proof',
    '/history',
    '/organisation',
    '?namespace=ns-birch',
    '/gap?namespace=ns-birch',
  ])('an agent of another namespace is 404 like one that does not exist: %s', async (part) => {
    const answer = async (name: string) => {
      const { status, body } = await as('viewer', 'GET', `/agents/${name}${part}`);
      return [status, JSON.stringify(body).replaceAll(name, 'NAME')];
    };
    expect(await answer('birch-only')).toEqual(await answer('never-existed'));
    expect((await answer('birch-only'))[0]).toBe(404);
  });

  test.each([
    ['viewer', 200, undefined],
    ['foreigner', 200, undefined],
    ['both', 409, ['ns-aster', 'ns-birch']],
    ['operator', 409, ['ns-aster', 'ns-birch', 'ns-cedar']],
    ['stranger', 404, undefined],
  ])('%s: a name in several namespaces is %d', async (sub, status, namespaces) => {
    const response = await as(sub, 'GET', '/agents/shared');
    expect(response.status).toBe(status);
    expect((response.body as { namespaces?: string[] }).namespaces).toEqual(namespaces);
  });

  test('coverage, history, rules and organisation rules count only visible agents', async () => {
    const counts = async (sub: string) => {
      const [coverage, history, rules, organisation] = await Promise.all(
        ['/coverage', '/history', '/rules', '/organisation'].map(
          async (path) => (await as(sub, 'GET', path)).body,
        ),
      );
      const { agents } = coverage as { agents: number };
      const { points } = history as { points: { agents: number }[] };
      const [policy] = (
        organisation as { policies: { agents: number; exceptions: { namespace: string }[] }[] }
      ).policies;
      const { failingCount, failing } = (
        rules as { id: string; failingCount: number; failing: object[] }[]
      ).find(({ id }) => id === 'MODEL-01')!;
      return {
        ...{ failingCount, failing: failing.length },
        ...{ agents, points: points.map((point) => point.agents) },
        ...{ judged: policy!.agents, exceptions: policy!.exceptions.map(({ namespace }) => namespace) },
      };
    };
    expect(await counts('viewer')).toMatchObject({
      failingCount: 2,
      failing: 2,
      agents: 2,
      points: [2],
      judged: 2,
      exceptions: ['ns-aster'],
    });
    expect(await counts('operator')).toMatchObject({
      failingCount: 6,
      failing: 6,
      agents: 6,
      points: [6],
      judged: 6,
    });
    expect(await counts('stranger')).toMatchObject({
      failingCount: 0,
      failing: 0,
      agents: 0,
      points: [],
      judged: 0,
      exceptions: [],
    });
  });

  test('an ETag of one caller does not fit another', async () => {
    for (const path of ['/agents', '/organisation', '/rules']) {
      const own = await as('viewer', 'GET', path);
      const tag = own.headers.get('etag')!;
      const ask = (sub: string) =>
        rig.send('GET', `/api/v1${path}`, { headers: { ...bearer(`person-${sub}`), 'if-none-match': tag } });
      expect((await ask('viewer')).status).toBe(304);
      expect((await ask('foreigner')).status).toBe(200);
      expect(own.headers.get('cache-control')).toBe('no-store');
    }
  });

  test('a namespace with its first agent appears within a second', async () => {
    await as('operator', 'GET', '/agents');
    await addAgent('ns-new', 'new');
    rig.clock.advance(1_000);
    expect(namesOf(await as('operator', 'GET', '/agents'))).toContain('ns-new/new');
  });
});

describe('what a caller may do', () => {
  const proof = { verifiedBy: 'k6', method: 'load' };
  const rule = (name: string) => `/agents/${name}/proof/rule/MEM-01`;

  test.each([
    ['viewer', 'aster-only', 403],
    ['operator', 'aster-only', 403],
    ['approver', 'aster-only', 201],
    ['approver', 'birch-only', 404],
    ['admin', 'birch-only', 201],
  ])('%s submits a proof of %s: %d', async (sub, name, status) => {
    const response = await as(sub, 'POST', rule(name), proof);
    expect(response.status).toBe(status);
    if (status === 403)
      expect(response.body).toMatchObject({
        detail: 'the caller has no right to submit proofs in namespace ns-aster',
      });
  });

  test('a proof has its caller as actor, which its agent does not receive', async () => {
    const actor = { method: 'oidc', iss: ISSUER, sub: 'approver', name: 'Name of approver' };
    const stored = await as('approver', 'POST', rule('aster-only'), proof);
    expect(stored.body).toMatchObject({ ...proof, actor });
    expect((await as('viewer', 'GET', '/agents/aster-only/proof')).body).toMatchObject([{ ...proof, actor }]);
    const { apiKey } = await rig.register('shop');
    await as('admin', 'POST', rule('shop'), proof);
    const reply = await rig.heartbeat(apiKey);
    expect(reply.body).toMatchObject({ proof: [{ ruleId: 'MEM-01', verifiedBy: 'k6' }] });
    expect(JSON.stringify(reply.body)).not.toContain('actor');
  });

  test.each([
    ['viewer', { namespace: 'ns-aster' }, 403, 'stop agents in namespace ns-aster'],
    ['approver', { namespace: 'ns-aster' }, 403, 'stop agents in namespace ns-aster'],
    ['operator', { namespace: 'ns-aster' }, 201, ''],
    // The stop of all agents is one of the namespace of the release.
    ['operator', {}, 403, 'stop agents in namespace platform-system'],
    ['admin', {}, 201, ''],
  ])('%s stops %j: %d', async (sub, where, status, refusal) => {
    const response = await as(sub, 'POST', '/stops', { ...where, reason: 'a test' });
    expect(response.status).toBe(status);
    if (status === 403) {
      expect(response.body).toMatchObject({ detail: `the caller has no right to ${refusal}` });
      return;
    }
    const { id } = response.body as { id: string };
    expect(response.body).toMatchObject({ by: `oidc:${sub}` });
    const listed = async (who: string) =>
      ((await as(who, 'GET', '/stops')).body as { id: string }[]).map((stop) => stop.id);
    expect(await listed(sub)).toContain(id);
    expect(await listed('foreigner')).not.toContain(id);
    const remove = (who: string) => as(who, 'DELETE', `/stops/${id}`);
    expect((await remove('viewer')).status).toBe(403);
    expect((await remove(sub)).status).toBe(204);
    expect(await listed(sub)).not.toContain(id);
  });

  test('writes and refusals are recorded with their callers', async () => {
    await as('approver', 'POST', rule('aster-only'), proof);
    await as('viewer', 'DELETE', rule('aster-only'));
    await as('admin', 'DELETE', '/agents/aster-only');
    await rig.register('shop');
    const { body } = await as('admin', 'GET', '/admin-actions?limit=4');
    expect(
      (body as AdminAction[]).map(({ action, actor, status }) => [
        action,
        actor?.sub ?? actor?.method,
        status,
      ]),
    ).toEqual([
      ['registerAgent', 'admin-key', 201],
      ['deleteAgent', 'admin', 204],
      ['deleteProof', 'viewer', 403],
      ['submitProof', 'approver', 201],
    ]);
  });

  test.each([
    ['approver', 201],
    ['APPROVER ', 403],
    ['name of Approver', 403],
    // As Kubernetes names the caller, and the claim without the prefix.
    ['oidc:a@id.example', 403],
    ['A@id.example', 403],
    ['another', 201],
  ])('with PROOF_APPROVER_NOT_AUTHOR, verifiedBy %j of the approver: %d', async (verifiedBy, status) => {
    const isOn = verifiedBy !== 'approver';
    await rig.restart({
      ...{ PLATFORM_ADMIN_KEY: ADMIN_KEY, JWT_SECRET, PROOF_APPROVER_NOT_AUTHOR: String(isOn) },
      ...{ OIDC_ISSUER: ISSUER, OIDC_CLIENT_ID: 'dashboard', PUBLIC_URL: 'https://agents.example' },
    });
    const response = await as('approver', 'POST', rule('aster-only'), { ...proof, verifiedBy });
    expect(response.status).toBe(status);
    if (status === 403)
      expect(response.body).toMatchObject({
        detail: 'the approver of a proof must not be its author: verifiedBy is the caller',
      });
  });

  test.each([
    ['viewer', { read: ['ns-aster'], stop: [], resume: [], prove: [], admin: false }],
    ['approver', { read: ['ns-aster'], stop: [], resume: [], prove: ['ns-aster'], admin: false }],
    ['admin', { read: '*', stop: '*', resume: '*', prove: '*', admin: true }],
    ['stranger', { read: [], stop: [], resume: [], prove: [], admin: false }],
  ])('%s gets its rights', async (sub, can) => {
    expect((await as(sub, 'GET', '/me')).body).toEqual({
      ...{ method: 'oidc', iss: ISSUER, sub, name: `Name of ${sub}`, overage: false, can, until: null },
    });
  });

  test('keys get their rights', async () => {
    const me = async (key: string) => (await send({ 'x-admin-key': key }, 'GET', '/api/v1/me')).body;
    const none = { stop: [], resume: [], prove: [], admin: false };
    expect(await me(READ_KEY)).toMatchObject({ method: 'read-key', can: { read: '*', ...none } });
    expect(await me(ADMIN_KEY)).toMatchObject({ method: 'admin-key', can: { read: '*', admin: true } });
  });

  test('the use of the admin key is counted, and logged once per minute and address', async () => {
    await send({ 'x-admin-key': ADMIN_KEY }, 'GET', '/api/v1/me');
    await send({ 'x-admin-key': ADMIN_KEY }, 'GET', '/api/v1/agents');
    await send({ 'x-admin-key': READ_KEY }, 'GET', '/api/v1/agents');
    const used = { message: 'admin key used', source: '127.0.0.1', path: '/api/v1/me' };
    expect(logged).toEqual([used]);
    rig.clock.advance(60_000);
    await send({ 'x-admin-key': ADMIN_KEY }, 'GET', '/api/v1/rules');
    expect(logged).toEqual([used, { ...used, path: '/api/v1/rules' }]);
    const { body } = await send({}, 'GET', '/metrics');
    expect(body).toContain('platform_control_plane_admin_key_requests_total 3\n');
  });

  test('a request without a credential learns which are accepted', async () => {
    const asked = async () => {
      const { status, headers, body } = await send({}, 'GET', '/api/v1/agents');
      return [status, headers.get('www-authenticate'), (body as { detail: string }).detail];
    };
    expect(await asked()).toEqual([
      ...[401, 'X-Admin-Key, Bearer', 'header X-Admin-Key, or Authorization: Bearer <token>, is required'],
    ]);
    // Sign-on is enough.
    await rig.restart({ JWT_SECRET });
    expect((await asked())[0]).toBe(401);
    expect((await as('viewer', 'GET', '/agents')).status).toBe(200);
  });

  test('a registration without a key to sign with changes nothing', async () => {
    await rig.restart({});
    const before = await rig.stored();
    const response = await as('admin', 'POST', '/register', { agentName: 'new', runtime: 'docker' });
    expect(response).toMatchObject({ status: 503, body: { detail: expect.stringContaining('JWT_SECRET') } });
    expect(await rig.stored()).toBe(before);
  });
});
