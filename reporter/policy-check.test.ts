import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { RequestListener } from 'node:http';
import { POLICY_RULES } from '../core/policy/rules.ts';
import { plainManifest } from '../testing/manifests/plain-manifest.ts';
import { ManualClock } from '../testing/manual-clock.ts';
import { TestServers } from '../testing/sockets.ts';
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

/** What it ends with: the reasons of a denial, the text of another error, or null. */
async function endOf(promise: Promise<void>): Promise<unknown> {
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
        'the policy denies the call of the model: destructive_tool_without_confirmation, pii_detector_not_invoked',
    });
  });

  const guardrailsInvoked = ['pii-detector'];
  test.each<[string, Parameters<PolicyCheck>[0], unknown]>([
    ['nothing known', undefined, ['pii_detector_not_invoked']],
    ['the detector ran', { guardrailsInvoked }, null],
    ['another one ran', { guardrailsInvoked: ['topic-filter'] }, ['pii_detector_not_invoked']],
    [
      'a destructive tool without confirmation',
      { guardrailsInvoked, toolsCalled: ['drop'] },
      ['destructive_tool_without_confirmation'],
    ],
    ['a destructive tool with it', { guardrailsInvoked, toolsCalled: ['drop'], userConfirmed: true }, null],
    ['too toxic', { guardrailsInvoked, toxicityScore: 1 }, ['toxicity_threshold_exceeded']],
    ['tokens used up', { guardrailsInvoked, tokensToday: 1e12 }, ['daily_token_limit_exceeded']],
    ['money used up', { guardrailsInvoked, costTodayUsd: 1e9 }, ['monthly_cost_limit_exceeded']],
    ['another TTL', { guardrailsInvoked, memoryTtlSeconds: 7 }, ['memory_ttl_mismatch']],
  ])('%s', async (_name, facts, expected) => {
    expect(await endOf(aCheck()(facts))).toEqual(expected);
  });

  test.each<[string, unknown, string]>([
    ['a score that is no number', { toxicityScore: Number.NaN }, 'toxicityScore must be a number'],
    ['a word for a list', { guardrailsInvoked: 'pii-detector' }, 'guardrailsInvoked must be a list'],
    ['a word for yes', { userConfirmed: 'true' }, 'userConfirmed must be true or false'],
    ['no facts', 7, 'must be an object'],
  ])('%s is a mistake and no verdict', async (_name, facts, message) => {
    const check = aCheck() as (facts: unknown) => Promise<void>;
    await expect(check(facts)).rejects.toThrow(TypeError);
    await expect(check(facts)).rejects.toThrow(message);
  });
});

describe('a policy engine', () => {
  let asked: string[];
  let answer: RequestListener;
  let url: URL;
  beforeEach(async () => {
    asked = [];
    const port = await servers.http((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        asked.push(`${request.method} ${request.url} ${Buffer.concat(chunks).toString()}`);
        answer(request, response);
      });
    });
    url = new URL(`http://127.0.0.1:${port}`);
  });
  const says = (body: unknown, status = 200): void => {
    answer = (_request, response) => response.writeHead(status).end(JSON.stringify(body));
  };

  test('is asked on the path of the agent, with what is known and nothing else', async () => {
    says({ result: [] });
    await aCheck({ url: new URL('/opa/', url) })({ guardrailsInvoked: [], userConfirmed: false });
    expect(asked).toEqual([
      'POST /opa/v1/data/platform/agent/corner_shop/deny {"input":{"agent_name":"corner-shop","request_type":"llm_call",' +
        '"tokens_today":0,"cost_today_usd":0,"guardrails_invoked":[],"user_confirmed":false}}',
    ]);
  });

  test('denies with its own reasons', async () => {
    says({ result: ['zone_closed', 'a_rule_of_mine'] });
    expect(await endOf(aCheck({ url })())).toEqual(['a_rule_of_mine', 'zone_closed']);
  });

  const hang: RequestListener = () => undefined;
  const drop: RequestListener = (request) => request.socket.destroy();
  const withText = (text: string, status = 200): RequestListener => {
    return (_request, response) => response.writeHead(status).end(text);
  };
  test.each<[string, RequestListener, string]>([
    ['does not have the rules', withText('{}'), 'it does not have the rules of this agent'],
    ['fails', withText('{}', 500), 'the engine answers with status 500'],
    ['speaks no JSON', withText('<html>'), 'the answer is not a JSON object'],
    ['says no list', withText('{"result":{"deny":true}}'), 'the result is not a list of denial reasons'],
    ['redirects', withText('', 307), 'the engine answers with status 307'],
    ['hangs up', drop, 'ECONNRESET: socket hang up'],
    ['hangs', hang, 'no answer within 200 ms'],
    ['says more than it should', withText('x'.repeat(300_000)), 'the reply is larger than 262144 bytes'],
  ])('that %s: passes, and with failClosed does not', async (_name, listener, reason) => {
    answer = listener;
    // What answers has all the time that it needs.
    const timeoutMs = listener === hang ? 200 : 60_000;
    const open = aCheck({ url, timeoutMs });
    expect([await endOf(open()), await endOf(open())]).toEqual([null, null]);
    expect(log).toEqual([
      ['the policy engine gives no verdict: calls of the model pass unevaluated', { reason }],
    ]);
    const error = await aCheck({ url, timeoutMs, failClosed: true })().catch((e: unknown) => e);
    expect(error).toBeInstanceOf(PolicyUnavailableError);
    expect(error).toMatchObject({
      code: 'PLATFORM_POLICY_UNAVAILABLE',
      message: `the policy engine gives no verdict: ${reason}`,
    });
  });

  test('that does not answer five times is asked once in five seconds, until it answers', async () => {
    answer = (_request, response) => response.writeHead(503).end();
    const check = aCheck({ url });
    for (let n = 0; n < 20; n += 1) await check();
    expect([asked.length, log.length]).toEqual([5, 1]);
    clock.advance(5_000);
    says({ result: ['closed'] });
    expect([await endOf(check()), await endOf(check()), asked.length]).toEqual([['closed'], ['closed'], 7]);
    answer = (_request, response) => response.writeHead(503).end();
    await check();
    expect(log).toHaveLength(2);
  });
});
