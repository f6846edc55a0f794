import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { PolicyInput } from '../../core/policy/policy-input.ts';
import { startFakeEngine, type FakeEngine, type Reply } from '../../testing/fake-engine.ts';
import { holdTimers, type HeldTimers } from '../../testing/held-timers.ts';
import { ManualClock } from '../../testing/manual-clock.ts';
import { until } from '../../testing/proxy-rig.ts';
import type { Logger } from '../../runtime/logger.ts';
import { Breaker } from './breaker.ts';
import { createOpaEngine, type OpaEngine } from './opa-engine.ts';

const INPUT: PolicyInput = { agent_name: 'shop', request_type: 'llm_call' };
const TIMEOUT_MS = 60_000;
const LOOK: PolicyInput = { agent_name: 'shop', request_type: 'report' };

let fake: FakeEngine;
let engine: OpaEngine;
let breaker: Breaker;
let clock: ManualClock;
let log: string[];
/** Asked of the engine so far, whether it hears them or not. */
let questions: number;
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
  questions = 0;
  const counted: OpaEngine = {
    ...engine,
    evaluate: (input) => {
      questions += 1;
      return engine.evaluate(input);
    },
  };
  breaker = new Breaker({ engine: counted, question: () => LOOK, clock, logger, signal: stopping.signal });
});

afterEach(async () => {
  await engine.close();
  await fake.stop();
});

async function askTimes(count: number): Promise<string[]> {
  const states: string[] = [];
  for (let i = 0; i < count; i++) states.push((await breaker.evaluate(INPUT)).state);
  return states;
}

/** Puts questions to an engine that hangs, and lets the time of each pass. */
async function askInVain(timers: HeldTimers, count: number): Promise<string[]> {
  const states: string[] = [];
  for (let i = 0; i < count; i++) {
    const heard = fake.asked.length;
    const answer = breaker.evaluate(INPUT);
    await until(() => fake.asked.length > heard, 'the question');
    await timers.pass(TIMEOUT_MS);
    states.push((await answer).state);
  }
  return states;
}

const down = 'warn: the policy engine does not answer: requests pass unevaluated';
const up = 'info: the policy engine answers again';

test('a hung engine costs its time-out to the first five requests only, and one warning', async () => {
  using timers = holdTimers();
  fake.reply = 'hang';
  expect(await askInVain(timers, 5)).toEqual(Array(5).fill('unreachable'));
  expect(await askTimes(45)).toEqual(Array(45).fill('unreachable'));
  expect([questions, fake.asked.length]).toEqual([5, 5]);
  expect(log).toEqual([down]);
  // Nobody waits for a turn of the event loop either.
  expect(breaker.evaluate(INPUT)).toMatchObject({ state: 'unreachable' });
});

test('an answer in between starts the count anew', async () => {
  for (let i = 0; i < 3; i++) {
    fake.reply = 500;
    await askTimes(4);
    fake.reply = { result: [] };
    await askTimes(1);
  }
  expect(fake.asked).toHaveLength(15);
  expect(log).toEqual([down, up, down, up, down, up]);
});

test('is closed by a look at the engine’s health every five seconds, never by a request', async () => {
  fake.reply = 500;
  fake.health = 500;
  await askTimes(5);
  fake.reply = { result: ['no'] };
  const first = await clock.nextSleep();
  expect(first.ms).toBe(5_000);
  expect(await askTimes(3)).toEqual(Array(3).fill('unreachable'));
  first.wake();
  const second = await clock.nextSleep();
  expect([fake.healthCalls, second.ms, breaker.isDown]).toEqual([1, 5_000, true]);
  fake.health = 200;
  second.wake();
  await until(() => !breaker.isDown, 'the end of the outage');
  expect(fake.asked.slice(5)).toMatchObject([{ input: LOOK }]);
  expect(await breaker.evaluate(INPUT)).toEqual({ state: 'answered', denials: ['no'] });
  expect(log).toEqual([down, up]);
  expect(breaker.failOpenSeconds).toBe(10);
});

test('an engine that is healthy but still hangs costs no request any more, and no line', async () => {
  using timers = holdTimers();
  fake.reply = 'hang';
  await askInVain(timers, 5);
  for (let i = 1; i <= 3; i++) {
    (await clock.nextSleep()).wake();
    await until(() => fake.asked.length === 5 + i, 'the look');
    expect(await askTimes(100)).toEqual(Array(100).fill('unreachable'));
    expect([questions, fake.asked.length]).toEqual([5 + i, 5 + i]);
    await timers.pass(TIMEOUT_MS);
  }
  expect([breaker.isDown, log]).toEqual([true, [down]]);
});

test('an engine that is back counts to five again, and the next outage has a warning of its own', async () => {
  fake.reply = 500;
  await askTimes(5);
  fake.reply = { result: [] };
  (await clock.nextSleep()).wake();
  await until(() => !breaker.isDown, 'the end of the outage');
  fake.reply = 500;
  fake.asked.length = 0;
  await askTimes(20);
  expect(fake.asked).toHaveLength(5);
  expect(log).toEqual([down, up, down]);
});

test('an answer that was under way when it opened does not close it, nor does an engine that has no rules keep it open', async () => {
  let tell: (reply: Reply) => void = () => undefined;
  fake.reply = () => new Promise((resolve) => (tell = resolve));
  const slow = breaker.evaluate(INPUT);
  await until(() => fake.asked.length > 0, 'the question');
  fake.reply = 500;
  await askTimes(5);
  tell({ result: [] });
  expect((await slow).state).toBe('answered');
  expect(await askTimes(1)).toEqual(['unreachable']);
  expect(fake.asked).toHaveLength(6);
  fake.reply = {};
  (await clock.nextSleep()).wake();
  await until(() => !breaker.isDown, 'the end of the outage');
  expect(await askTimes(1)).toEqual(['not-loaded']);
});

test('seconds of an outage count while it lasts, and stay counted', async () => {
  expect(breaker.failOpenSeconds).toBe(0);
  fake.reply = 500;
  await askTimes(1);
  clock.advance(2_500);
  expect(breaker.failOpenSeconds).toBe(2.5);
  fake.reply = { result: [] };
  await askTimes(1);
  clock.advance(60_000);
  expect(breaker.failOpenSeconds).toBe(2.5);
});
