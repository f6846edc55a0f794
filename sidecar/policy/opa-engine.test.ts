import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { PolicyInput } from '../../core/policy/policy-input.ts';
import { startFakeEngine, type FakeEngine, type Reply } from '../../testing/fake-engine.ts';
import { stopwatch } from '../../testing/stopwatch.ts';
import { createOpaEngine, type OpaEngine } from './opa-engine.ts';

const INPUT: PolicyInput = { agent_name: 'corner-shop', request_type: 'llm_call', guardrails_invoked: [] };

let fake: FakeEngine;
let engine: OpaEngine;

beforeEach(async () => {
  fake = await startFakeEngine();
  engine = createOpaEngine({ url: new URL(fake.url), timeoutMs: 1_000 });
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
  const behind = createOpaEngine({ url: new URL(`${fake.url}/opa/`), timeoutMs: 1_000 });
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
  fake.reply = () => {
    if (drops++ > 0) return { result: ['late'] };
    fake.dropConnections();
    return 'hang';
  };
  expect(await engine.evaluate(INPUT)).toEqual({ state: 'answered', denials: ['late'] });
});

describe('an engine that gives no answer', () => {
  test('is given up on after the time-out', async () => {
    fake.reply = 'hang';
    const elapsed = stopwatch();
    expect(await engine.evaluate(INPUT)).toEqual({
      state: 'unreachable',
      reason: 'no answer within 1000 ms',
    });
    expect(elapsed()).toBeLessThan(3_000);
  });

  test('more than its connections can carry wait no longer either', async () => {
    fake.reply = 'hang';
    const elapsed = stopwatch();
    const answers = await Promise.all(Array.from({ length: 200 }, () => engine.evaluate(INPUT)));
    expect(new Set(answers.map(({ state }) => state))).toEqual(new Set(['unreachable']));
    expect(elapsed()).toBeLessThan(4_000);
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
  fake.health = health;
  expect(await engine.isHealthy()).toBe(expected);
});
