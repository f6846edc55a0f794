import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { RequestListener } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import { systemClock, type Clock } from '../../runtime/clock.ts';
import { startFakeEngine, type FakeEngine } from '../../testing/sidecar/fake-engine.ts';
import { holdTimers } from '../../testing/time/held-timers.ts';
import { ask, askRaw } from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';
import {
  manifestText,
  startSidecarRig,
  withoutTimes,
  type SidecarRig,
} from '../../testing/sidecar/sidecar-rig.ts';

const MANIFEST = manifestText({
  guardrails: { input: [{ type: 'pii-detector' }] },
  tools: [
    {
      name: 'delete_order',
      description: 'Deletes.',
      annotations: { destructiveHint: true },
    },
  ],
});
const DESTRUCTIVE = 'destructive_tool_without_confirmation';
const PII = 'pii_detector_not_invoked';

let rig: SidecarRig;
let fake: FakeEngine | null = null;

afterEach(async () => {
  await rig.close();
  await fake?.stop();
  fake = null;
});

async function start(
  env: Record<string, string>,
  respond: RequestListener,
  manifest = MANIFEST,
  clock: Clock = systemClock,
) {
  rig = await startSidecarRig({
    manifest,
    clock,
    env: { OPENAI_API_KEY: 'x', POLICY_ENGINE: 'builtin', ...env },
    agent: { '/health': {}, '/capabilities': {} },
  });
  rig.agent.otherwise = respond;
}

async function startWithEngine(env: Record<string, string>, respond: RequestListener, clock?: Clock) {
  fake = await startFakeEngine();
  const withEngine = { POLICY_ENGINE: 'opa', POLICY_URL: fake.url, POLICY_TIMEOUT_MS: '30000', ...env };
  await start(withEngine, respond, MANIFEST, clock);
  // The engine denies no canary, which is logged after the last canary.
  await until(() => rig.log.some(([level]) => level === 'warn'), 'the canaries');
  fake.asked.length = 0;
  return fake;
}

const reporting =
  (headers: Record<string, string>): RequestListener =>
  (_request, response) =>
    void response.writeHead(200, { ...headers, 'content-type': 'text/plain' }).end('the answer');

async function entry(): Promise<AuditEntry> {
  await rig.settled();
  return (await rig.report<AuditEntry[]>('/audit')).at(-1)!;
}

const events = (requestId: string, list: object[]) =>
  rig.control('/events', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ requestId, events: list }),
  });

async function metric(name: string): Promise<number> {
  const text = await (await rig.control('/metrics')).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
}

const UNSAFE = { 'X-Platform-Tools-Called': 'delete_order' };
const SAFE = { 'X-Platform-Guardrails-Invoked': 'pii-detector', 'X-Platform-User-Confirmed': 'true' };

describe('track', () => {
  test('forwards a denied response with the reasons in a header and in the entry', async () => {
    await start({}, reporting(UNSAFE));
    const response = await ask(rig.sidecar.proxyPort, { path: '/chat' });
    expect([response.status, response.body]).toEqual([200, 'the answer']);
    expect(response.headers['x-platform-policy-violations']).toBe(`${DESTRUCTIVE},${PII}`);
    expect(response.headers['x-platform-tools-called']).toBeUndefined();
    const { outcome, policyViolations, blocked, lateDenial, statusCode } = await entry();
    expect({ outcome, policyViolations, blocked, lateDenial, statusCode }).toEqual({
      outcome: 'deny',
      policyViolations: [DESTRUCTIVE, PII],
      blocked: undefined,
      lateDenial: undefined,
      statusCode: 200,
    });
  });

  test.each([
    ['allow', SAFE],
    ['notEvaluated', {}],
    ['notEvaluated', { 'X-Platform-Other': 'x' }],
  ])('records %s for the headers %j', async (outcome, headers) => {
    await start({}, reporting(headers));
    const response = await ask(rig.sidecar.proxyPort);
    expect([response.status, response.headers['x-platform-policy-violations']]).toEqual([200, undefined]);
    expect(await entry()).toMatchObject({ outcome });
    expect(await entry()).not.toHaveProperty('policyViolations');
  });
});

/** The UTF-8 bytes as one character each. */
const utf8 = (text: string): string => Buffer.from(text).toString('latin1');

