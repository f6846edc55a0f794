import { expect, test } from '@jest/globals';
import { aHeartbeat } from '../../testing/fleet/heartbeat.ts';
import { aManifest, NOON } from '../../testing/fleet/facts.ts';
import type { Heartbeat } from '../shapes/heartbeat.ts';
import { compliantOf, compliantOfReport } from './compliant-of.ts';
import { mergeHeartbeat } from './merge-heartbeat.ts';

const evidence = { shown: 1, declared: 2, reported: 0, items: [] };
const { gap } = aHeartbeat();
const issue = {
  severity: 'critical',
  property: 'tools.undeclared.x',
  description: '',
  recommendation: '',
} as const;

const tool = { ...gap, issues: [{ ...issue, severity: 'high' as const }] };
const item = (kind: 'model' | 'tool' | 'guardrail') => ({
  evidence: { ...evidence, items: [{ kind, name: 'n', tier: 'observed' as const }] },
});

test.each<[string, Partial<Heartbeat>, string]>([
  ['grade A and half of the evidence', { evidence }, 'True Compliant'],
  ['little evidence', { evidence: { ...evidence, shown: 0 } }, 'Unknown NotShown'],
  ['no evidence', {}, 'Unknown EvidenceUnknown'],
  ['grade C', { evidence, gap: { ...gap, score: 65, grade: 'C' } }, 'False GradeTooLow'],
  ['a low score without local proofs', { evidence, scoreWithoutLocalProofs: 70 }, 'False GradeTooLow'],
  ['a critical issue', { evidence, gap: { ...gap, issues: [issue] } }, 'False CriticalIssue'],
  ['a denial', { evidence, denials: ['tool_not_declared'] }, 'False PolicyDenied'],
  ['an unreachable engine', { evidence, policyState: 'unreachable' }, 'Unknown EngineUnreachable'],
  ['used tools and only a declared model', { ...item('model'), gap: tool }, 'Unknown NothingDeclared'],
  ['used tools and no declared item', { evidence, gap: tool }, 'Unknown NothingDeclared'],
  ['no used tool and only a declared model', item('model'), 'True Compliant'],
  ['another tool than the declared one', { ...item('tool'), gap: tool }, 'True Compliant'],
  ['used tools and a declared guardrail', { ...item('guardrail'), gap: tool }, 'True Compliant'],
])('a report with %s has the verdict of the control plane', (_name, given, expected) => {
  const heartbeat = aHeartbeat({ evidence: null, scoreWithoutLocalProofs: null, ...given });
  const verdict = compliantOfReport({ ...heartbeat, at: NOON, manifest: aManifest(), proofs: [] });
  expect(`${verdict.status} ${verdict.reason}`).toBe(expected);
  expect(compliantOf(mergeHeartbeat(undefined, heartbeat, { instance: 'a' }, NOON))).toEqual(verdict);
});

test.each([
  ['a proof of the control plane', { origin: 'control-plane' as const }, 'Compliant'],
  ['an expired one', { origin: 'control-plane' as const, expiresAt: NOON.toISOString() }, 'NothingDeclared'],
  ['a local proof', { origin: 'local' as const }, 'NothingDeclared'],
])('a manifest that declares nothing about the tools in use, with %s, is %s', (_name, change, reason) => {
  const record = { ruleId: 'SEC-LLM-07', verifiedBy: 'ci', method: 'm', verifiedAt: '2026-01-01T00:00:00Z' };
  const status = { phase: 'Pending' as const, proofs: [{ ...record, ...change }] };
  const heartbeat = aHeartbeat({ evidence, gap: tool });
  expect(compliantOf(mergeHeartbeat(status, heartbeat, { instance: 'a' }, NOON)).reason).toBe(reason);
});

test('an agent that nothing has reported about has the verdict Unknown', () => {
  expect(compliantOf(undefined)).toEqual({
    status: 'Unknown',
    reason: 'NotReporting',
    message: 'no heartbeat has been received yet',
  });
});
