import { describe, expect, test } from '@jest/globals';
import { systemClock } from '../../runtime/clock.ts';
import fc, { runs } from '../../testing/random/properties.ts';
import type { AuditLog } from './audit-log.ts';
import type { Recording } from './recording.ts';
import { StreamReader, type StreamStart } from './stream-reader.ts';
import { auditLogOf } from '../../testing/sidecar/audit-log.ts';

const logOf = (capacity: number): AuditLog => auditLogOf(systemClock, { capacity });
const arrive = (audit: AuditLog, requestId: string): Recording =>
  audit.arrive({ requestId, method: 'GET', target: '/' });
const complete = (recording: Recording): void =>
  recording.complete({ statusCode: 200, aborted: false, atMs: systemClock.monotonicMs() });
const FROM_ALL: StreamStart = { since: null, limit: undefined };

/** All available messages: `c` for an entry, `~c` for an update of that entry, `!2` for two lost entries. */
function readAll(reader: StreamReader): string {
  const messages: string[] = [];
  for (let message = reader.next(); message !== null; message = reader.next())
    if (message.kind === 'gap') messages.push(`!${message.lost ?? '?'}`);
    else messages.push((message.kind === 'update' ? '~' : '') + message.entry.requestId);
  return messages.join(' ');
}

/** A log of six requests that completed in this order. */
function six(capacity: number, order = 'fedcba'): AuditLog {
  const audit = logOf(capacity);
  const recordings = new Map([...'abcdef'].map((id) => [id, arrive(audit, id)]));
  for (const id of order) complete(recordings.get(id)!);
  return audit;
}

describe('the replay of a ring with the last four of six requests, completed in reverse order of arrival', () => {
  test.each<[string, StreamStart, string]>([
    ['all', FROM_ALL, 'f e d c'],
    ['the newest two', { since: null, limit: 2 }, 'f e'],
    ['after a seq', { since: 4, limit: undefined }, 'f e'],
    ['after the newest', { since: 6, limit: undefined }, ''],
    ['after an overwritten seq', { since: 1, limit: undefined }, '!1 f e d c'],
    ['after an unknown id', { since: 'unknown', limit: undefined }, '!? f e d c'],
    ['the first two after a seq', { since: 2, limit: 2 }, 'd c !2'],
    ['after the last received entry', { lastEventId: 4 }, 'c b a'],
    ['after a received entry that was overwritten', { lastEventId: 2 }, 'a'],
    ['from the start', { lastEventId: 0 }, 'f e d c b a'],
    ['after an unknown event id', { lastEventId: 99 }, '!? f e d c b a'],
  ])('%s', (_title, start, expected) => {
    expect(readAll(new StreamReader(six(4), start))).toBe(expected);
  });
});

describe('a reader', () => {
  test('receives a request that was in flight at its start once, when the request completes', () => {
    const audit = logOf(4);
    const [a, b] = [arrive(audit, 'a'), arrive(audit, 'b')];
    complete(b);
    const reader = new StreamReader(audit, FROM_ALL);
    expect(readAll(reader)).toBe('b');
    complete(a);
    expect([readAll(reader), readAll(reader)]).toEqual(['a', '']);
  });

  test('receives entries that completed between its start and its first read', () => {
    const audit = logOf(4);
    const [a, b] = [arrive(audit, 'a'), arrive(audit, 'b')];
    complete(a);
    const reader = new StreamReader(audit, FROM_ALL);
    complete(b);
    expect(readAll(reader)).toBe('a b');
  });

  test('of a ring of one receives every request, including requests that were overwritten in flight', () => {
    const audit = logOf(1);
    const reader = new StreamReader(audit, FROM_ALL);
    const recordings = [...'abc'].map((id) => arrive(audit, id));
    for (const each of recordings) complete(each);
    expect(readAll(reader)).toBe('a b c');
  });

  test('that starts after an overwritten seq loses complete entries, not entries in flight', () => {
    const audit = logOf(1);
    const [a, b] = [arrive(audit, 'a'), arrive(audit, 'b')];
    complete(a);
    arrive(audit, 'c');
    const reader = new StreamReader(audit, { since: 0, limit: undefined });
    expect(readAll(reader)).toBe('!1');
    complete(b);
    expect(readAll(reader)).toBe('b');
  });

  test('that is too slow for the replay receives the number of lost entries at the position of the loss', () => {
    const audit = six(4);
    const reader = new StreamReader(audit, FROM_ALL);
    expect(reader.next()).toMatchObject({ kind: 'entry', entry: { requestId: 'f' } });
    for (const id of 'ghi') complete(arrive(audit, id));
    expect(readAll(reader)).toBe('!3 g h i');
  });

  test('that is too slow for the journal receives the number of lost entries', () => {
    const audit = logOf(1000);
    const reader = new StreamReader(audit, FROM_ALL);
    for (let index = 0; index < 1003; index++) complete(arrive(audit, `r${index}`));
    expect(reader.next()).toEqual({ kind: 'gap', lost: 3 });
    expect(readAll(reader).split(' ')).toHaveLength(1000);
  });

  test('receives a change of a complete entry with its current state', () => {
    const audit = logOf(4);
    const [a] = [arrive(audit, 'a')];
    const reader = new StreamReader(audit, FROM_ALL);
    audit.reviewed(a.entry, []);
    expect(readAll(reader)).toBe('');
    complete(a);
    audit.reviewed(a.entry, []);
    expect(readAll(reader)).toBe('a ~a');
  });

  test('that resumes after an entry receives the later changes', () => {
    const audit = six(6, 'abcdef');
    audit.reviewed(audit.ring.at(3)!, []);
    expect(readAll(new StreamReader(audit, { lastEventId: 5 }))).toBe('f ~c');
    expect(readAll(new StreamReader(audit, { lastEventId: 6 }))).toBe('~c');
  });

  test('does not count changes as lost', () => {
    const audit = logOf(4);
    const reader = new StreamReader(audit, FROM_ALL);
    const recording = arrive(audit, 'a');
    complete(recording);
    for (let index = 0; index < 1005; index++) audit.reviewed(recording.entry, []);
    expect(reader.next()).toEqual({ kind: 'gap', lost: 1 });
    expect(new Set(readAll(reader).split(' '))).toEqual(new Set(['~a']));
  });
});

