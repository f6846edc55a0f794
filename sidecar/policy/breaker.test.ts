import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { PolicyInput } from '../../core/policy/policy-input.ts';
import { startFakeEngine, type FakeEngine, type Reply } from '../../testing/sidecar/fake-engine.ts';
import { holdTimers, type HeldTimers } from '../../testing/time/held-timers.ts';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import { until } from '../../testing/time/until.ts';
import type { Logger } from '../../runtime/logger.ts';
import { Breaker } from './breaker.ts';
import { createOpaEngine, type OpaEngine } from './opa-engine.ts';

const INPUT: PolicyInput = { agent_name: 'shop', request_type: 'llm_call' };
const TIMEOUT_MS = 60_000;
const CHECK: PolicyInput = { agent_name: 'shop', request_type: 'report' };

let fake: FakeEngine;
let engine: OpaEngine;
let breaker: Breaker;
let clock: ManualClock;
let log: string[];
/** Number of queries sent to the engine. */
let queries: number;
const stopping = new AbortController();

beforeEach(async () => {
  fake = await startFakeEngine();
  engine = createOpaEngine({ url: new URL(fake.url), timeoutMs: TIMEOUT_MS });
  clock = new ManualClock('2026-03-01T12:00:00Z');
  log = [];
  const entry = (level: string) => (message: string) => void log.push(`${level}: ${message}`);
  const logger: Logger = {
    error: entry('error'),
    warn: entry('warn'),
    info: entry('info'),
    debug: () => undefined,
  };
  queries = 0;
  const counted: OpaEngine = {
    ...engine,
    evaluate: (input) => {
      queries += 1;
      return engine.evaluate(input);
    },
  };
  breaker = new Breaker({ engine: counted, checkInput: () => CHECK, clock, logger, signal: stopping.signal });
});

afterEach(async () => {
  await engine.close();
  await fake.stop();
});

async function query(count: number): Promise<string[]> {
  const states: string[] = [];
  for (let i = 0; i < count; i++) states.push((await breaker.evaluate(INPUT)).state);
  return states;
}

/** Sends queries to a hung engine and lets the time-out of each query pass. */
async function queryUntilTimeout(timers: HeldTimers, count: number): Promise<string[]> {
  const states: string[] = [];
  for (let i = 0; i < count; i++) {
    const before = fake.asked.length;
    const result = breaker.evaluate(INPUT);
    await until(() => fake.asked.length > before, 'the query');
    await timers.pass(TIMEOUT_MS);
    states.push((await result).state);
  }
  return states;
}

const down = 'warn: policy engine unreachable, requests pass unevaluated';
const up = 'info: policy engine reachable again';

test('only the first five requests wait for a hung engine, with one warning', async () => {
  using timers = holdTimers();
  fake.reply = 'hang';
  expect(await queryUntilTimeout(timers, 5)).toEqual(Array(5).fill('unreachable'));
  expect(await query(45)).toEqual(Array(45).fill('unreachable'));
  expect([queries, fake.asked.length]).toEqual([5, 5]);
  expect(log).toEqual([down]);
  // The result is synchronous.
  expect(breaker.evaluate(INPUT)).toMatchObject({ state: 'unreachable' });
});

test('a result without a reason is not an outage, and each form is logged once', async () => {
  const invalid = 'warn: policy engine result invalid, counted as a denial';
  for (const result of [[1], true, [1]]) {
    fake.reply = { result };
    expect(await query(6)).toEqual(Array(6).fill('answered'));
  }
  expect([fake.asked.length, log]).toEqual([18, [invalid, invalid]]);
});

test('a response resets the count of failures', async () => {
  for (let i = 0; i < 3; i++) {
    fake.reply = 500;
    await query(4);
    fake.reply = { result: [] };
    await query(1);
  }
  expect(fake.asked).toHaveLength(15);
  expect(log).toEqual([down, up, down, up, down, up]);
});

test('is closed by a health check every five seconds, never by a request', async () => {
  fake.reply = 500;
  fake.health = 500;
  await query(5);
  fake.reply = { result: ['no'] };
  const first = await clock.nextSleep();
  expect(first.ms).toBe(5_000);
  expect(await query(3)).toEqual(Array(3).fill('unreachable'));
  first.wake();
  const second = await clock.nextSleep();
  expect([fake.healthCalls, second.ms, breaker.isDown]).toEqual([1, 5_000, true]);
  fake.health = 200;
  second.wake();
  await until(() => !breaker.isDown, 'the end of the outage');
  expect(fake.asked.slice(5)).toMatchObject([{ input: CHECK }]);
  expect(await breaker.evaluate(INPUT)).toEqual({ state: 'answered', denials: ['no'] });
  expect(log).toEqual([down, up]);
  expect(breaker.failOpenSeconds).toBe(10);
});

test('stays open without delaying requests or logging while the engine is healthy but hangs', async () => {
  using timers = holdTimers();
  fake.reply = 'hang';
  await queryUntilTimeout(timers, 5);
  for (let i = 1; i <= 3; i++) {
    (await clock.nextSleep()).wake();
    await until(() => fake.asked.length === 5 + i, 'the check');
    expect(await query(100)).toEqual(Array(100).fill('unreachable'));
    expect([queries, fake.asked.length]).toEqual([5 + i, 5 + i]);
    await timers.pass(TIMEOUT_MS);
  }
  expect([breaker.isDown, log]).toEqual([true, [down]]);
});

test('counts to five again after a recovery, with a new warning for the next outage', async () => {
  fake.reply = 500;
  await query(5);
  fake.reply = { result: [] };
  (await clock.nextSleep()).wake();
  await until(() => !breaker.isDown, 'the end of the outage');
  fake.reply = 500;
  fake.asked.length = 0;
  await query(20);
  expect(fake.asked).toHaveLength(5);
  expect(log).toEqual([down, up, down]);
});

test('is not closed by a response to an earlier query, and is closed by an engine without rules', async () => {
  let respond: (reply: Reply) => void = () => undefined;
  fake.reply = () => new Promise((resolve) => (respond = resolve));
  const slow = breaker.evaluate(INPUT);
  await until(() => fake.asked.length > 0, 'the query');
  fake.reply = 500;
  await query(5);
  respond({ result: [] });
  expect((await slow).state).toBe('answered');
  expect(await query(1)).toEqual(['unreachable']);
  expect(fake.asked).toHaveLength(6);
  fake.reply = {};
  (await clock.nextSleep()).wake();
  await until(() => !breaker.isDown, 'the end of the outage');
  expect(await query(1)).toEqual(['not-loaded']);
});

test('failOpenSeconds counts a current outage and keeps its seconds afterwards', async () => {
  expect(breaker.failOpenSeconds).toBe(0);
  fake.reply = 500;
  await query(1);
  clock.advance(2_500);
  expect(breaker.failOpenSeconds).toBe(2.5);
  fake.reply = { result: [] };
  await query(1);
  clock.advance(60_000);
  expect(breaker.failOpenSeconds).toBe(2.5);
});
