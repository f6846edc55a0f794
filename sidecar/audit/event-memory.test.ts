import { describe, expect, test } from '@jest/globals';
import type { BehavioralEvent } from '../../core/shapes/events.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { AuditLog } from './audit-log.ts';
import { MAX_ENTRY_BYTES } from './event-memory.ts';
import type { ResponseFacts, Recording } from './recording.ts';
import { auditLogOf } from '../../testing/sidecar/audit-log.ts';

const MAX_BYTES = 4 * MAX_ENTRY_BYTES;
const tool = (name: string): BehavioralEvent => ({ type: 'tool', name });
/** A batch near the body limit of 64 KiB. */
const batch = (salt: string): BehavioralEvent[] =>
  Array.from({ length: 100 }, (_, index) => tool(`${salt}${index}`.padEnd(500, 'x')));

function logWith(entries: number): AuditLog {
  const audit = auditLogOf(systemClock, { capacity: 1000, maxEventBytes: MAX_BYTES });
  for (let i = 0; i < entries; i += 1) audit.arrive({ requestId: `r${i}`, method: 'GET', target: '/' });
  return audit;
}

test('rejects a whole batch when its entry is full, and counts its events', () => {
  const audit = logWith(1);
  const record = (salt: string) => audit.recordEvents({ requestId: 'r0', events: batch(salt) });
  let accepted = 0;
  while (accepted < 10 && record(String(accepted)) !== 'full') accepted += 1;
  expect([accepted > 0, accepted < 10]).toEqual([true, true]);
  expect(audit.ring.find('r0')?.events).toHaveLength(100 * accepted);
  expect(audit.eventMemory.refused).toBe(100);
  expect(audit.eventMemory.bytes).toBeLessThanOrEqual(2 * MAX_ENTRY_BYTES);
});

test('keeps the events of the newest entries, and removes and counts the events of the oldest', () => {
  const audit = logWith(100);
  for (let i = 0; i < 100; i += 1) audit.recordEvents({ requestId: `r${i}`, events: batch(String(i)) });
  const kept = audit.ring.newest().map(({ events }) => events !== undefined);
  const first = kept.indexOf(true);
  expect(first).toBeGreaterThan(0);
  expect(kept.slice(first).every(Boolean)).toBe(true);
  expect(audit.eventMemory.removed).toBe(100 * first);
  expect(audit.eventMemory.bytes).toBeLessThanOrEqual(MAX_BYTES);
  const [oldest] = audit.ring.newest();
  expect(oldest?.toolsCalled?.length).toBe(2);
  expect(audit.ring.last).toBe(100);
});

describe('names in heads and trailers', () => {
  const TOOLS = 'x-platform-tools-called';
  /** As many names as fit into a head of 16 KiB. */
  const namesOf = (salt: number): ReadonlyMap<string, string> =>
    new Map([[TOOLS, Array.from({ length: 1000 }, (_, index) => `${salt}-${index}`.padEnd(15, 'x')).join()]]);
  const response = (platform: ReadonlyMap<string, string>): ResponseFacts => ({
    statusCode: 200,
    contentType: undefined,
    contentEncoding: undefined,
    platform,
  });
  const arrive = (audit: AuditLog, number: number): Recording =>
    audit.arrive({ requestId: `r${number}`, method: 'GET', target: '/' });

  test.each<[string, (recording: Recording, number: number) => void]>([
    ['a head', (recording, number) => recording.head(response(namesOf(number)))],
    ['trailers', (recording, number) => recording.behavior(namesOf(number))],
  ])('of %s are counted; the newest entries keep all, the oldest keep the first few', (_title, report) => {
    const audit = logWith(0);
    for (let i = 0; i < 200; i += 1) report(arrive(audit, i), i);
    const kept = audit.ring.newest().map(({ toolsCalled }) => toolsCalled?.length ?? 0);
    const first = kept.indexOf(1000);
    expect(first).toBeGreaterThan(0);
    expect(kept.slice(first).every((count) => count === 1000)).toBe(true);
    expect(new Set(kept.slice(0, first))).toEqual(new Set([37]));
    expect(audit.eventMemory.bytes).toBeLessThanOrEqual(MAX_BYTES);
    expect(audit.eventMemory.bytes).toBeGreaterThan(MAX_BYTES / 2);
  });

  test('below the number that an entry always keeps are not counted', () => {
    const audit = logWith(0);
    arrive(audit, 0).head(response(new Map([[TOOLS, 'search,drop']])));
    expect(audit.eventMemory.bytes).toBe(0);
    expect(audit.recordEvents({ requestId: 'r0', events: [tool('find')] })).toMatchObject({
      toolsCalled: ['search', 'drop', 'find'],
    });
    expect(audit.eventMemory.bytes).toBeGreaterThan(0);
  });
});

test('counts lists of model calls; the newest entries keep them, the oldest keep the sum', () => {
  const audit = logWith(0);
  const response = { statusCode: 200, contentType: 'application/json', contentEncoding: undefined };
  for (let i = 0; i < 10; i += 1) {
    const steps = Array.from({ length: 1000 }, (_, step) => ({
      id: `${i}-${step}`,
      model: `${step}`.padEnd(200, 'm'),
      usage: { prompt_tokens: 1, completion_tokens: 1 },
    }));
    const recording = audit.arrive({ requestId: `r${i}`, method: 'POST', target: '/v1/chat' });
    recording.head({ ...response, platform: new Map() });
    recording.chunk(Buffer.from(JSON.stringify({ steps })));
    recording.complete({ statusCode: 200, aborted: false, atMs: 0 });
  }
  const usages = audit.ring.newest().map(({ usage }) => usage);
  const first = usages.findIndex((usage) => usage !== undefined && 'calls' in usage);
  expect(first).toBeGreaterThan(0);
  expect(usages.slice(first)).toMatchObject(
    Array.from({ length: 10 - first }, () => ({ calls: { length: 1000 } })),
  );
  expect(usages.slice(0, first)).toEqual(
    Array.from({ length: first }, () => ({
      modelId: '(several)',
      promptTokens: 1000,
      completionTokens: 1000,
      totalTokens: 2000,
    })),
  );
  expect(audit.eventMemory.bytes).toBeLessThanOrEqual(MAX_BYTES);
  expect(audit.tokens).toEqual({ prompt: 10_000, completion: 10_000 });
});
