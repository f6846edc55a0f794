import { expect, test } from '@jest/globals';
import { stateOf, type Known, type MatrixState } from './matrix-state.ts';
import { VERDICTS } from '../shapes/values.ts';

/** Every combination of declared, reported and observed (`+` true, `-` false, `?` not known). */
const TABLE: Readonly<Record<string, MatrixState>> = {
  '+++': 'match',
  '++-': 'misreported',
  '++?': 'match',
  '+-+': 'unreported',
  '+--': 'never-seen',
  '+-?': 'never-seen',
  '+?+': 'match',
  '+?-': 'never-seen',
  '+??': 'unknown',
  '-++': 'undeclared',
  '-+-': 'undeclared',
  '-+?': 'undeclared',
  '--+': 'undeclared',
  '---': 'unknown',
  '--?': 'unknown',
  '-?+': 'undeclared',
  '-?-': 'unknown',
  '-??': 'unknown',
  '?++': 'unknown',
  '?+-': 'unknown',
  '?+?': 'unknown',
  '?-+': 'unknown',
  '?--': 'unknown',
  '?-?': 'unknown',
  '??+': 'unknown',
  '??-': 'unknown',
  '???': 'unknown',
};

const KNOWN: Readonly<Record<string, Known>> = { '+': true, '-': false, '?': null };

test.each(Object.entries(TABLE))('%s: %s', (signs, state) => {
  const [declared = null, reported = null, observed = null] = [...signs].map((sign) => KNOWN[sign] ?? null);
  expect(stateOf({ declared, reported, observed })).toBe(state);
});

test('the table has every combination and every state', () => {
  expect(Object.keys(TABLE)).toHaveLength(27);
  expect(new Set(Object.values(TABLE))).toEqual(new Set(VERDICTS));
});
