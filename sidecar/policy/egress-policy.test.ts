import { afterEach, expect, test } from '@jest/globals';
import type { PolicyEngine } from '../../core/policy/engine.ts';
import { builtinEngine, policyOf } from '../../core/policy/policy.ts';
import { aManifest } from '../../testing/fleet/facts.ts';
import { startFakeEngine, type FakeEngine } from '../../testing/sidecar/fake-engine.ts';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import { Breaker } from './breaker.ts';
import { createOpaEngine, type OpaEngine } from './opa-engine.ts';
import { PolicyEvaluator } from './policy-evaluator.ts';

const policy = policyOf(
  aManifest({
    model: { provider: 'openai', id: 'gpt-4o', apiKey: 'k', costControls: { maxTokensPerDay: 1000 } },
    tools: [{ name: 'search' }],
  }),
);

let fake: FakeEngine | null = null;
let opa: OpaEngine | null = null;
const stopping = new AbortController();

afterEach(async () => {
  stopping.abort();
  await opa?.close();
  await fake?.stop();
  [fake, opa] = [null, null];
});

let results: string[] = [];

function evaluatorWith(engine: PolicyEngine | null): PolicyEvaluator {
  results = [];
  return new PolicyEvaluator({
    mode: 'off',
    engine,
    policy: () => policy,
    isLoaded: () => true,
    totals: () => ({ tokensToday: 990 }),
    onReviewed: () => undefined,
    onResult: (_ms, state) => void results.push(state),
    now: () => 0,
  });
}

async function evaluatorWithOpa(): Promise<{
  evaluator: PolicyEvaluator;
  engine: FakeEngine;
  log: string[];
}> {
  const engine = await startFakeEngine();
  fake = engine;
  opa = createOpaEngine({ url: new URL(engine.url), timeoutMs: 60_000 });
  const log: string[] = [];
  const entry = (message: string) => void log.push(message);
  const breaker = new Breaker({
    engine: opa,
    checkInput: () => ({ agent_name: 'shop', request_type: 'report' }),
    clock: new ManualClock('2026-03-01T12:00:00Z'),
    logger: { error: entry, warn: entry, info: entry, debug: () => undefined },
    signal: stopping.signal,
  });
  return { evaluator: evaluatorWith(breaker), engine, log };
}

test('the builtin engine responds at once, in any mode of the proxy', () => {
  const evaluator = evaluatorWith(builtinEngine(() => policy));
  const request = {
    request_type: 'egress_model_request',
    model: 'gpt-5',
    tools: ['search', 'drop'],
  } as const;
  expect(evaluator.evaluateEgress({ ...request, reserved_tokens: 11 })).toEqual({
    violations: ['daily_token_limit_exceeded', 'model_not_declared', 'tool_not_declared'],
    state: 'answered',
  });
  expect(evaluator.evaluateEgress({ request_type: 'egress_tool_call', tools: ['search'] })).toEqual({
    violations: [],
    state: 'answered',
  });
  expect(results).toEqual(['answered', 'answered']);
});

test('without an engine nothing is evaluated', () => {
  expect(evaluatorWith(null).evaluateEgress({ request_type: 'egress_connect', host: 'x' })).toEqual({
    violations: [],
    state: 'none',
  });
});

test('an engine over HTTP gets the input document at the path of the lanes', async () => {
  const { evaluator, engine } = await evaluatorWithOpa();
  engine.reply = { result: ['tool_not_declared', 'a rule of its own'] };
  const query = { request_type: 'egress_model_request', model: 'gpt-4o', tools: ['drop'] } as const;
  expect(await evaluator.evaluateEgress({ ...query, reserved_tokens: 2 })).toEqual({
    violations: ['a rule of its own', 'tool_not_declared'],
    state: 'answered',
  });
  expect(engine.asked).toEqual([
    {
      path: '/v1/data/platform/agent/shop/deny_egress',
      input: {
        ...{
          agent_name: 'shop',
          request_type: 'egress_model_request',
          model: 'gpt-4o',
          model_names: ['gpt-4o'],
        },
        ...{ tools: ['drop'], tokens_today: 990, reserved_tokens: 2 },
      },
    },
  ]);
});

test.each<[unknown, string]>([
  [[{ msg: 'no tools today' }], 'no tools today'],
  [true, 'policy_result_invalid'],
])('a result in another form, %j, denies six calls in a row', async (result, reason) => {
  const { evaluator, engine } = await evaluatorWithOpa();
  engine.reply = { result };
  for (let call = 0; call < 6; call++)
    expect(await evaluator.evaluateEgress({ request_type: 'egress_tool_call', tools: ['drop'] })).toEqual({
      violations: [reason],
      state: 'answered',
    });
});

test('an engine with the rules of an earlier version does not decide', async () => {
  const { evaluator, engine } = await evaluatorWithOpa();
  engine.reply = {};
  expect(await evaluator.evaluateEgress({ request_type: 'egress_tool_call', tools: ['drop'] })).toEqual({
    violations: [],
    state: 'not-loaded',
  });
});

test('failures open the breaker, which then responds at once', async () => {
  const { evaluator, engine, log } = await evaluatorWithOpa();
  engine.reply = 500;
  const query = { request_type: 'egress_tool_call', tools: ['drop'] } as const;
  for (let call = 0; call < 5; call++)
    expect(await evaluator.evaluateEgress(query)).toEqual({ violations: [], state: 'unreachable' });
  expect(evaluator.evaluateEgress(query)).toEqual({ violations: [], state: 'unreachable' });
  expect([engine.asked.length, log]).toEqual([5, ['policy engine unreachable, requests pass unevaluated']]);
});
