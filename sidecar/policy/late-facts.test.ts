import { beforeEach, expect, test } from '@jest/globals';
import type { AuditEntry } from '../../core/behavior/audit-entry.ts';
import type { PolicyAnswer } from '../../core/policy/engine.ts';
import type { PolicyInput } from '../../core/policy/policy-input.ts';
import { evaluate, policyOf } from '../../core/policy/policy.ts';
import { systemClock } from '../../runtime/clock.ts';
import { plainManifest } from '../../testing/manifests/plain-manifest.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Recording } from '../audit/recording.ts';
import { PolicyEvaluator, type Verdict } from './policy-evaluator.ts';
import { auditLogOf } from '../../testing/audit-log.ts';

const PII = 'pii_detector_not_invoked';
const DESTRUCTIVE = 'destructive_tool_without_confirmation';
const policy = policyOf(plainManifest('shop', [DESTRUCTIVE, PII]));
const RAN = { type: 'guardrail', guardrailType: 'pii-detector', invoked: true } as const;
const SKIPPED = { ...RAN, invoked: false };
const DROPPED = { type: 'tool', name: 'drop' } as const;

let audit: AuditLog;
let evaluator: PolicyEvaluator;
let recording: Recording;
/** Questions that the engine has not answered yet, oldest first: each answers with what the rules say to it. */
let open: (() => Promise<void>)[];

beforeEach(() => {
  open = [];
  audit = auditLogOf(systemClock);
  const ask = (input: PolicyInput): Promise<PolicyAnswer> =>
    new Promise((resolve) => {
      open.push(async () => {
        resolve({ state: 'answered', denials: evaluate(policy, input) });
        await new Promise((next) => setImmediate(next));
      });
    });
  evaluator = new PolicyEvaluator({
    mode: 'enforce',
    engine: { evaluate: ask },
    policy: () => policy,
    isLoaded: () => true,
    totals: () => ({ tokensToday: 0 }),
    onAnswer: () => undefined,
    now: () => 0,
  });
  recording = audit.arrive({ requestId: 'r-1', method: 'POST', target: '/chat' });
});

function tell(...events: Parameters<AuditLog['recordEvents']>[0]['events']): Promise<readonly string[]> {
  const entry = audit.recordEvents({ requestId: 'r-1', events });
  if (entry === null || entry === 'full') throw new Error('the events are not recorded');
  return evaluator.review(entry);
}

function head(platform: Record<string, string>): Promise<void> {
  recording.head({
    statusCode: 200,
    contentType: undefined,
    contentEncoding: undefined,
    platform: new Map(Object.entries(platform)),
  });
  return (evaluator.judge(recording.entry) as Promise<Verdict>).then((verdict) => recording.judged(verdict));
}

const said = ({ policyViolations, lateDenial }: AuditEntry) => ({ policyViolations, lateDenial });

test('an event that is looked at while the head comes is judged by both', async () => {
  const event = tell(SKIPPED);
  const verdict = head({ 'x-platform-guardrails-invoked': 'pii-detector' });
  // The head's question is answered first.
  await open[1]!();
  await verdict;
  await open[0]!();
  await open[2]!();
  expect(await event).toEqual([]);
  expect(said(recording.entry)).toEqual({ policyViolations: undefined, lateDenial: undefined });
});

test('an event that comes while the head is judged stays a late denial', async () => {
  const verdict = head({ 'x-platform-guardrails-invoked': 'pii-detector' });
  const event = tell(DROPPED);
  await open[1]!();
  expect(await event).toEqual([DESTRUCTIVE]);
  await open[0]!();
  await verdict;
  expect(said(recording.entry)).toEqual({ policyViolations: [DESTRUCTIVE], lateDenial: true });
});

test('of an event before the head nothing stays that the head explains', async () => {
  const event = tell(SKIPPED);
  await open[0]!();
  expect(await event).toEqual([PII]);
  expect(said(recording.entry)).toEqual({ policyViolations: [PII], lateDenial: true });
  const verdict = head({ 'x-platform-guardrails-invoked': 'pii-detector' });
  await open[1]!();
  await verdict;
  expect(said(recording.entry)).toEqual({ policyViolations: undefined, lateDenial: undefined });
});

test('of two events at once neither is judged without the other', async () => {
  const first = tell(SKIPPED);
  const second = tell(RAN);
  await open[1]!();
  await open[0]!();
  await open[2]!();
  expect([await first, await second]).toEqual([[], []]);
  expect(said(recording.entry)).toEqual({ policyViolations: undefined, lateDenial: undefined });
});
