import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { RequestListener } from 'node:http';
import { POLICY_RULES } from '../core/policy/rules.ts';
import { plainManifest } from '../testing/manifests/plain-manifest.ts';
import { policySettings } from './settings.ts';
import { ManualClock } from '../testing/time/manual-clock.ts';
import { TestServers } from '../testing/http/sockets.ts';
import {
  createPolicyCheck,
  PolicyDeniedError,
  PolicyUnavailableError,
  type PolicyCheck,
  type PolicyCheckSettings,
} from './policy-check.ts';

const MANIFEST = plainManifest(
  'corner-shop',
  POLICY_RULES.map(({ reason }) => reason),
);
const servers = new TestServers();
let log: unknown[][];
let clock: ManualClock;
const totals = { tokensToday: 0, costTodayUsd: 0 };
beforeEach(() => {
  log = [];
  clock = new ManualClock('2026-03-01T10:00:00Z');
});
afterEach(() => servers.close());

function aCheck(settings: Partial<PolicyCheckSettings> = {}): PolicyCheck {
  return createPolicyCheck({
    settings: { url: null, failClosed: false, timeoutMs: 60_000, ...settings },
    manifest: MANIFEST,
    totals: () => totals,
    clock,
    logger: { warn: (...entry) => void log.push(entry), info: () => undefined, debug: () => undefined },
  });
}

/** The outcome: the reasons of a denial, the code and text of another error, or null. */
async function outcomeOf(promise: Promise<void>): Promise<unknown> {
  try {
    await promise;
    return null;
  } catch (error) {
    if (error instanceof PolicyDeniedError) return error.violations;
    return [(error as { code?: string }).code, (error as Error).message];
  }
}

