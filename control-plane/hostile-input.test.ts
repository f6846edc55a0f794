import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { SignJWT } from 'jose';
import { HTTP_BODIES } from '../scripts/http-bodies.ts';
import { DOCUMENTS } from '../scripts/openapi-documents.ts';
import {
  ADMIN_KEY,
  JWT_SECRET,
  startControlPlaneRig,
  type ControlPlaneRig,
  type RegisteredAgent,
  type RigRequest,
  type RigResponse,
} from '../testing/fleet/control-plane-rig.ts';
import { HOSTILE_SEGMENTS, hostileBodies, hostileQueries } from '../testing/http/hostile-requests.ts';
import { ApiSchemas, operationsOf, type ApiDocument } from '../testing/http/open-api.ts';
import { askRaw } from '../testing/sidecar/proxy-rig.ts';
import { createRegistrationTokens } from './auth/registration-token.ts';

/** Bad input to every part of every operation of the document: the right status, and nothing is stored. */
const DOCUMENT = DOCUMENTS['control-plane']() as unknown as ApiDocument;
const SCHEMAS = new ApiSchemas(DOCUMENT.components);
const OPERATIONS = operationsOf(DOCUMENT).filter(({ path }) => path.startsWith('/api/'));
/** The largest body that a route accepts. */
const BODY_LIMIT = 256 * 1024;

const example = (title: string): object => {
  const body = HTTP_BODIES.find((each) => each.title === title);
  if (body === undefined) throw new Error(`there is no example of ${title}`);
  return body.example;
};
/** A valid body by operation. */
const BODIES: Record<string, object> = {
  registerAgent: example('Registration'),
  sendHeartbeat: example('Heartbeat'),
  submitProof: example('Proof'),
  createStop: { agents: ['shop'], reason: 'leak', until: '2126-01-01T00:00:00.000Z' },
};
/** Values of parameters of the path. */
const SEGMENTS: Record<string, string> = {
  name: 'shop',
  ruleId: 'SEC-LLM-01',
  namespace: 'team',
  stop: 'incident',
};

let rig: ControlPlaneRig;
let shop: RegisteredAgent;
let before: string;
beforeAll(async () => {
  rig = await startControlPlaneRig();
  shop = await rig.register('shop');
  await rig.register('other');
  await rig.heartbeat(shop.apiKey);
  await rig.admin('POST', '/agents/shop/proof/rule/SEC-LLM-01', BODIES['submitProof']);
  before = await rig.stored();
});
afterEach(async () => {
  expect(await rig.stored()).toBe(before);
});
afterAll(() => rig.close());

/** The path with valid values, except for the given ones. */
const pathOf = (path: string, values: Record<string, string> = {}): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? SEGMENTS[name] ?? 'x');

const keysOf = (scheme: string): Record<string, string> =>
  scheme === 'adminKey' ? { 'x-admin-key': ADMIN_KEY } : { authorization: `Bearer ${shop.apiKey}` };

function expectRejected({ status, headers, body }: RigResponse, statuses: readonly number[]): void {
  expect(statuses).toContain(status);
  expect(headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
  expect(body).toMatchObject({ type: 'about:blank', status, detail: expect.any(String) });
}

const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const signed = (claims: object, secret: string): Promise<string> =>
  new SignJWT({ ...claims }).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(secret));

/** Wrong credentials by security scheme, with the expected status. */
const CREDENTIALS: Record<string, () => Promise<[string, Record<string, string>, number][]>> = {
  adminKey: async () => [
    ['no key', {}, 401],
    ['an empty key', { 'x-admin-key': '' }, 401],
    ['a wrong key', { 'x-admin-key': 'x' }, 403],
    ['a longer key', { 'x-admin-key': `${ADMIN_KEY}x` }, 403],
    ['the key twice', { 'x-admin-key': `${ADMIN_KEY}, ${ADMIN_KEY}` }, 403],
    ['the name of a prototype', { 'x-admin-key': '__proto__' }, 403],
    ['a long key', { 'x-admin-key': 'x'.repeat(8_000) }, 403],
    ['the key of an agent', { 'x-admin-key': shop.apiKey }, 403],
    ['the key as a bearer token', { authorization: `Bearer ${ADMIN_KEY}` }, 401],
  ],
  agentKey: async () => {
    const { agentId } = shop;
    const tokensOf = (secret: string) =>
      createRegistrationTokens(() => Promise.resolve([new TextEncoder().encode(secret)]));
    const [tokens, foreign] = [tokensOf(JWT_SECRET), tokensOf('x'.repeat(32))];
    const subject = { agentId, agentName: 'shop' };
    const longAgo = new Date(rig.clock.now().getTime() - 31 * 86_400_000);
    const claims = base64({ sub: agentId, agent: 'shop', exp: 9_999_999_999 });
    const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
    return [
      ['no token', {}, 401],
      ['another scheme', { authorization: 'Basic eDp5' }, 401],
      ['an empty token', { authorization: 'Bearer ' }, 401],
      ['two tokens', bearer('a b'), 401],
      ['a text', bearer('x.y.z'), 401],
      ['a long text', bearer('x'.repeat(8_000)), 401],
      ['the admin key', bearer(ADMIN_KEY), 401],
      ['a token without a signature', bearer(`${base64({ alg: 'none' })}.${claims}.`), 401],
      ['a token of another algorithm', bearer(`${base64({ alg: 'RS256' })}.${claims}.AAAA`), 401],
      ['a token with other claims', bearer(`${base64({ alg: 'HS256' })}.${claims}.AAAA`), 401],
      ['a token of another kind', bearer(await signed({ sub: agentId, agent: 'shop' }, JWT_SECRET)), 401],
      ['a foreign signature', bearer((await foreign.issue(subject, rig.clock.now())).apiKey), 401],
      ['an expired token', bearer((await tokens.issue(subject, longAgo)).apiKey), 401],
      ['a token that is not stored', bearer((await tokens.issue(subject, rig.clock.now())).apiKey), 401],
      [
        'a token of a removed agent',
        bearer((await tokens.issue({ agentId: 'agt_gone', agentName: 'gone' }, rig.clock.now())).apiKey),
        401,
      ],
    ];
  },
};

