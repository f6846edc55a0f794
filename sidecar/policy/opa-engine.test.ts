import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { PolicyInput } from '../../core/policy/policy-input.ts';
import { startFakeEngine, type FakeEngine, type Reply } from '../../testing/fake-engine.ts';
import { holdTimers } from '../../testing/held-timers.ts';
import { until } from '../../testing/proxy-rig.ts';
import { createOpaEngine, type OpaEngine } from './opa-engine.ts';

const INPUT: PolicyInput = { agent_name: 'corner-shop', request_type: 'llm_call', guardrails_invoked: [] };

const TIMEOUT_MS = 60_000;

let fake: FakeEngine;
let engine: OpaEngine;

beforeEach(async () => {
  fake = await startFakeEngine();
  engine = createOpaEngine({ url: new URL(fake.url), timeoutMs: TIMEOUT_MS });
});

afterEach(async () => {
  await engine.close();
  await fake.stop();
});

test('asks at the agent’s own path, with the input as it is', async () => {
  expect(await engine.evaluate(INPUT)).toEqual({ state: 'answered', denials: [] });
  expect(fake.asked).toEqual([{ path: '/v1/data/platform/agent/corner_shop/deny', input: INPUT }]);
});

test('puts the path of POLICY_URL before its own', async () => {
  const behind = createOpaEngine({ url: new URL(`${fake.url}/opa/`), timeoutMs: TIMEOUT_MS });
  await behind.evaluate(INPUT);
  await behind.close();
  expect(fake.asked.map(({ path }) => path)).toEqual(['/opa/v1/data/platform/agent/corner_shop/deny']);
});

test.each<[Reply, object]>([
  [{ result: ['b', 'a', 'b'] }, { state: 'answered', denials: ['a', 'b'] }],
  [{}, { state: 'not-loaded' }],
  [{ result: null }, { state: 'unreachable', reason: 'the result is not a list of denial reasons' }],
  [{ result: [1] }, { state: 'unreachable', reason: 'the result is not a list of denial reasons' }],
  [{ result: { a: true } }, { state: 'unreachable', reason: 'the result is not a list of denial reasons' }],
  [{ text: 'hello' }, { state: 'unreachable', reason: 'the answer is not a JSON object' }],
  [{ text: ' '.repeat(2_000_000) }, { state: 'unreachable', reason: 'the answer is over 1 MiB' }],
  [500, { state: 'unreachable', reason: 'the engine answers with status 500' }],
  [404, { state: 'unreachable', reason: 'the engine answers with status 404' }],
])('reads the answer %j', async (reply, expected) => {
  fake.reply = reply;
  expect(await engine.evaluate(INPUT)).toEqual(expected);
});

test('keeps its connections', async () => {
  for (let i = 0; i < 20; i++) await engine.evaluate(INPUT);
  // The second one: an answer is read before its connection counts as free.
  expect(fake.connections).toBeLessThanOrEqual(2);
});

test('asks again where the engine had closed the kept connection', async () => {
  await engine.evaluate(INPUT);
  let drops = 0;
  fake.reply = () => (drops++ > 0 ? { result: ['late'] } : 'drop');
  expect(await engine.evaluate(INPUT)).toEqual({ state: 'answered', denials: ['late'] });
});

describe('an engine that gives no answer', () => {
  test('is given up on after the time-out', async () => {
    using timers = holdTimers();
    fake.reply = 'hang';
    const answer = engine.evaluate(INPUT);
    await until(() => fake.asked.length === 1, 'the question');
    await timers.pass(TIMEOUT_MS);
    expect(await answer).toEqual({ state: 'unreachable', reason: 'no answer within 60000 ms' });
  });

  test('more than its connections can carry wait no longer either', async () => {
    using timers = holdTimers();
    fake.reply = 'hang';
    const answers = Promise.all(Array.from({ length: 200 }, () => engine.evaluate(INPUT)));
    await until(() => fake.asked.length === 64, 'as many questions as there are connections');
    await timers.pass(TIMEOUT_MS);
    expect(new Set((await answers).map(({ state }) => state))).toEqual(new Set(['unreachable']));
  });

  test('is unreachable when nobody listens', async () => {
    await fake.stop();
    expect(await engine.evaluate(INPUT)).toEqual({ state: 'unreachable', reason: 'ECONNREFUSED' });
  });
});

test.each<[FakeEngine['health'], boolean]>([
  [200, true],
  [204, true],
  [500, false],
  [404, false],
  ['hang', false],
])('health %s is %s', async (health, expected) => {
  using timers = holdTimers();
  fake.health = health;
  const isHealthy = engine.isHealthy();
  await until(() => fake.healthCalls === 1, 'the question');
  if (health === 'hang') await timers.pass(TIMEOUT_MS);
  expect(await isHealthy).toBe(expected);
});
