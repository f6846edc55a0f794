import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { connect, Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { applyPatch } from '../testing/cluster/json-patch.ts';
import { injectionSettings, optedInPod } from '../testing/cluster/pods.ts';
import { decide } from '../core/injection/decide.ts';
import { inject } from '../core/injection/inject.ts';
import type { PatchOperation } from '../core/injection/patch.ts';
import type { InjectionSettings } from '../core/injection/settings.ts';
import { systemClock } from '../runtime/clock.ts';
import { listen, type Listener } from '../runtime/http-listener.ts';
import { silentLogger } from '../runtime/logger.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { createWebhookApp } from './app.ts';
import type { WebhookContext } from './context.ts';
import { createReviews } from './routes/mutate.ts';

let listener: Listener;
let url: string;
let settings: InjectionSettings | null = injectionSettings();
let unready: string | null = null;

const context: WebhookContext = {
  logger: silentLogger,
  metrics: createMetrics(),
  clock: systemClock,
  settings: () => settings,
  organisation: null,
  unready: () => unready,
};

beforeAll(async () => {
  const handler = createWebhookApp(context);
  listener = await listen({ handler, port: 0, host: '127.0.0.1' });
  url = `http://127.0.0.1:${listener.port}`;
});

afterAll(() => listener.close(0));

const review = (object: unknown, request: Record<string, unknown> = {}) => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {
    uid: 'u-1',
    operation: 'CREATE',
    namespace: 'team-a',
    kind: { group: '', version: 'v1', kind: 'Pod' },
    object,
    ...request,
  },
});

interface Body {
  response: { patch: string; warnings: string[] };
}

async function post(body: unknown, type = 'application/json') {
  const response = await fetch(`${url}/mutate/pod?timeout=5s`, {
    method: 'POST',
    headers: { 'content-type': type },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    body: (await response.json()) as Body,
  };
}

function patchOf(response: { body: { response: { patch: string } } }): PatchOperation[] {
  return JSON.parse(Buffer.from(response.body.response.patch, 'base64').toString('utf8')) as PatchOperation[];
}

test.each([
  ['POST', '/mutate/pod', JSON.stringify(review(optedInPod())), 200],
  ['POST', '/mutate/pod', '{', 400],
  ['GET', '/mutate/pod', null, 405],
  ['GET', '/metrics', null, 200],
  ['GET', '/nothing', null, 404],
])('the response to %s %s has nosniff (%#)', async (method, path, body, status) => {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url + path, { method, headers, body });
  expect([response.status, response.headers.get('x-content-type-options')]).toEqual([status, 'nosniff']);
});

describe('a pod that opts in', () => {
  test('gets a patch that turns it into the injected pod', async () => {
    const pod = optedInPod();
    const decision = decide(pod, injectionSettings());
    if (decision.action !== 'inject') throw new Error('not injected');
    const response = await post(review(pod));
    expect(response).toMatchObject({
      status: 200,
      body: {
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        response: { uid: 'u-1', allowed: true, patchType: 'JSONPatch' },
      },
    });
    expect(applyPatch(pod, patchOf(response))).toEqual(inject(pod, decision, injectionSettings()));
  });

  test('gets the same response in a dry run', async () => {
    const [real, dry] = [
      await post(review(optedInPod())),
      await post(review(optedInPod(), { dryRun: true })),
    ];
    expect(dry).toEqual(real);
  });

  test('and is already injected needs no patch', async () => {
    const pod = optedInPod();
    const injected = applyPatch(pod, patchOf(await post(review(pod))));
    expect((await post(review(injected))).body.response).toEqual({ uid: 'u-1', allowed: true });
  });

  test('with an unknown annotation gets a warning', async () => {
    const { body } = await post(review(optedInPod({ annotations: { 'platform.io/agent-prot': '1' } })));
    expect(body.response.warnings).toEqual([
      'annotation platform.io/agent-prot is not known to the injector and has no effect',
    ]);
  });

  test('and violates rules is rejected with every reason', async () => {
    const pod = optedInPod({
      annotations: { 'platform.io/agent-port': '4000' },
      spec: { hostNetwork: true },
    });
    expect((await post(review(pod))).body.response).toEqual({
      uid: 'u-1',
      allowed: false,
      status: {
        status: 'Failure',
        code: 422,
        reason: 'Invalid',
        message:
          "a pod with hostNetwork cannot be injected: ports 4000 and 4001 would be taken on the node; the agent's port 4000 is reserved for the sidecar (4000, 4001): use another port",
      },
    });
  });
});

test.each([
  ['a pod that does not opt in', review({ metadata: { name: 'x' }, spec: { containers: [{ name: 'a' }] } })],
  ['another kind', review({}, { kind: { group: 'apps', version: 'v1', kind: 'Deployment' } })],
])('%s is allowed unchanged', async (_case, body) => {
  expect((await post(body)).body.response).toEqual({ uid: 'u-1', allowed: true });
});