describe('enforce', () => {
  test.each<[string, string, string]>([
    ['percent-encoded', 'löschen', 'l%C3%B6schen'],
    ['in raw UTF-8', 'löschen', utf8('löschen')],
    ['in ISO 8859-1', 'löschen', 'l\xf6schen'],
    ['with a comma', 'drop,all', 'drop%2Call'],
    ['with spaces around it', ' purge ', '%20purge%20'],
    ['of 600 characters', 'x'.repeat(600), 'x'.repeat(600)],
    ['of 600 characters, encoded', 'ö'.repeat(600), '%C3%B6'.repeat(600)],
  ])('blocks a destructive tool with a name %s', async (_how, name, header) => {
    const tool = { name, description: 'Deletes.', annotations: { destructiveHint: true } };
    const headers = { 'X-Platform-Tools-Called': header };
    await start({ POLICY_PROXY_MODE: 'enforce' }, reporting(headers), manifestText({ tools: [tool] }));
    const response = await ask(rig.sidecar.proxyPort, { path: '/chat' });
    expect([response.status, response.headers['x-platform-policy-violations']]).toEqual([403, DESTRUCTIVE]);
    expect(await entry()).toMatchObject({ blocked: true, toolsCalled: [name.slice(0, 500)] });
    const warned = rig.log.filter(([level, message]) => level === 'warn' && message === 'manifest warning');
    expect(warned.map(([, , { path }]) => path)).toEqual(['spec.tools[0].name']);
  });

  test('returns 403 PolicyViolation instead of a denied response', async () => {
    const body = gzipSync('secret'.repeat(100));
    await start({ POLICY_PROXY_MODE: 'enforce' }, (_request, response) => {
      response.writeHead(200, {
        ...UNSAFE,
        'Content-Type': 'text/html',
        'Content-Encoding': 'gzip',
        'Content-Length': body.length,
        'Cache-Control': 'max-age=60',
        ETag: '"1"',
        'X-Served-By': 'agent',
        'Access-Control-Allow-Origin': '*',
      });
      response.end(body);
    });
    const response = await ask(rig.sidecar.proxyPort, { headers: { 'x-request-id': 'r-1' } });
    const { date: _, ...headers } = response.headers;
    expect(response.status).toBe(403);
    expect(JSON.parse(response.body)).toEqual({
      error: 'PolicyViolation',
      blocked: true,
      violations: [DESTRUCTIVE, PII],
      message: `The agent's answer is blocked by policy: ${DESTRUCTIVE}, ${PII}`,
    });
    expect(headers).toEqual({
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(response.body)),
      'cache-control': 'no-store',
      'x-platform-policy-violations': `${DESTRUCTIVE},${PII}`,
      'x-request-id': 'r-1',
      'x-served-by': 'agent',
      'access-control-allow-origin': '*',
      connection: 'close',
    });
    expect(await entry()).toMatchObject({
      outcome: 'deny',
      blocked: true,
      statusCode: 403,
      upstreamStatusCode: 200,
      policyViolations: [DESTRUCTIVE, PII],
    });
  });

  test('forwards allowed responses and responses without a report', async () => {
    await start({ POLICY_PROXY_MODE: 'enforce' }, (request, response) => {
      reporting(request.url === '/safe' ? SAFE : {})(request, response);
    });
    const results = [
      await ask(rig.sidecar.proxyPort, { path: '/safe' }),
      await ask(rig.sidecar.proxyPort, { path: '/silent' }),
    ];
    expect(results.map(({ status, body }) => [status, body])).toEqual([
      [200, 'the answer'],
      [200, 'the answer'],
    ]);
    await rig.settled();
    const entries = await rig.report<AuditEntry[]>('/audit');
    expect(entries.map(({ outcome }) => outcome)).toEqual(['allow', 'notEvaluated']);
  });

  test('responds to HEAD without a body and keeps the connection', async () => {
    await start({ POLICY_PROXY_MODE: 'enforce' }, reporting(UNSAFE));
    const host = 'Host: a\r\n';
    const text = await askRaw(
      rig.sidecar.proxyPort,
      `HEAD / HTTP/1.1\r\n${host}\r\nGET / HTTP/1.1\r\n${host}Connection: close\r\n\r\n`,
    );
    expect(text.match(/HTTP\/1\.1 403 Forbidden/g)).toHaveLength(2);
    expect(text.match(/"PolicyViolation"/g)).toHaveLength(1);
  });

  test('aborts an endless response at the agent', async () => {
    let isCut = false;
    await start({ POLICY_PROXY_MODE: 'enforce' }, (_request, response) => {
      response.writeHead(200, { ...UNSAFE, 'content-type': 'text/event-stream' });
      const timer = setInterval(() => response.write(`data: ${'x'.repeat(100_000)}\n\n`), 5);
      response.on('close', () => {
        isCut = true;
        clearInterval(timer);
      });
    });
    expect((await ask(rig.sidecar.proxyPort)).status).toBe(403);
    await until(() => isCut, 'the end at the agent');
  });

  test.each<[string, (body: string) => Record<string, string | number>, (body: string) => string]>([
    [
      'with a length',
      ({ length }) => ({ 'content-type': 'application/json', 'content-length': length }),
      String,
    ],
    ['in chunks', () => ({ 'content-type': 'application/json' }), String],
    ['as an event stream', () => ({ 'content-type': 'text/event-stream' }), (body) => `data: ${body}\n\n`],
  ])('counts the tokens of a blocked response %s', async (_what, head, form) => {
    await start({ POLICY_PROXY_MODE: 'enforce' }, (_request, response) => {
      const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
      const body = form(JSON.stringify({ model: 'gpt-5', object: 'chat.completion', choices: [], usage }));
      response.writeHead(200, { ...UNSAFE, ...head(body) });
      response.flushHeaders();
      setTimeout(() => response.end(body), 20);
    });
    const asked = { method: 'POST', path: '/v1/chat/completions' };
    expect((await ask(rig.sidecar.proxyPort, asked)).status).toBe(403);
    expect(await entry()).toMatchObject({ blocked: true, usage: { totalTokens: 7 } });
  });

  test('cannot be bypassed with an upgrade request', async () => {
    await start({ POLICY_PROXY_MODE: 'enforce' }, reporting(UNSAFE));
    const text = await askRaw(
      rig.sidecar.proxyPort,
      'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n',
    );
    expect(text).toMatch(/^HTTP\/1\.1 403 Forbidden/);
    expect(text).not.toContain('the answer');
    expect(await entry()).toMatchObject({ outcome: 'deny', blocked: true, statusCode: 403 });
  });
});

