import { describe, expect, test } from '@jest/globals';
import { isPassedWith, passedWith, type PolicyCondition } from '../../kube/canary-condition.ts';
import { conditionOf } from './condition.ts';
import { OUTCOMES, type Outcome } from './canary-result.ts';

const NOW = new Date('2026-01-02T03:04:05.678Z');
const result = (outcome: Outcome, message = 'text') => ({ outcome, message, injectorResponded: true });
const earlier = (status: 'True' | 'False'): PolicyCondition => ({
  ...conditionOf(result('passed'), 'A', null, NOW),
  status,
  lastTransitionTime: '2025-01-01T00:00:00Z',
});

describe("the canary's condition", () => {
  test('contains that the canary passed, and the caBundle', () => {
    expect(conditionOf(result('passed'), 'A', null, NOW)).toEqual({
      type: 'CanaryPassing',
      status: 'True',
      reason: 'Passed',
      message:
        'the injected pod is the expected one; caBundle sha256:559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd',
      lastTransitionTime: '2026-01-02T03:04:05Z',
    });
  });

  test('contains the message of a failure, cut to its limit', () => {
    expect(conditionOf(result('no-answer', 'x'.repeat(9_000)), 'A', null, NOW)).toMatchObject({
      status: 'False',
      reason: 'NoAnswer',
      message: 'x'.repeat(2_000),
    });
  });

  test('has a distinct, valid reason for every outcome', () => {
    const reasons = OUTCOMES.map((outcome) => conditionOf(result(outcome), '', null, NOW).reason);
    expect(new Set(reasons).size).toBe(OUTCOMES.length);
    for (const reason of reasons) expect(reason).toMatch(/^[A-Z][A-Za-z]+$/);
  });

  test.each<[Outcome, 'True' | 'False', string]>([
    ['passed', 'True', '2025-01-01T00:00:00Z'],
    ['passed', 'False', '2026-01-02T03:04:05Z'],
    ['differs', 'True', '2026-01-02T03:04:05Z'],
    ['differs', 'False', '2025-01-01T00:00:00Z'],
  ])('%s after %s has the transition time %s', (outcome, before, time) => {
    expect(conditionOf(result(outcome), 'B', earlier(before), NOW).lastTransitionTime).toBe(time);
  });

  test('proves only the bundle in its message, and only while it is True', () => {
    const passed = conditionOf(result('passed'), 'A', null, NOW);
    expect(isPassedWith(passed, 'A')).toBe(true);
    expect(isPassedWith(passed, 'B')).toBe(false);
    expect(isPassedWith({ ...passed, status: 'False' }, 'A')).toBe(false);
    expect(isPassedWith(null, 'A')).toBe(false);
    expect(passedWith('A')).toBe(passed.message);
  });
});
