import { beforeEach, describe, expect, test } from '@jest/globals';
import { auditLogOf } from '../../testing/sidecar/audit-log.ts';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import type { AuditLog } from './audit-log.ts';
import { SeenTimes } from '../../core/evidence/seen-times.ts';

const START = '2026-03-01T12:00:00.000Z';
const HOUR_MS = 3_600_000;

let clock: ManualClock;
let log: AuditLog;
beforeEach(() => {
  clock = new ManualClock(START);
  log = auditLogOf(clock, { capacity: 2 });
});

interface Exchange {
  method?: string;
  statusCode?: number;
  guardrails?: string;
}

let requests = 0;

/** Records a completed request; returns its id. */
function pass({ method = 'POST', statusCode = 200, guardrails }: Exchange = {}): string {
  const requestId = `r-${(requests += 1)}`;
  const recording = log.arrive({ requestId, method, target: '/v1/chat' });
  const platform = guardrails === undefined ? [] : [['x-platform-guardrails-invoked', guardrails] as const];
  recording.head({
    ...{ statusCode, contentType: undefined, contentEncoding: undefined },
    platform: new Map(platform),
  });
  recording.complete({ statusCode, aborted: false, atMs: clock.monotonicMs() });
  return requestId;
}

const PII = 'report guardrail:pii-detector';

describe('the sighting times', () => {
  test('are kept after the ring has overwritten the entry', () => {
    pass({ guardrails: 'pii-detector' });
    clock.advance(HOUR_MS);
    for (let count = 0; count < 5; count++) pass();
    expect(log.ring.newest().some((entry) => entry.guardrailsInvoked)).toBe(false);
    expect(log.seen.times.get(PII)).toBe(Date.parse(START));
  });

  test('are the times of the last sighting', () => {
    pass({ guardrails: 'pii-detector' });
    clock.advance(HOUR_MS);
    pass({ guardrails: 'pii-detector' });
    expect(log.seen.times.get(PII)).toBe(Date.parse(START) + HOUR_MS);
  });

  test('include events after the response', () => {
    const requestId = pass();
    clock.advance(HOUR_MS);
    const events = [{ type: 'guardrail', guardrailType: 'pii-detector', invoked: true } as const];
    log.recordEvents({ requestId, events });
    expect(log.seen.times.get(PII)).toBe(Date.parse(START) + HOUR_MS);
  });

  test('are removed after 24 hours', () => {
    const seen = new SeenTimes(() => clock.now());
    seen.note(['a']);
    clock.advance(23 * HOUR_MS);
    seen.note(['b']);
    clock.advance(HOUR_MS);
    seen.note(['c']);
    expect([...seen.times.keys()]).toEqual(['b', 'c']);
  });

  test('are limited to 2000 names; the names with the oldest times are removed', () => {
    const seen = new SeenTimes(() => clock.now());
    seen.note(['first', 'second']);
    clock.advance(HOUR_MS);
    seen.note(['first', ...Array.from({ length: 1999 }, (_, index) => `name ${index}`)]);
    expect(seen.times.size).toBe(2000);
    expect([seen.times.has('first'), seen.times.has('second')]).toEqual([true, false]);
  });
});

describe('the number of consecutive requests without behavioral data', () => {
  test.each<[string, Exchange, number]>([
    ['a POST', {}, 3],
    ['a POST that fails', { statusCode: 500 }, 2],
    ['a GET', { method: 'GET' }, 2],
    ['a HEAD', { method: 'HEAD' }, 2],
    ['a PUT', { method: 'PUT' }, 3],
    ['a POST that reports an empty list', { guardrails: '' }, 0],
    ['a GET that reports', { method: 'GET', guardrails: 'pii-detector' }, 0],
  ])('after two POSTs and %s', (_name, exchange, expected) => {
    pass();
    pass();
    pass(exchange);
    expect(log.requestsWithoutBehavior).toBe(expected);
  });

  test('is reset by an event', () => {
    const requestId = pass();
    log.recordEvents({ requestId, events: [{ type: 'tool', name: 'search' }] });
    expect(log.requestsWithoutBehavior).toBe(0);
  });

  test('is not reset by a model event', () => {
    const requestId = pass();
    const events = [{ type: 'model', modelId: 'm', promptTokens: 1, completionTokens: 1 } as const];
    log.recordEvents({ requestId, events });
    expect(log.requestsWithoutBehavior).toBe(1);
  });
});