describe('off', () => {
  test('does not query the engine for responses and trailers, and removes the headers', async () => {
    const engine = await startWithEngine({ POLICY_PROXY_MODE: 'off' }, (_request, response) => {
      response.writeHead(200, { ...UNSAFE, trailer: 'X-Platform-Tools-Called' });
      response.write('x');
      response.addTrailers(UNSAFE);
      response.end();
    });
    const response = await ask(rig.sidecar.proxyPort);
    expect(response.headers['x-platform-policy-violations']).toBeUndefined();
    expect(response.headers['x-platform-tools-called']).toBeUndefined();
    expect(await entry()).toMatchObject({ outcome: 'notEvaluated', toolsCalled: ['delete_order'] });
    expect(engine.asked).toEqual([]);
  });

  test('still evaluates events and the gap report', async () => {
    await start({ POLICY_PROXY_MODE: 'off' }, reporting(UNSAFE));
    await ask(rig.sidecar.proxyPort, { headers: { 'x-request-id': 'r-1' } });
    const reply = await events('r-1', [{ type: 'guardrail', guardrailType: 'pii-detector', invoked: true }]);
    expect(await reply.json()).toEqual({ requestId: 'r-1', found: true, opaViolations: [DESTRUCTIVE] });
    const { issues } = await rig.report<{ issues: { property: string; source?: string }[] }>('/gap');
    expect(issues.filter(({ source }) => source === 'policy').map(({ property }) => property)).toEqual([
      `policy.${DESTRUCTIVE}`,
    ]);
  });
});

describe('an event before the head', () => {
  const GUARDED = manifestText({
    guardrails: { output: [{ type: 'toxicity-filter', threshold: 0.7 }] },
    memory: { shortTerm: { ttlSeconds: 60 } },
  });
  test.each([
    [
      'toxicity_threshold_exceeded',
      { type: 'guardrail', guardrailType: 'toxicity-filter', invoked: true, score: 0.7 },
    ],
    ['memory_ttl_mismatch', { type: 'memory', ttlSeconds: 61 }],
  ])('is evaluated with the head: %s, which only events can report', async (reason, event) => {
    const respond: RequestListener = (request, response) => {
      void events(String(request.headers['x-request-id']), request.url === '/reported' ? [event] : []).then(
        () => reporting({ 'X-Platform-Guardrails-Invoked': 'toxicity-filter' })(request, response),
      );
    };
    await start({ POLICY_PROXY_MODE: 'enforce' }, respond, GUARDED);
    expect((await ask(rig.sidecar.proxyPort, { path: '/silent' })).status).toBe(200);
    const reported = await ask(rig.sidecar.proxyPort, { path: '/reported' });
    expect([reported.status, reported.headers['x-platform-policy-violations']]).toEqual([403, reason]);
    const seen = await entry();
    expect(seen).toMatchObject({ outcome: 'deny', blocked: true, policyViolations: [reason] });
    expect(seen).not.toHaveProperty('lateDenial');
  });
});