describe.each(OPERATIONS)('$method $path', ({ method, path, operation }) => {
  const [scheme = ''] = operation.security.flatMap((each) => Object.keys(each));
  const valid = BODIES[operation.operationId];
  const schema = operation.requestBody?.content['application/json']?.schema;
  const send = (to: string, { headers = {}, body = valid }: RigRequest = {}): Promise<RigResponse> =>
    rig.send(method, to, { headers: { ...keysOf(scheme), ...headers }, ...(schema && { body }) });

  test('rejects each wrong credential before it reads the body', async () => {
    const wrong = (await CREDENTIALS[scheme]?.()) ?? [];
    expect(wrong.length).toBeGreaterThan(5);
    for (const [title, headers, status] of wrong) {
      const body = schema && { body: '{not json' };
      const response = await rig.send(method, pathOf(path), { headers, ...body });
      expect([title, response.status]).toEqual([title, status]);
      expectRejected(response, [status]);
    }
  });

  test('rejects bad values of the path', async () => {
    const names = (operation.parameters ?? []).filter((each) => each.in === 'path').map(({ name }) => name);
    for (const name of names)
      for (const segment of HOSTILE_SEGMENTS)
        expectRejected(await send(pathOf(path, { [name]: segment })), [400, 404]);
  });

  test('rejects bad values of the query', async () => {
    for (const { title, query, name, statuses } of hostileQueries(operation, SCHEMAS)) {
      const response = await send(`${pathOf(path)}?${query}`);
      expect([title, response.status]).toEqual([title, 400]);
      expectRejected(response, statuses);
      const { errors } = response.body as { errors: { path: string }[] };
      expect(errors.map((error) => error.path)).toContain(name);
    }
  });

  test('rejects bad bodies', async () => {
    if (schema === undefined) return;
    if (valid === undefined) throw new Error(`add a valid body of ${operation.operationId} to BODIES`);
    for (const { title, body, headers, statuses } of hostileBodies(valid, schema, {
      schemas: SCHEMAS,
      limit: BODY_LIMIT,
    })) {
      const response = await send(pathOf(path), { body, ...(headers && { headers }) });
      expect([title, statuses]).toEqual([title, expect.arrayContaining([response.status])]);
      expectRejected(response, statuses);
    }
  });
});

test('control characters and duplicates in the head of a request do not reach a route', async () => {
  const { port } = rig.listener;
  const head = (line: string): string =>
    `GET /api/v1/agents HTTP/1.1\r\nhost: a\r\nconnection: close\r\n${line}\r\n\r\n`;
  const lines = [
    `x-admin-key: ${ADMIN_KEY}\u0001`,
    `x-admin-key: ${ADMIN_KEY}\u0000`,
    `x-admin-key: ${ADMIN_KEY}\r\nx-admin-key: ${ADMIN_KEY}`,
    `x-admin-key : ${ADMIN_KEY}`,
    `x-admin-key: ${ADMIN_KEY}\r\ncontent-length: 1\r\ntransfer-encoding: chunked`,
    `x-admin-key: ${'x'.repeat(20_000)}`,
  ];
  for (const line of lines) expect(await askRaw(port, head(line))).toMatch(/^HTTP\/1\.1 (400|401|403|431) /);
});

test('the key of another agent does not change this agent', async () => {
  const agent = async (): Promise<unknown> =>
    rig.store.find({ namespace: 'platform-remote', name: 'shop' }, rig.clock.now());
  const known = await agent();
  const other = await rig.register('other');
  const health = { ...(BODIES['sendHeartbeat'] as { health: object }).health, agentName: 'shop' };
  expect((await rig.heartbeat(other.apiKey, { health: health as never })).status).toBe(204);
  expect(await agent()).toEqual(known);
  before = await rig.stored();
});

test('the process still serves', async () => {
  expect(await rig.heartbeat(shop.apiKey, { seq: 2 })).toMatchObject({
    status: 200,
    body: { proofRevision: 1, proof: [{ ruleId: 'SEC-LLM-01' }] },
  });
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  before = await rig.stored();
});
