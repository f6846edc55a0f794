import { beforeEach, expect, test } from '@jest/globals';
import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import type { PolicyResult } from '../../core/policy/engine.ts';
import type { PolicyInput } from '../../core/policy/policy-input.ts';
import { evaluate, policyOf } from '../../core/policy/policy.ts';
import type { Decision } from '../../core/policy/decision.ts';
import { systemClock } from '../../runtime/clock.ts';
import { plainManifest } from '../../testing/manifests/plain-manifest.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Recording } from '../audit/recording.ts';
import { PolicyEvaluator } from './policy-evaluator.ts';
import { auditLogOf } from '../../testing/sidecar/audit-log.ts';

const PII = 'pii_detector_not_invoked';
const DESTRUCTIVE = 'destructive_tool_without_confirmation';
const policy = policyOf(plainManifest('shop', [DESTRUCTIVE, PII]));
const RAN = { type: 'guardrail', guardrailType: 'pii-detector', invoked: true } as const;
const SKIPPED = { ...RAN, invoked: false };
const DROPPED = { type: 'tool', name: 'drop' } as const;

let audit: AuditLog;
let evaluator: PolicyEvaluator;
let recording: Recording;
/** Pending queries, oldest first; each function completes its query with the result of the rules. */
let open: (() => Promise<void>)[];

beforeEach(() => {
  open = [];
  audit = auditLogOf(systemClock);
  const evaluateLater = (input: PolicyInput): Promise<PolicyResult> =>
    new Promise((resolve) => {
      open.push(async () => {
        resolve({ state: 'answered', denials: evaluate(policy, input) });
        await new Promise((next) => setImmediate(next));
      });
    });
  evaluator = new PolicyEvaluator({
    mode: 'enforce',
    engine: { evaluate: evaluateLater },
    policy: () => policy,
    isLoaded: () => true,
    totals: () => ({ tokensToday: 0 }),
    onReviewed: (entry, denials) => audit.reviewed(entry, denials),
    onResult: () => undefined,
    now: () => 0,
  });
  recording = audit.arrive({ requestId: 'r-1', method: 'POST', target: '/chat' });
});

function reviewEvents(
  ...events: Parameters<AuditLog['recordEvents']>[0]['events']
): Promise<readonly string[]> {
  const entry = audit.recordEvents({ requestId: 'r-1', events });
  if (entry === null || entry === 'full') throw new Error('the events were not recorded');
  return evaluator.review(entry);
}

function head(headers: Record<string, string>): Promise<void> {
  const platform = new Map(Object.entries(headers));
  recording.head({ statusCode: 200, contentType: undefined, contentEncoding: undefined, platform });
  const decision = evaluator.judge(recording.entry, platform) as Promise<Decision>;
  return decision.then((final) => recording.judged(final));
}

const recorded = ({ policyViolations, lateDenial }: AuditEntry) => ({ policyViolations, lateDenial });

test('an event under review when the head arrives is evaluated with the head', async () => {
  const event = reviewEvents(SKIPPED);
  const decision = head({ 'x-platform-guardrails-invoked': 'pii-detector' });
  // The query for the head completes first.
  await open[1]!();
  await decision;
  await open[0]!();
  await open[2]!();
  expect(await event).toEqual([]);
  expect(recorded(recording.entry)).toEqual({ policyViolations: undefined, lateDenial: undefined });
});

test('an event that arrives during the evaluation of the head stays a late denial', async () => {
  const decision = head({ 'x-platform-guardrails-invoked': 'pii-detector' });
  const event = reviewEvents(DROPPED);
  await open[1]!();
  expect(await event).toEqual([DESTRUCTIVE]);
  await open[0]!();
  await decision;
  expect(recorded(recording.entry)).toEqual({ policyViolations: [DESTRUCTIVE], lateDenial: true });
});

test('a denial from an event before the head is removed if the decision on the head allows', async () => {
  const event = reviewEvents(SKIPPED);
  await open[0]!();
  expect(await event).toEqual([PII]);
  expect(recorded(recording.entry)).toEqual({ policyViolations: [PII], lateDenial: true });
  const decision = head({ 'x-platform-guardrails-invoked': 'pii-detector' });
  await open[1]!();
  await decision;
  expect(recorded(recording.entry)).toEqual({ policyViolations: undefined, lateDenial: undefined });
});

test('two concurrent events are evaluated together', async () => {
  const first = reviewEvents(SKIPPED);
  const second = reviewEvents(RAN);
  await open[1]!();
  await open[0]!();
  await open[2]!();
  expect([await first, await second]).toEqual([[], []]);
  expect(recorded(recording.entry)).toEqual({ policyViolations: undefined, lateDenial: undefined });
});
