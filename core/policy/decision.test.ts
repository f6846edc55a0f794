import { expect, test } from '@jest/globals';
import type { PolicyResult } from './engine.ts';
import { decisionOf, type Decision } from './decision.ts';

const UNREACHABLE: PolicyResult = { state: 'unreachable', reason: 'refused' };
const NOT_LOADED: PolicyResult = { state: 'not-loaded' };
const allowed: PolicyResult = { state: 'answered', denials: [] };
const denied: PolicyResult = { state: 'answered', denials: ['a', 'b'] };

test.each<['track' | 'enforce', PolicyResult, Decision]>([
  ['track', UNREACHABLE, { outcome: 'failOpen', denials: [], blocks: false }],
  ['track', NOT_LOADED, { outcome: 'notEvaluated', denials: [], blocks: false }],
  ['track', allowed, { outcome: 'allow', denials: [], blocks: false }],
  ['track', denied, { outcome: 'deny', denials: ['a', 'b'], blocks: false }],
  ['enforce', UNREACHABLE, { outcome: 'failOpen', denials: [], blocks: false }],
  ['enforce', NOT_LOADED, { outcome: 'notEvaluated', denials: [], blocks: false }],
  ['enforce', allowed, { outcome: 'allow', denials: [], blocks: false }],
  ['enforce', denied, { outcome: 'deny', denials: ['a', 'b'], blocks: true }],
])('in the mode %s, the result %j gives the decision %j', (mode, result, expected) => {
  expect(decisionOf(result, mode)).toEqual(expected);
});
