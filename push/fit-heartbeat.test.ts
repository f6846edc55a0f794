import { describe, expect, test } from '@jest/globals';
import type { Check } from '../core/shapes/health.ts';
import type { EvidenceItem } from '../core/shapes/evidence.ts';
import type { Issue } from '../core/shapes/gap.ts';
import { aHeartbeat } from '../testing/fleet/heartbeat.ts';
import { fitHeartbeat, MAX_HEARTBEAT_BYTES } from './fit-heartbeat.ts';

const issue = (n: number, severity: Issue['severity'], text = 'x'): Issue => ({
  severity,
  property: `service:s${n}`,
  description: text,
  recommendation: text,
});
const check = (n: number, status: Check['status']): Check => ({
  id: `service:s${n}`,
  category: 'service',
  status,
  severity: 'warning',
  message: 'x'.repeat(400),
});
const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

describe('a heartbeat on the wire', () => {
  test('is unchanged when it fits, except for omitted null members', () => {
    const heartbeat = aHeartbeat();
    const { body, trimmed } = fitHeartbeat(heartbeat);
    const expected = Object.fromEntries(Object.entries(heartbeat).filter(([, value]) => value !== null));
    expect(Object.keys(expected).length).toBeLessThan(Object.keys(heartbeat).length);
    expect({ sent: JSON.parse(body) as unknown, trimmed }).toEqual({ sent: expected, trimmed: false });
  });

  test('has its texts shortened before rows are removed', () => {
    const issues = numbers(60).map((n) => issue(n, 'low', 'é'.repeat(500)));
    const { heartbeat, body, trimmed } = fitHeartbeat(
      aHeartbeat({ gap: { score: 0, grade: 'F', source: 'agent-sdk', issues } }),
    );
    expect(trimmed).toBe(true);
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(MAX_HEARTBEAT_BYTES);
    expect(heartbeat.gap.issues).toHaveLength(60);
    expect(heartbeat.gap.issues[0]?.description).toBe(`${'é'.repeat(119)}…`);
  });

  test('keeps the worst issues, the failed checks and all summary values', () => {
    const issues = numbers(2_000).map((n) => issue(n, n === 1_999 ? 'critical' : 'low'));
    const checks = numbers(2_000).map((n) => check(n, n === 1_999 ? 'fail' : 'pass'));
    const given = aHeartbeat({
      gap: { score: 3, grade: 'F', source: 'agent-sdk', issues },
      health: { ...aHeartbeat().health, status: 'degraded', checks },
    });
    const { heartbeat, body } = fitHeartbeat(given);
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(MAX_HEARTBEAT_BYTES);
    expect(heartbeat.gap.issues.at(-1)).toEqual(issues.at(-1));
    expect(heartbeat.health.checks.at(-1)?.status).toBe('fail');
    expect({ ...heartbeat.gap, issues: [] }).toEqual({ ...given.gap, issues: [] });
    expect({ ...heartbeat.health, checks: [] }).toEqual({ ...given.health, checks: [] });
  });

  test('removes issues of the LLM analysis before all others', () => {
    const issues = numbers(2_000).map((n): Issue =>
      n === 1_999 ? issue(n, 'low') : { ...issue(n, 'critical'), source: 'llm' },
    );
    const { heartbeat } = fitHeartbeat(
      aHeartbeat({ gap: { score: 95, grade: 'A', source: 'agent-sdk', issues } }),
    );
    expect(heartbeat.gap.issues.length).toBeLessThan(2_000);
    expect(heartbeat.gap.issues.at(-1)).toEqual(issues.at(-1));
  });

  test('keeps items without evidence and the sums of the evidence', () => {
    const items = numbers(2_000).map((n) => ({
      ...{ kind: 'tool', name: `tool-${n}`, shownBy: 'x' },
      tier: n === 1_999 ? 'none' : 'reported',
    })) as EvidenceItem[];
    const suppressions = numbers(2_000).map((n) => ({
      ...{ rule: `R-${n}`, reason: 'x'.repeat(400), state: 'active' as const },
    }));
    const evidence = { shown: 999.5, declared: 2_000, reported: 1_999, items };
    const audit = { declared: 90, proved: 10, failed: ['R-1'], suppressions };
    const { heartbeat, body } = fitHeartbeat(aHeartbeat({ evidence, audit }));
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(MAX_HEARTBEAT_BYTES);
    expect(heartbeat.evidence?.items.at(-1)).toEqual(items.at(-1));
    expect({ ...heartbeat.evidence, items: [] }).toEqual({ ...evidence, items: [] });
    expect({ ...heartbeat.audit, suppressions: [] }).toEqual({ ...audit, suppressions: [] });
  });

  test('folds models into one row and keeps their sums', () => {
    const models = numbers(2_000).map((n) => ({
      modelId: `model-${n}`,
      promptTokens: n,
      completionTokens: 1,
      totalTokens: n + 1,
      callCount: 1,
    }));
    const totalTokens = models.reduce((sum, model) => sum + model.totalTokens, 0);
    const usage = { windowStartedAt: '2026-03-01T10:00:00Z', models, totalTokens, totalCalls: 2_000 };
    const fitted = fitHeartbeat(aHeartbeat({ usage })).heartbeat.usage;
    expect(fitted?.models.at(-1)?.modelId).toBe('(other)');
    expect(fitted?.models[0]?.modelId).toBe('model-1999');
    expect(fitted?.models.reduce((sum, model) => sum + model.totalTokens, 0)).toBe(totalTokens);
    expect(fitted?.models.reduce((sum, model) => sum + model.callCount, 0)).toBe(2_000);
  });

  test('keeps the newest proofs', () => {
    const proof = numbers(40).map((n) => ({
      ruleId: `R-${n}`,
      verifiedBy: 'x'.repeat(2_048),
      method: 'x'.repeat(2_048),
      verifiedAt: new Date(Date.UTC(2026, 0, 1 + n)).toISOString(),
    }));
    const fitted = fitHeartbeat(aHeartbeat({ proof, proofRevision: 7 })).heartbeat;
    expect(fitted.proof).toEqual(proof.slice(-10));
    // At a revision that it knows, the receiver would treat a missing rule as removed.
    expect(fitted.proofRevision).toBe(0);
  });
});