describe('a report after the head', () => {
  test('in trailers is a late denial and does not change the outcome', async () => {
    await start({ POLICY_PROXY_MODE: 'enforce' }, (_request, response) => {
      response.writeHead(200, { trailer: 'X-Platform-Tools-Called' });
      response.write('the answer');
      response.addTrailers(UNSAFE);
      response.end();
    });
    const response = await ask(rig.sidecar.proxyPort);
    expect([response.status, response.body, response.trailers]).toEqual([200, 'the answer', {}]);
    const seen = await entry();
    expect(seen).toMatchObject({
      outcome: 'notEvaluated',
      lateDenial: true,
      policyViolations: [DESTRUCTIVE, PII],
    });
    expect(seen).not.toHaveProperty('blocked');
    expect(await metric('platform_sidecar_late_denials_total')).toBe(1);
  });

  test('in events is a late denial only for new reasons', async () => {
    await start({}, reporting({ 'X-Platform-Guardrails-Invoked': '' }));
    await ask(rig.sidecar.proxyPort, { headers: { 'x-request-id': 'r-1' } });
    expect(await entry()).toMatchObject({ outcome: 'deny', policyViolations: [PII] });
    await events('r-1', [{ type: 'guardrail', guardrailType: 'x', invoked: true }]);
    expect(await entry()).not.toHaveProperty('lateDenial');
    const reply = await events('r-1', [{ type: 'tool', name: 'delete_order' }]);
    expect(await reply.json()).toMatchObject({ opaViolations: [DESTRUCTIVE, PII] });
    expect(await entry()).toMatchObject({
      outcome: 'deny',
      lateDenial: true,
      policyViolations: [PII, DESTRUCTIVE],
    });
    await events('r-1', [{ type: 'tool', name: 'delete_order' }]);
    expect(await metric('platform_sidecar_late_denials_total')).toBe(1);
  });
});

