import { expect, test } from '@jest/globals';
import type { PolicyAnswer } from './engine.ts';
import { decisionOf, type Decision } from './decision.ts';

const UNREACHABLE: PolicyAnswer = { state: 'unreachable', reason: 'refused' };
const NOT_LOADED: PolicyAnswer = { state: 'not-loaded' };
const allowed: PolicyAnswer = { state: 'answered', denials: [] };
const denied: PolicyAnswer = { state: 'answered', denials: ['a', 'b'] };

test.each<['track' | 'enforce', PolicyAnswer, Decision]>([
  ['track', UNREACHABLE, { outcome: 'failOpen', denials: [], blocks: false }],
  ['track', NOT_LOADED, { outcome: 'notEvaluated', denials: [], blocks: false }],
  ['track', allowed, { outcome: 'allow', denials: [], blocks: false }],
  ['track', denied, { outcome: 'deny', denials: ['a', 'b'], blocks: false }],
  ['enforce', UNREACHABLE, { outcome: 'failOpen', denials: [], blocks: false }],
  ['enforce', NOT_LOADED, { outcome: 'notEvaluated', denials: [], blocks: false }],
  ['enforce', allowed, { outcome: 'allow', denials: [], blocks: false }],
  ['enforce', denied, { outcome: 'deny', denials: ['a', 'b'], blocks: true }],
])('in the mode %s, the result %j gives the decision %j', (mode, answer, expected) => {
  expect(decisionOf(answer, mode)).toEqual(expected);
});