describe('for any sequence of arrivals, completions, changes, reads and reconnects', () => {
  type Step =
    | { do: 'arrive' | 'read' | 'leave' | 'drain' }
    | { do: 'complete' | 'change'; which: number }
    | { do: 'burst'; count: number };
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 6, arbitrary: fc.constant<Step>({ do: 'arrive' }) },
    { weight: 6, arbitrary: fc.record({ do: fc.constant('complete' as const), which: fc.nat(50) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('change' as const), which: fc.nat(50) }) },
    { weight: 4, arbitrary: fc.constant<Step>({ do: 'read' }) },
    { weight: 1, arbitrary: fc.constant<Step>({ do: 'drain' }) },
    { weight: 1, arbitrary: fc.constant<Step>({ do: 'leave' }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('burst' as const), count: fc.nat(700) }) },
  );

  /** Runs the steps; returns what the reader received and what it should have received. */
  function run(capacity: number, before: Step[], after: Step[]) {
    const audit = logOf(capacity);
    const inFlight: Recording[] = [];
    const finished: Recording[] = [];
    const completed: number[] = [];
    const seen: number[] = [];
    let lost = 0;
    let hasReconnected = false;
    let reader: StreamReader | null = null;
    const finish = (recording: Recording): void => {
      complete(recording);
      completed.push(recording.entry.seq);
      finished.push(recording);
    };
    const read = (): boolean => {
      const message = reader?.next() ?? null;
      if (message?.kind === 'entry') seen.push(message.entry.seq);
      if (message?.kind === 'gap') lost += message.lost ?? NaN;
      return message !== null;
    };
    const apply = (each: Step): void => {
      if (each.do === 'arrive') inFlight.push(arrive(audit, 'r'));
      else if (each.do === 'complete')
        inFlight.splice(each.which % Math.max(1, inFlight.length), 1).forEach(finish);
      else if (each.do === 'change') {
        const recording = finished[each.which % Math.max(1, finished.length)];
        if (recording) audit.reviewed(recording.entry, []);
      } else if (each.do === 'burst')
        for (let index = 0; index < each.count; index++) finish(arrive(audit, 'r'));
      else if (each.do === 'read') read();
      else if (each.do === 'drain') while (read());
      // A reader that has received nothing has no id to reconnect with.
      else if (reader !== null && seen.length > 0) {
        hasReconnected = true;
        reader = new StreamReader(audit, { lastEventId: seen.at(-1)! });
      }
    };
    before.forEach(apply);
    const held = audit.ring.newest().filter(({ outcome }) => outcome !== undefined);
    const earlier = completed.length;
    reader = new StreamReader(audit, FROM_ALL);
    after.forEach(apply);
    while (read());
    // Entries that completed outside the ring before the reader's start are not expected; after a reconnect they may arrive.
    const due = new Set([...held.map(({ seq }) => seq), ...completed.slice(earlier)]);
    return { seen, lost, completed, due, hasReconnected };
  }

  test('replay and journal deliver each completed entry once, in order of completion, or count it as lost', () => {
    const RUNS = runs(1_000);
    let withLoss = 0;
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.array(step, { maxLength: 60 }),
        fc.array(step, { maxLength: 120 }),
        (capacity, before, after) => {
          const { seen, lost, completed, due, hasReconnected } = run(capacity, before, after);
          const once = new Set(seen);
          expect(once.size).toBe(seen.length);
          expect(seen).toEqual(completed.filter((seq) => once.has(seq)));
          const missing = [...due].filter((seq) => !once.has(seq)).length;
          if (!hasReconnected) expect(lost).toBe(missing);
          // After a reconnect a loss may be reported again, although the journal still has the entry. NaN: the id was
          // overwritten, so the number of lost entries is unknown.
          else if (!Number.isNaN(lost)) expect(lost).toBeGreaterThanOrEqual(missing);
          if (lost > 0) withLoss += 1;
        },
      ),
      { numRuns: RUNS },
    );
    expect(withLoss).toBeGreaterThan(0.01 * RUNS);
  });
});