describe('the rules of the manifest, in this process', () => {
  test('deny with a typed error that names the reasons', async () => {
    const error = await aCheck()({ toolsCalled: ['drop'] }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(PolicyDeniedError);
    expect(error).toMatchObject({
      name: 'PolicyDeniedError',
      code: 'PLATFORM_POLICY_DENIED',
      violations: ['destructive_tool_without_confirmation', 'pii_detector_not_invoked'],
      message:
        'the policy denies the model call: destructive_tool_without_confirmation, pii_detector_not_invoked',
    });
  });

  const guardrailsInvoked = ['pii-detector'];
  test.each<[string, Parameters<PolicyCheck>[0], unknown]>([
    ['no facts', undefined, ['pii_detector_not_invoked']],
    ['the detector ran', { guardrailsInvoked }, null],
    ['another guardrail ran', { guardrailsInvoked: ['topic-filter'] }, ['pii_detector_not_invoked']],
    [
      'a destructive tool without confirmation',
      { guardrailsInvoked, toolsCalled: ['drop'] },
      ['destructive_tool_without_confirmation'],
    ],
    [
      'a destructive tool with confirmation',
      { guardrailsInvoked, toolsCalled: ['drop'], userConfirmed: true },
      null,
    ],
    [
      'a toxicity score above the threshold',
      { guardrailsInvoked, toxicityScore: 1 },
      ['toxicity_threshold_exceeded'],
    ],
    ['the token limit exceeded', { guardrailsInvoked, tokensToday: 1e12 }, ['daily_token_limit_exceeded']],
    ['the cost limit exceeded', { guardrailsInvoked, costTodayUsd: 1e9 }, ['monthly_cost_limit_exceeded']],
    ['another TTL', { guardrailsInvoked, memoryTtlSeconds: 7 }, ['memory_ttl_mismatch']],
    ['unknown guardrails', { guardrailsInvoked: null }, null],
    ['an unknown confirmation', { guardrailsInvoked, toolsCalled: ['drop'], userConfirmed: null }, null],
    [
      'unknown guardrails and the token limit exceeded',
      { guardrailsInvoked: null, tokensToday: 1e12 },
      ['daily_token_limit_exceeded'],
    ],
  ])('return the expected decision with %s', async (_name, facts, expected) => {
    expect(await outcomeOf(aCheck()(facts))).toEqual(expected);
  });

  test('give no decision about unknown facts: rejected with failClosed', async () => {
    const facts = { guardrailsInvoked: null, toolsCalled: ['drop'], userConfirmed: null };
    expect(await outcomeOf(aCheck({ failClosed: true })(facts))).toEqual([
      'PLATFORM_POLICY_UNAVAILABLE',
      'no decision from the policy engine: no request is open, so the facts of destructive_tool_without_confirmation, ' +
        'pii_detector_not_invoked are unknown',
    ]);
  });

  test.each<[string, unknown, string]>([
    ['a score that is not a number', { toxicityScore: Number.NaN }, 'toxicityScore must be a number'],
    ['a string instead of a list', { guardrailsInvoked: 'pii-detector' }, 'guardrailsInvoked must be a list'],
    ['a string instead of a boolean', { userConfirmed: 'true' }, 'userConfirmed must be true or false'],
    ['a number instead of facts', 7, 'must be an object'],
  ])('%s causes a TypeError', async (_name, facts, message) => {
    const check = aCheck() as (facts: unknown) => Promise<void>;
    await expect(check(facts)).rejects.toThrow(TypeError);
    await expect(check(facts)).rejects.toThrow(message);
  });
});

test('a query to an engine has a limit of one second', () => {
  expect(policySettings(undefined, {}).timeoutMs).toBe(1_000);
});

describe('a policy engine', () => {
  let queries: string[];
  let listener: RequestListener;
  let url: URL;
  beforeEach(async () => {
    queries = [];
    const port = await servers.http((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        queries.push(`${request.method} ${request.url} ${Buffer.concat(chunks).toString()}`);
        listener(request, response);
      });
    });
    url = new URL(`http://127.0.0.1:${port}`);
  });
  const respondWith = (body: unknown, status = 200): void => {
    listener = (_request, response) => response.writeHead(status).end(JSON.stringify(body));
  };

  test("is queried on the agent's path with only the known facts", async () => {
    respondWith({ result: [] });
    await aCheck({ url: new URL('/opa/', url) })({ guardrailsInvoked: [], userConfirmed: false });
    expect(queries).toEqual([
      'POST /opa/v1/data/platform/agent/corner_shop/deny {"input":{"agent_name":"corner-shop","request_type":"llm_call",' +
        '"tokens_today":0,"cost_today_usd":0,"guardrails_invoked":[],"user_confirmed":false}}',
    ]);
  });

  test("denies with the engine's own reasons", async () => {
    respondWith({ result: ['zone_closed', 'a_rule_of_mine'] });
    expect(await outcomeOf(aCheck({ url })())).toEqual(['a_rule_of_mine', 'zone_closed']);
  });

  test.each<[unknown, readonly string[], string | null]>([
    [[{ msg: 'no' }, 'pii'], ['no', 'pii'], null],
    [{ deny: true }, ['policy_result_invalid'], 'the result is an object without a text in msg or reason'],
    [[1], ['policy_result_invalid'], 'an element of the result is a number'],
  ])('that returns %j denies with %j', async (result, denials, reason) => {
    respondWith({ result });
    const check = aCheck({ url });
    for (let i = 0; i < 6; i++) expect(await outcomeOf(check())).toEqual(denials);
    const warning = ['policy engine result invalid, counted as a denial', { reason }];
    expect(log).toEqual(reason === null ? [] : [warning]);
  });

  const hang: RequestListener = () => undefined;
  const drop: RequestListener = (request) => request.socket.destroy();
  const withText = (text: string, status = 200): RequestListener => {
    return (_request, response) => response.writeHead(status).end(text);
  };
  test.each<[string, RequestListener, string]>([
    ['does not have the rules', withText('{}'), 'the engine does not have the rules of this agent'],
    ['fails', withText('{}', 500), 'the engine responded with status 500'],
    ['does not return JSON', withText('<html>'), 'the response is not a JSON object'],
    ['redirects', withText('', 307), 'the engine responded with status 307'],
    ['closes the connection', drop, 'ECONNRESET: socket hang up'],
    ['hangs', hang, 'no response within 200 ms'],
    [
      'returns a too large response',
      withText('x'.repeat(300_000)),
      'the response is larger than 262144 bytes',
    ],
  ])('that %s: the call is allowed, and rejected with failClosed', async (_name, response, reason) => {
    listener = response;
    // Only the hanging engine has a short timeout.
    const timeoutMs = response === hang ? 200 : 60_000;
    const open = aCheck({ url, timeoutMs });
    expect([await outcomeOf(open()), await outcomeOf(open())]).toEqual([null, null]);
    expect(log).toEqual([['no policy decision, model calls allowed (fail-open)', { reason }]]);
    const error = await aCheck({ url, timeoutMs, failClosed: true })().catch((e: unknown) => e);
    expect(error).toBeInstanceOf(PolicyUnavailableError);
    expect(error).toMatchObject({
      code: 'PLATFORM_POLICY_UNAVAILABLE',
      message: `no decision from the policy engine: ${reason}`,
    });
  });

  test('that fails five times is queried once every five seconds until it recovers', async () => {
    listener = (_request, response) => response.writeHead(503).end();
    const check = aCheck({ url });
    for (let n = 0; n < 20; n += 1) await check();
    expect([queries.length, log.length]).toEqual([5, 1]);
    clock.advance(5_000);
    respondWith({ result: ['closed'] });
    expect([await outcomeOf(check()), await outcomeOf(check()), queries.length]).toEqual([
      ['closed'],
      ['closed'],
      7,
    ]);
    listener = (_request, response) => response.writeHead(503).end();
    await check();
    expect(log).toHaveLength(2);
  });
});