describe('with an engine over HTTP', () => {
  test('does not query the engine for a response without a behavioral header', async () => {
    const engine = await startWithEngine({}, reporting({}));
    await ask(rig.sidecar.proxyPort);
    expect(await entry()).toMatchObject({ outcome: 'notEvaluated' });
    expect(engine.asked).toEqual([]);
  });

  test('sends the facts of the request and of the day, and holds the response until the decision', async () => {
    const engine = await startWithEngine({ POLICY_PROXY_MODE: 'enforce' }, reporting(SAFE));
    engine.reply = { result: [] };
    const response = await ask(rig.sidecar.proxyPort);
    expect([response.status, response.body]).toEqual([200, 'the answer']);
    expect(engine.asked).toEqual([
      {
        path: '/v1/data/platform/agent/shop/deny',
        input: {
          agent_name: 'shop',
          request_type: 'llm_call',
          guardrails_invoked: ['pii-detector'],
          user_confirmed: true,
          tokens_today: 0,
        },
      },
    ]);
    engine.reply = { result: ['own, rule\n'] };
    const denied = await ask(rig.sidecar.proxyPort);
    expect([denied.status, denied.headers['x-platform-policy-violations']]).toEqual([403, 'own? rule?']);
    expect(JSON.parse(denied.body)).toMatchObject({ violations: ['own, rule\n'] });
  });

  test('limits the reasons in the header, and returns all reasons in the body', async () => {
    const engine = await startWithEngine({ POLICY_PROXY_MODE: 'enforce' }, reporting(UNSAFE));
    const reasons = Array.from({ length: 100 }, (_, i) => `${100 + i}-${'x'.repeat(300)}`);
    engine.reply = { result: reasons };
    const response = await ask(rig.sidecar.proxyPort);
    const inHeader = String(response.headers['x-platform-policy-violations']).split(',');
    const { violations } = JSON.parse(response.body) as { violations: string[] };
    expect(violations).toEqual(reasons.map((reason) => reason.slice(0, 200)));
    expect(inHeader).toEqual(violations.slice(0, 10));
  });

  test('forwards a large response completely after the decision', async () => {
    const body = 'x'.repeat(5_000_000);
    await startWithEngine({}, (_request, response) => response.writeHead(200, SAFE).end(body));
    const response = await ask(rig.sidecar.proxyPort);
    expect([response.status, response.body === body]).toEqual([200, true]);
    expect(await entry()).toMatchObject({ outcome: 'allow', bytesOut: body.length });
  });

  test.each<[unknown, string, string]>([
    [[{ msg: 'no' }], 'no', 'The policy engine denies the observed behavior: no.'],
    [
      ['pii', { msg: 'a,b\r\nX: ä' }],
      'a?b??X: ?,pii',
      'The policy engine denies the observed behavior: pii.',
    ],
    [
      [{ code: 7 }],
      'policy_result_invalid',
      'The policy engine denies the observed behavior: policy_result_invalid (an element of the result is an object without a text in msg or reason).',
    ],
    [
      true,
      'policy_result_invalid',
      'The policy engine denies the observed behavior: policy_result_invalid (the result is a boolean).',
    ],
  ])('blocks every response when the engine returns %j', async (result, header, description) => {
    const engine = await startWithEngine({ POLICY_PROXY_MODE: 'enforce' }, reporting(UNSAFE));
    engine.reply = { result };
    for (let i = 0; i < 6; i++) {
      const { status, headers } = await ask(rig.sidecar.proxyPort);
      expect([status, headers['x-platform-policy-violations']]).toEqual([403, header]);
    }
    expect(await entry()).toMatchObject({ outcome: 'deny', blocked: true });
    const { issues } = await rig.report<{ issues: { description: string }[] }>('/gap');
    expect(issues.map((issue) => issue.description)).toContain(description);
    const warnings = rig.log.filter(([level]) => level === 'warn').map(([, message]) => message);
    expect(warnings).not.toContain('policy engine unreachable, requests pass unevaluated');
    expect(
      warnings.filter((message) => message === 'policy engine result invalid, counted as a denial'),
    ).toHaveLength(header === 'policy_result_invalid' ? 1 : 0);
  });

  test('records notEvaluated when the engine responds without a result', async () => {
    const engine = await startWithEngine({ POLICY_PROXY_MODE: 'enforce' }, reporting(UNSAFE));
    engine.reply = {};
    expect((await ask(rig.sidecar.proxyPort)).status).toBe(200);
    expect(await entry()).toMatchObject({ outcome: 'notEvaluated' });
  });

  test('fails open, with one warning and five time-outs', async () => {
    let nowMs = 0;
    const engine = await startWithEngine(
      { POLICY_PROXY_MODE: 'enforce', POLICY_TIMEOUT_MS: '300' },
      reporting(UNSAFE),
      { ...systemClock, monotonicMs: () => nowMs },
    );
    engine.reply = 'hang';
    const statuses: number[] = [];
    {
      using timers = holdTimers();
      for (let timeOuts = 1; timeOuts <= 5; timeOuts++) {
        const response = ask(rig.sidecar.proxyPort);
        await until(() => engine.asked.length === timeOuts, 'the query');
        nowMs += 300;
        await timers.pass(300);
        statuses.push((await response).status);
      }
      for (let i = 5; i < 20; i++) statuses.push((await ask(rig.sidecar.proxyPort)).status);
    }
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(engine.asked).toHaveLength(5);
    expect((await entry()).outcome).toBe('failOpen');
    expect(rig.log.filter(([level]) => level === 'warn').map(([, message]) => message)).toEqual([
      'policy engine rules missing or from another manifest',
      'policy engine unreachable, requests pass unevaluated',
    ]);
    const metrics = await (await rig.control('/metrics')).text();
    expect(metrics).toContain('platform_sidecar_requests_total{outcome="failOpen"} 20');
    expect(Number(/fail_open_seconds_total ([\d.]+)/.exec(metrics)?.[1])).toBeGreaterThan(0);
    expect(metrics).toContain('platform_sidecar_policy_seconds_count{state="unreachable"} 20');
    expect(metrics).toContain('platform_sidecar_policy_seconds_bucket{state="unreachable",le="0.25"} 15');
    expect(metrics).toContain('platform_sidecar_overhead_seconds_count 20');
  });

  test('records the decision for a client that disconnects during the query', async () => {
    const engine = await startWithEngine(
      { POLICY_PROXY_MODE: 'enforce', POLICY_TIMEOUT_MS: '500' },
      reporting(UNSAFE),
    );
    engine.reply = 'hang';
    const client = connect(rig.sidecar.proxyPort, '127.0.0.1');
    client.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await until(() => engine.asked.length === 1);
    client.destroy();
    expect(await entry()).toMatchObject({ outcome: 'failOpen', aborted: true });
  });
});

