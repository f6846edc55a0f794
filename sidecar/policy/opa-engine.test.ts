import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { PolicyInput } from '../../core/policy/policy-input.ts';
import { startFakeEngine, type FakeEngine, type Reply } from '../../testing/sidecar/fake-engine.ts';
import { holdTimers } from '../../testing/time/held-timers.ts';
import { until } from '../../testing/time/until.ts';
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

test('queries the path of the agent with the unchanged input', async () => {
  expect(await engine.evaluate(INPUT)).toEqual({ state: 'answered', denials: [] });
  expect(fake.asked).toEqual([{ path: '/v1/data/platform/agent/corner_shop/deny', input: INPUT }]);
});

test('prepends the path of POLICY_URL', async () => {
  const behind = createOpaEngine({ url: new URL(`${fake.url}/opa/`), timeoutMs: TIMEOUT_MS });
  await behind.evaluate(INPUT);
  await behind.close();
  expect(fake.asked.map(({ path }) => path)).toEqual(['/opa/v1/data/platform/agent/corner_shop/deny']);
});

test.each<[Reply, object]>([
  [{ result: ['b', 'a', 'b'] }, { state: 'answered', denials: ['a', 'b'] }],
  [{}, { state: 'not-loaded' }],
  [{ result: null }, { state: 'answered', denials: [] }],
  [{ result: [{ msg: 'no' }, 'pii'] }, { state: 'answered', denials: ['no', 'pii'] }],
  [
    { result: [1] },
    {
      ...{ state: 'answered', denials: ['policy_result_invalid'] },
      problem: 'an element of the result is a number',
    },
  ],
  [{ text: 'hello' }, { state: 'unreachable', reason: 'the response is not a JSON object' }],
  [500, { state: 'unreachable', reason: 'the engine responded with status 500' }],
  [404, { state: 'unreachable', reason: 'the engine responded with status 404' }],
])('reads the response %j', async (reply, expected) => {
  fake.reply = reply;
  expect(await engine.evaluate(INPUT)).toEqual(expected);
});

test('reads no response over 1 MiB', async () => {
  fake.reply = { text: ' '.repeat(2_000_000) };
  expect(await engine.evaluate(INPUT)).toEqual({
    state: 'unreachable',
    reason: 'the response is over 1 MiB',
  });
});

test('reuses connections', async () => {
  for (let i = 0; i < 20; i++) await engine.evaluate(INPUT);
  // At most two, because a response may be read before its connection counts as free.
  expect(fake.connections).toBeLessThanOrEqual(2);
});

test('repeats a query when the engine has closed the reused connection', async () => {
  await engine.evaluate(INPUT);
  let drops = 0;
  fake.reply = () => (drops++ > 0 ? { result: ['late'] } : 'drop');
  expect(await engine.evaluate(INPUT)).toEqual({ state: 'answered', denials: ['late'] });
  expect(fake.asked.at(-1)?.input).toEqual(INPUT);
});

test('repeats a query once', async () => {
  fake.reply = 'drop';
  expect(await engine.evaluate(INPUT)).toMatchObject({ state: 'unreachable' });
  expect(fake.asked).toHaveLength(2);
});

describe('an engine that does not respond', () => {
  test('is unreachable after the time-out', async () => {
    using timers = holdTimers();
    fake.reply = 'hang';
    const result = engine.evaluate(INPUT);
    await until(() => fake.asked.length === 1, 'the query');
    await timers.pass(TIMEOUT_MS);
    expect(await result).toEqual({ state: 'unreachable', reason: 'no response within 60000 ms' });
  });

  test('does not delay queries beyond the time-out when all connections are busy', async () => {
    using timers = holdTimers();
    fake.reply = 'hang';
    const results = Promise.all(Array.from({ length: 200 }, () => engine.evaluate(INPUT)));
    await until(() => fake.asked.length === 64, 'one query per connection');
    await timers.pass(TIMEOUT_MS);
    expect(new Set((await results).map(({ state }) => state))).toEqual(new Set(['unreachable']));
  });

  test('is unreachable on a closed port', async () => {
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
])('isHealthy for health response %s is %s', async (health, expected) => {
  using timers = holdTimers();
  fake.health = health;
  const isHealthy = engine.isHealthy();
  await until(() => fake.healthCalls === 1, 'the query');
  if (health === 'hang') await timers.pass(TIMEOUT_MS);
  expect(await isHealthy).toBe(expected);
});
