import { expect, test } from '@jest/globals';
import type { ProofRecord } from '../shapes/proof.ts';
import { withProvableScore } from './provable.ts';
import { RULE_IDS } from './rules.ts';
import type { AuditSummary } from '../shapes/audit.ts';

const AT = new Date('2026-03-01T10:00:00.000Z');
const PROVED = { declared: 100, proved: 100, failed: [], suppressions: [] };
const proof = (ruleId: string, more: Partial<ProofRecord> = {}): ProofRecord => ({
  ...{ ruleId, verifiedBy: 'qa', method: 'looked', verifiedAt: '2026-02-01T00:00:00.000Z' },
  origin: 'control-plane',
  ...more,
});
const withoutOrigin = ({ origin: _, ...rest }: ProofRecord): ProofRecord => rest;
const suppressed = (...rules: string[]): AuditSummary['suppressions'] =>
  rules.map((rule) => ({ rule, reason: 'x', state: 'active' }));
const MEMORY = ['MEM-01', 'MEM-02', 'MEM-03', 'MEM-04', 'MEM-05'];
const others = (...kept: string[]) => RULE_IDS.filter((id) => !kept.includes(id));

test.each<[string, Partial<AuditSummary>, ProofRecord[], number]>([
  // The checks of memory-hygiene without MEM-01, which needs a proof: 8 of 12.
  ['no proof: the rules with checks of one pack', {}, [], 67],
  ['a proof of the rule', {}, [proof('MEM-01')], 100],
  ['a local proof', {}, [proof('MEM-01', { origin: 'local' })], 67],
  ['a proof without origin', {}, [withoutOrigin(proof('MEM-01'))], 67],
  ['an expired proof', {}, [proof('MEM-01', { expiresAt: '2026-02-20T00:00:00.000Z' })], 67],
  ['a proof of a rule that the manifest fails', { failed: ['MEM-01'] }, [proof('MEM-01')], 67],
  ['failed rules', { failed: others('MEM-02') }, [], 25],
  ['only evaluations without a proof', { failed: others('EVAL-02', 'EVAL-03') }, [], 0],
  ['only evaluations with the proof of one', { failed: others('EVAL-02') }, [proof('EVAL-01')], 33],
  ['rules without evidence', { failed: others('META-01', 'META-02') }, [proof('META-01')], 0],
  ['suppressed rules', { suppressions: suppressed('MEM-01') }, [], 100],
  ['a lower score than the limit', { proved: 12 }, [], 12],
  ['every rule suppressed', { suppressions: suppressed(...RULE_IDS) }, [], 0],
  ['every rule of a pack suppressed', { suppressions: suppressed(...MEMORY) }, [], 50],
])('the proved score with %s', (_what, audit, proofs, expected) => {
  const sent = { ...PROVED, ...audit };
  expect(withProvableScore(sent, proofs, AT)).toEqual({ ...sent, proved: expected });
});