test('every metric on the page about enforcement exists from the start', async () => {
  await start({}, reporting({}));
  const page = readFileSync(join(import.meta.dirname, '../../docs/guide/enforcement.md'), 'utf8');
  const named = new Set([...page.matchAll(/platform_sidecar_\w+/g)].map(([name]) => name));
  expect(named.size).toBeGreaterThan(5);
  const metrics = await (await rig.control('/metrics')).text();
  const served = new Set([...metrics.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name));
  expect([...named].filter((name) => !served.has(name))).toEqual([]);
});

test('a changed manifest applies to the next response', async () => {
  await start({ POLICY_PROXY_MODE: 'enforce' }, reporting({ 'X-Platform-Guardrails-Invoked': '' }));
  expect((await ask(rig.sidecar.proxyPort)).headers['x-platform-policy-violations']).toBe(PII);
  const reloads = () => rig.log.filter(([, message]) => message === 'manifest reloaded').length;
  await writeFile(rig.manifestPath, manifestText());
  await until(() => reloads() === 1, 'the change');
  expect((await ask(rig.sidecar.proxyPort)).status).toBe(200);
  await writeFile(rig.manifestPath, manifestText({ guardrails: { input: [{ type: 'pii-detector' }] } }));
  await until(() => reloads() === 2, 'the next change');
  expect((await ask(rig.sidecar.proxyPort)).status).toBe(403);
  await rig.settled();
  const entries = await rig.report<AuditEntry[]>('/audit');
  expect(entries.map(({ outcome }) => outcome)).toEqual(['deny', 'allow', 'deny']);
});

describe('the gap report', () => {
  interface Gap {
    score: number;
    issues: { property: string; severity: string; source?: string }[];
  }
  const policyIssues = async (): Promise<string[]> =>
    (await rig.report<Gap>('/gap')).issues
      .filter(({ property }) => property.startsWith('policy.'))
      .map(({ property, severity }) => `${severity} ${property}`);

  test('queries the engine once, about the newest request with reported behavior', async () => {
    const engine = await startWithEngine({}, reporting(SAFE));
    engine.reply = { result: [] };
    await rig.report('/gap');
    await ask(rig.sidecar.proxyPort);
    engine.asked.length = 0;
    await rig.report('/gap');
    expect(engine.asked.map(({ input }) => input)).toEqual([
      {
        agent_name: 'shop',
        request_type: 'llm_call',
        guardrails_invoked: ['pii-detector'],
        user_confirmed: true,
        tokens_today: 0,
      },
    ]);
  });

  test('queries the engine with request_type report without such a request', async () => {
    const engine = await startWithEngine({}, reporting({}));
    await ask(rig.sidecar.proxyPort);
    await rig.report('/gap');
    expect(engine.asked.map(({ input }) => input)).toEqual([
      { agent_name: 'shop', request_type: 'report', tokens_today: 0 },
    ]);
  });

  test('contains the denials as issues', async () => {
    await start({}, reporting(UNSAFE));
    await ask(rig.sidecar.proxyPort);
    expect(await policyIssues()).toEqual([`critical policy.${DESTRUCTIVE}`, `high policy.${PII}`]);
  });

  test('reports an engine without the rules as not loaded', async () => {
    const engine = await startWithEngine({}, reporting({}));
    // The engine allowed every canary.
    expect(await policyIssues()).toEqual(['high policy.not-loaded']);
    expect(await metric('platform_sidecar_policy_loaded')).toBe(0);
    engine.reply = {};
    expect(await policyIssues()).toEqual(['high policy.not-loaded']);
  });

  test('is the same with an unreachable engine as without an engine', async () => {
    const engine = await startWithEngine({}, reporting(UNSAFE));
    await ask(rig.sidecar.proxyPort);
    engine.reply = 500;
    const withEngine = await rig.report<Gap>('/gap');
    await rig.close();
    await start({ POLICY_ENGINE: '' }, reporting(UNSAFE));
    await ask(rig.sidecar.proxyPort);
    expect(withoutTimes(withEngine)).toEqual(withoutTimes(await rig.report<Gap>('/gap')));
  });
});
