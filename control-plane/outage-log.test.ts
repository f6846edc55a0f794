import { expect, test } from '@jest/globals';
import { silentLogger } from '../runtime/logger.ts';
import { ManualClock } from '../testing/time/manual-clock.ts';
import { createApiServerOutage } from './outage-log.ts';

test('logs one error when an outage begins and one line when it ends, for any number of failed requests', () => {
  const clock = new ManualClock('2026-03-01T10:00:00.000Z');
  const lines: unknown[] = [];
  const outage = createApiServerOutage({
    clock,
    logger: {
      ...silentLogger,
      error: (message) => void lines.push(message),
      info: (message, fields) => void lines.push([message, fields]),
    },
  });
  outage.succeeded();
  for (let index = 0; index < 100; index += 1) {
    outage.failed(new Error('connect ECONNREFUSED'));
    clock.advance(100);
    outage.succeeded();
  }
  expect(lines).toEqual(['API server requests failing']);
  clock.advance(4_900);
  outage.succeeded();
  outage.succeeded();
  expect(lines.slice(1)).toEqual([['API server requests succeed again', { failures: 100 }]]);
  outage.failed(new Error('connect ECONNREFUSED'));
  expect(lines.slice(2)).toEqual(['API server requests failing']);
});
