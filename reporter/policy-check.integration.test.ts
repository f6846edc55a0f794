import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { POLICY_RULES } from '../core/policy/rules.ts';
import { startOpa, whyNoOpa, writePolicy, type Opa } from '../testing/sidecar/opa.ts';
import { plainManifest } from '../testing/manifests/plain-manifest.ts';
import { createReporter, PolicyDeniedError, type PolicyFacts, type Reporter } from './index.ts';

const REASONS = POLICY_RULES.map(({ reason }) => reason);
const MANIFEST = plainManifest('3d-corner-shop', REASONS);

(whyNoOpa() ? describe.skip : describe)('checkPolicy with a real policy engine', () => {
  let directory: string;
  let opa: Opa;
  const logger = {
    warn: () => undefined,
    info: () => undefined,
    debug: () => undefined,
  };
  const aReporter = (env: Record<string, string>, failClosed = false, manifest = MANIFEST): Reporter =>
    createReporter({
      manifest,
      env,
      push: false,
      logger,
      policy: { failClosed },
      sidecarUrl: 'http://127.0.0.1:9',
    });
  const decision = async (reporter: Reporter, facts: PolicyFacts): Promise<readonly string[]> => {
    try {
      await reporter.checkPolicy(facts);
      return [];
    } catch (error) {
      if (error instanceof PolicyDeniedError) return error.violations;
      throw error;
    }
  };

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'reporter-opa-'));
    await writePolicy(join(directory, 'policy'), MANIFEST);
    opa = await startOpa([join(directory, 'policy')]);
  });
  afterAll(async () => {
    await opa.close();
    await rm(directory, { recursive: true });
  });

  const guardrailsInvoked = ['pii-detector'];
  test.each<[PolicyFacts, readonly string[]]>([
    [{}, ['pii_detector_not_invoked']],
    [{ guardrailsInvoked }, []],
    [{ guardrailsInvoked, toolsCalled: ['drop'] }, ['destructive_tool_without_confirmation']],
    [{ guardrailsInvoked, toolsCalled: ['drop'], userConfirmed: true }, []],
    [{ guardrailsInvoked, toxicityScore: 0.7 }, ['toxicity_threshold_exceeded']],
    [{ guardrailsInvoked, toxicityScore: 0.69 }, []],
    [{ guardrailsInvoked, tokensToday: 1000 }, ['daily_token_limit_exceeded']],
    [{ guardrailsInvoked, costTodayUsd: 2.5 }, ['monthly_cost_limit_exceeded']],
    [{ guardrailsInvoked, memoryTtlSeconds: 60 }, ['memory_ttl_mismatch']],
    [
      { toolsCalled: ['drop'], toxicityScore: 1, tokensToday: 1e9, costTodayUsd: 99, memoryTtlSeconds: 0 },
      REASONS,
    ],
  ])('%j: same decision as the rules in this process', async (facts, expected) => {
    expect(await decision(aReporter({ POLICY_URL: opa.url }), facts)).toEqual(expected);
    expect(await decision(aReporter({}), facts)).toEqual(expected);
  });

  test('counts the tokens that were recorded today', async () => {
    const reporter = aReporter({ POLICY_URL: opa.url });
    reporter.recordUsage('gpt', 400, 599);
    expect(await decision(reporter, { guardrailsInvoked })).toEqual([]);
    reporter.recordUsage('gpt', 1, 0);
    expect(await decision(reporter, { guardrailsInvoked })).toEqual(['daily_token_limit_exceeded']);
    // Without a sidecar the events are dropped with a warning.
    await reporter.events.flush(60_000);
  });

  test('allows a call if the engine does not have the rules of the agent, and rejects it with failClosed', async () => {
    const unknown = plainManifest('unknown', REASONS);
    await aReporter({ POLICY_URL: opa.url }, false, unknown).checkPolicy();
    await expect(aReporter({ POLICY_URL: opa.url }, true, unknown).checkPolicy()).rejects.toThrow(
      'the engine does not have the rules of this agent',
    );
  });
});
