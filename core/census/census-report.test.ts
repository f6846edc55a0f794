import { expect, test } from '@jest/globals';
import { misbehavingEgress, someEgress } from '../../testing/fleet/egress-facts.ts';
import { censusReportOf } from './census-report.ts';

test('has the findings of a census that runs, and null without one', () => {
  const { census } = misbehavingEgress();
  expect(censusReportOf({ state: 'on', reason: null }, misbehavingEgress())).toEqual({
    ...{ state: 'on', reason: null, unseenEgress: census?.unseenEgress, unexplainedOpens: 4 },
  });
  const refused = { state: 'refused', reason: 'the pod uses the network of its node' } as const;
  for (const egress of [null, undefined, someEgress()])
    expect(censusReportOf(refused, egress)).toEqual({
      ...{ ...refused, unseenEgress: null, unexplainedOpens: null },
    });
});
