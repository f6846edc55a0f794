import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { policyOf, type Policy } from '../../core/policy/policy.ts';
import { startFakeEngine, type FakeEngine } from '../../testing/sidecar/fake-engine.ts';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import { plainManifest } from '../../testing/manifests/plain-manifest.ts';
import { until } from '../../testing/time/until.ts';
import { CanaryWatch } from './canary-watch.ts';
import { createOpaEngine, type OpaEngine } from './opa-engine.ts';

const PII = 'pii_detector_not_invoked';
const TOKENS = 'daily_token_limit_exceeded';

let fake: FakeEngine;
let engine: OpaEngine;
let clock: ManualClock;
let log: unknown[];
let policy: Policy;
let watch: CanaryWatch;
let stopping: AbortController;

beforeEach(async () => {
  fake = await startFakeEngine({ result: [PII, TOKENS] });
  engine = createOpaEngine({ url: new URL(fake.url), timeoutMs: 60_000 });
  clock = new ManualClock('2026-03-01T12:00:00Z');
  log = [];
  const entry = (level: string) => (_message: string, fields?: object) => void log.push([level, fields]);
  const logger = { error: entry('error'), warn: entry('warn'), info: entry('info'), debug: entry('debug') };
  policy = policyOf(plainManifest('shop', [PII, TOKENS]));
  stopping = new AbortController();
  watch = new CanaryWatch({ engine, policy: () => policy, clock, logger, signal: stopping.signal });
});

afterEach(async () => {
  stopping.abort();
  await engine.close();
  await fake.stop();
});

/** Lets the minute until the next round pass. */
async function nextRound(): Promise<void> {
  const before = fake.asked.length;
  const sleep = await clock.nextSleep();
  expect(sleep.ms).toBe(60_000);
  sleep.wake();
  await until(() => fake.asked.length > before, 'the round');
  await watch.check();
}

test('queries the engine with one canary per rule at start and every minute', async () => {
  watch.start();
  await until(() => fake.asked.length === 2, 'the first round');
  expect(fake.asked.map(({ input }) => input)).toEqual([
    { agent_name: 'shop', request_type: 'llm_call', tokens_today: expect.any(Number) },
    { agent_name: 'shop', request_type: 'llm_call', guardrails_invoked: [] },
  ]);
  await nextRound();
  expect([watch.isLoaded, log]).toEqual([true, []]);
});

test('logs missing rules once and loaded rules once', async () => {
  fake.reply = { result: [PII] };
  watch.start();
  await until(() => !watch.isLoaded, 'the finding');
  await nextRound();
  fake.reply = {};
  await nextRound();
  expect([watch.isLoaded, log]).toEqual([false, [['warn', { missing: [TOKENS] }]]]);
  fake.reply = { result: [PII, TOKENS, 'a rule of its own'] };
  await nextRound();
  await nextRound();
  expect([watch.isLoaded, log.slice(1)]).toEqual([true, [['info', undefined]]]);
});

test('keeps the last result while the engine is unreachable', async () => {
  fake.reply = 500;
  await watch.check();
  expect([watch.isLoaded, fake.asked.length]).toEqual([true, 1]);
  fake.reply = { result: [] };
  await watch.check();
  fake.reply = 500;
  await watch.check();
  expect([watch.isLoaded, log]).toEqual([false, [['warn', { missing: [TOKENS, PII] }]]]);
});

test('also queries the rules for calls on egress lanes if there are lanes', async () => {
  const logger = {
    error: () => undefined,
    warn: () => undefined,
    info: () => undefined,
    debug: () => undefined,
  };
  const { signal } = stopping;
  const withLanes = new CanaryWatch({
    engine,
    policy: () => policy,
    withEgress: true,
    clock,
    logger,
    signal,
  });
  // An engine with the rules that an earlier version generated.
  fake.reply = ({ request_type }) => (request_type.startsWith('egress_') ? {} : { result: [PII, TOKENS] });
  await watch.check();
  await withLanes.check();
  expect([watch.isLoaded, withLanes.isLoaded]).toEqual([true, false]);
  const paths = new Set(fake.asked.map(({ path }) => path.split('/').at(-1)));
  expect(paths).toEqual(new Set(['deny', 'deny_egress']));
  fake.reply = { result: [PII, TOKENS, 'host_not_declared', 'model_not_declared', 'tool_not_declared'] };
  await withLanes.check();
  expect(withLanes.isLoaded).toBe(true);
});

test('does not query the engine for a manifest without rules', async () => {
  policy = policyOf(plainManifest('shop', []));
  fake.reply = {};
  await watch.check();
  expect([watch.isLoaded, fake.asked, log]).toEqual([true, [], []]);
});
