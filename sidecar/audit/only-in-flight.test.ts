import { expect, test } from '@jest/globals';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import fc from '../../testing/random/properties.ts';
import { AuditLog } from './audit-log.ts';
import type { Recording } from './recording.ts';

const newLog = (): AuditLog =>
  new AuditLog({
    ...{ capacity: 5, clock: new ManualClock('2026-11-27T12:00:00Z'), withQuery: false, maxEventBytes: 1e6 },
    declared: () => ({ chatPath: undefined, isMcp: false }),
    keepForUsage: () => true,
  });

const step = fc.oneof(
  fc.record({ arrives: fc.constantFrom('POST', 'GET') }),
  fc.record({ completes: fc.nat(20) }),
);

test('the only request in flight is found, in whatever order requests complete', () => {
  let found = 0;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const log = newLog();
      const inFlight: Recording[] = [];
      for (const [index, each] of steps.entries()) {
        if ('arrives' in each)
          inFlight.push(log.arrive({ requestId: `r${index}`, method: each.arrives, target: '/chat' }));
        else
          for (const recording of inFlight.splice(each.completes % Math.max(1, inFlight.length), 1))
            recording.complete({ statusCode: 200, aborted: false, atMs: 0 });
        // GETs may be for pages and health.
        const posts = inFlight.filter(({ entry }) => entry.method === 'POST');
        const acting = posts.length > 0 ? posts : inFlight;
        const only = acting.length === 1 ? acting[0]?.entry : null;
        if (only) found += 1;
        expect(log.onlyInFlight).toBe(only);
      }
    }),
  );
  expect(found).toBeGreaterThan(100);
});