describe('a body that is not a valid review', () => {
  test.each<[string, unknown, number, string]>([
    ['invalid JSON', '{"apiVersion":', 400, 'the body is not valid JSON'],
    ['an empty body', '', 400, 'AdmissionReview.apiVersion is missing'],
    ['a list', [], 400, 'AdmissionReview is not an object'],
    [
      'a review without request',
      { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' },
      400,
      'AdmissionReview.request is missing',
    ],
    [
      'a pod without containers',
      review({ spec: {} }),
      400,
      'AdmissionReview.request.object.spec.containers is missing',
    ],
    [
      'more than twelve times the largest request of an API server',
      JSON.stringify('x'.repeat(36 * 2 ** 20)),
      413,
      'the body exceeds the limit of 37748736 bytes for this route',
    ],
  ])('%s results in a problem', async (_case, body, status, detail) => {
    const response = await post(body);
    expect(response).toMatchObject({ status, body: { status, detail } });
    expect(response.type).toMatch(/^application\/problem\+json/);
  });

  test('with another content type results in a problem, and the process keeps serving', async () => {
    expect(await post('x', 'text/plain')).toMatchObject({ status: 415 });
    expect((await post(review(optedInPod()))).status).toBe(200);
  });
});

test('slow senders of large reviews do not delay another large review', async () => {
  const text = JSON.stringify(
    review(optedInPod({ container: { env: [{ name: 'A', value: 'x'.repeat(2e6) }] } })),
  );
  const slow = Array.from({ length: 20 }, () => connect(listener.port, '127.0.0.1'));
  try {
    for (const socket of slow) {
      const head = `POST /mutate/pod HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${2e7}`;
      // The response to Expect shows that the head was read.
      socket.write(`${head}\r\nExpect: 100-continue\r\n\r\n{`);
      await once(socket, 'data');
    }
    expect((await post(text)).body.response).toMatchObject({ allowed: true, patchType: 'JSONPatch' });
  } finally {
    for (const socket of slow) socket.destroy();
  }
});

test('rejects a compressed review, because its length does not show its real size', async () => {
  const response = await fetch(`${url}/mutate/pod`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    body: gzipSync(JSON.stringify(review(optedInPod()))),
  });
  expect(response.status).toBe(415);
});

test.each<[string, string]>([
  ['half a million nested lists', `"x":${'['.repeat(500_000)}${']'.repeat(500_000)},`],
  [
    'members with inherited property names',
    '"__proto__":{"hostNetwork":true},"constructor":{"prototype":{}},',
  ],
  ['a duplicate member, of which the last value applies', '"hostNetwork":true,"hostNetwork":false,'],
])('%s in a pod do not change the response', async (_what, members) => {
  const plain = JSON.stringify(review(optedInPod()));
  const { body } = await post(plain.replace('"containers"', `${members}"containers"`));
  expect(body).toEqual((await post(plain)).body);
});

test('accepts only POST', async () => {
  const response = await fetch(`${url}/mutate/pod`);
  expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
});

test('readyz and reviews return 503 until a CA exists', async () => {
  const health = async (path: string) => (await fetch(url + path)).status;
  expect([await health('/livez'), await health('/readyz')]).toEqual([200, 200]);
  [settings, unready] = [null, 'the serving certificate has not been issued yet'];
  try {
    expect([await health('/livez'), await health('/readyz')]).toEqual([200, 503]);
    expect(await post(review(optedInPod()))).toMatchObject({
      status: 503,
      body: { detail: 'the serving certificate has not been issued yet' },
    });
  } finally {
    [settings, unready] = [injectionSettings(), null];
  }
});

test('counts decisions by reason', async () => {
  await post(review(optedInPod({ metadata: { name: '', generateName: 'x-' } })));
  const text = await (await fetch(`${url}/metrics`)).text();
  expect(text).toMatch(/platform_webhook_decisions_total\{action="inject",code=""\} \d+/);
  expect(text).toMatch(/platform_webhook_decisions_total\{action="refuse",code="agent-name-unknown"\} 1/);
  expect(text).toMatch(/controller_runtime_webhook_requests_total\{webhook="\/mutate\/pod",code="400"\} \d+/);
});

test('has the time of the last rejected pod by namespace, without dry runs, of at most 1,000 namespaces', () => {
  const metrics = createMetrics();
  const reviews = createReviews({ ...context, metrics }, () => () => undefined);
  const nameless = optedInPod({ metadata: { name: '', generateName: 'x-' } });
  const refuse = (request: Record<string, unknown>) =>
    reviews.respond(review(nameless, request), new ServerResponse(new IncomingMessage(new Socket())));
  const refusals = () =>
    metrics
      .render()
      .split('\n')
      .filter((line) => line.startsWith('platform_webhook_last_refusal_timestamp_seconds{'));
  const seriesOf = (namespace: string) =>
    expect.stringContaining(`{namespace="${namespace}",code="agent-name-unknown"} `);
  refuse({ namespace: 'team-dry', dryRun: true });
  expect(refusals()).toEqual([]);
  refuse({ namespace: 'team-b' });
  const at = Number(refusals()[0]?.split(' ')[1]);
  expect(Math.abs(Date.now() / 1000 - at)).toBeLessThan(600);
  for (let index = 0; index < 1_000; index += 1) refuse({ namespace: `many-${index}` });
  expect(refusals()).toHaveLength(1_000);
  expect(refusals()).toContainEqual(seriesOf('many-0'));
  expect(refusals()).not.toContainEqual(seriesOf('team-b'));
});

test('has a series for failures before the first failure', async () => {
  const text = await (await fetch(`${url}/metrics`)).text();
  for (const code of ['500', '503'])
    expect(text).toMatch(
      new RegExp(
        `^controller_runtime_webhook_requests_total\\{webhook="/mutate/pod",code="${code}"\\} \\d`,
        'm',
      ),
    );
});
