import { expect, test } from '@jest/globals';
import { aHeartbeat } from '../../testing/fleet/heartbeat.ts';
import type { EgressSummary } from '../shapes/egress.ts';
import { mergeHeartbeat } from './merge-heartbeat.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import { withoutGone } from './status-of.ts';

const at = (second: number): Date => new Date(Date.parse('2026-03-01T12:00:00.000Z') + second * 1000);
const summary = (undeclared: number): EgressSummary => ({
  ...{ lanes: ['openai'], calls: 3, models: ['gpt-4o'], tools: ['search'], undeclared },
  ...{ undeclaredNames: [], neverSeen: 0, misreported: 0, unseenEgress: 0, unexplainedOpens: 1 },
});

interface Beat {
  instance: string;
  second: number;
  score: number;
  egress: EgressSummary | null;
}

function merged(
  status: ObservationStatus | undefined,
  { instance, second, score, egress }: Beat,
): ObservationStatus {
  const base = aHeartbeat();
  const heartbeat = { ...base, seq: second, gap: { ...base.gap, score }, egress };
  return mergeHeartbeat(status, heartbeat, { instance }, at(second));
}

test('the observation has the egress of the worst instance', () => {
  const good = merged(undefined, { instance: 'a', second: 1, score: 100, egress: summary(0) });
  expect(good.egress).toEqual(summary(0));
  const bad = merged(good, { instance: 'b', second: 2, score: 40, egress: summary(2) });
  expect([bad.reportedBy, bad.egress?.undeclared]).toEqual(['b', 2]);
  const still = merged(bad, { instance: 'a', second: 3, score: 100, egress: summary(0) });
  expect(still.egress?.undeclared).toBe(2);
});

test('a sender without lanes and census removes it', () => {
  const before = merged(undefined, { instance: 'a', second: 1, score: 100, egress: summary(1) });
  expect(merged(before, { instance: 'a', second: 2, score: 100, egress: null })).not.toHaveProperty('egress');
});

test('it is removed with its instance, if the others have no issue', () => {
  const one = merged(undefined, { instance: 'a', second: 1, score: 100, egress: summary(0) });
  const two = merged(one, { instance: 'b', second: 2, score: 40, egress: summary(2) });
  expect(withoutGone(two, ({ name }) => name !== 'b', at(3))).not.toHaveProperty('egress');
});
