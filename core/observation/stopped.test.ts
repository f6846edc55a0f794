import { describe, expect, test } from '@jest/globals';
import { aHeartbeat } from '../../testing/fleet/heartbeat.ts';
import type { AgentStop } from '../organisation/stops.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import { conditionOf } from './condition-of.ts';
import { mergeHeartbeat } from './merge-heartbeat.ts';
import { nextChangeAt } from './next-change.ts';
import { statusOf } from './status-of.ts';
import { isUrgent } from './write-due.ts';

const START = Date.parse('2026-11-29T12:00:00.000Z');
const at = (seconds: number): Date => new Date(START + seconds * 1000);

const STOP: AgentStop = {
  ...{ namespace: 'shop', name: 'incident', since: at(0).toISOString() },
  spec: { reason: 'leak', by: 'alice', until: at(60).toISOString() },
};
const ID = 'shop/incident';

interface Beat {
  instance?: string;
  applied?: string | null;
  /** When the applied stop was requested. */
  since?: Date;
  lanes?: boolean;
  stop?: AgentStop | null;
}

let seq = 0;
/** The status after a heartbeat of an instance that applies a stop. */
const beat = (
  before: ObservationStatus | undefined,
  second: number,
  { instance = 'a', applied = null, since = at(0), lanes = true, ...known }: Beat,
): ObservationStatus => {
  const stop = applied === null ? null : { id: applied, since: since.toISOString(), cut: 1, lanes };
  const heartbeat = aHeartbeat({ seq: ++seq, stop, sentAt: null });
  return mergeHeartbeat(before, heartbeat, { instance, ...known }, at(second));
};

const reasonOf = (status: ObservationStatus): string | undefined => conditionOf(status, 'Stopped')?.reason;

describe('the stop of an agent in its status', () => {
  test('is confirmed when every instance applies it, and changes neither grade nor phase', () => {
    const running = beat(beat(undefined, 0, { stop: null }), 1, { instance: 'b', stop: null });
    expect([running.stop, reasonOf(running)]).toEqual([undefined, 'Running']);
    const first = beat(running, 2, { applied: ID, stop: STOP });
    expect(first.stop).toEqual({
      ...{ id: ID, reason: 'leak', by: 'alice', since: at(0).toISOString(), until: at(60).toISOString() },
      ...{ instances: 2, confirmed: 1, firstConfirmedAt: at(2).toISOString() },
    });
    expect(conditionOf(first, 'Stopped')).toMatchObject({
      ...{ status: 'Unknown', reason: 'Stopping', message: `1 of 2 instances are stopped (${ID})` },
    });
    const all = beat(first, 5, { instance: 'b', applied: ID, stop: STOP });
    expect(all.stop).toMatchObject({ confirmed: 2, lastConfirmedAt: at(5).toISOString() });
    expect([reasonOf(all), all.grade, all.phase]).toEqual(['Stopped', running.grade, running.phase]);
    expect(isUrgent(first, all)).toBe(true);
  });

  test('stays while a writer does not know the stops, and ends when they are known', () => {
    const stopped = beat(undefined, 0, { applied: ID, stop: STOP });
    expect(beat(stopped, 1, { applied: ID }).stop).toMatchObject({ id: ID, confirmed: 1 });
    expect(beat(stopped, 1, { applied: ID, stop: null }).stop).toBeUndefined();
    expect(statusOf(stopped, at(1), { stop: null }).stop).toBeUndefined();
  });

  test('ends at its time without another message', () => {
    const stopped = beat(undefined, 0, { applied: ID, stop: STOP });
    expect(nextChangeAt(stopped, at(1), {})).toEqual(new Date(START + 60_001));
    expect(statusOf(stopped, at(59)).stop).toBeDefined();
    expect([statusOf(stopped, at(60)).stop, reasonOf(statusOf(stopped, at(60)))]).toEqual([
      undefined,
      'Running',
    ]);
  });

  test('is of the pods alone if only their annotation stops them', () => {
    const seen = beat(undefined, 0, { applied: 'pod-annotation', stop: null });
    expect([seen.stop?.id, reasonOf(seen)]).toEqual(['pod-annotation', 'Stopped']);
    expect(beat(seen, 1, { stop: null }).stop).toBeUndefined();
  });

  test('reaches only requests where an instance has no lanes', () => {
    expect(reasonOf(beat(undefined, 0, { applied: ID, lanes: false, stop: STOP }))).toBe('IngressOnly');
  });

  test('is not confirmed while an instance is silent, which may run without it', () => {
    const both = beat(beat(undefined, 0, { instance: 'silent', stop: null }), 1, { stop: null });
    const stopped = beat(both, 300, { applied: ID, stop: { ...STOP, spec: { reason: 'leak' } } });
    expect([stopped.stop?.instances, stopped.stop?.confirmed, reasonOf(stopped)]).toEqual([2, 1, 'Stopping']);
  });

  test('of an AgentStop that was created again is not confirmed by instances that applied the first', () => {
    const first = beat(undefined, 2, { applied: ID, stop: STOP });
    const again = { ...STOP, since: at(10).toISOString() };
    const next = statusOf(first, at(10), { stop: again });
    expect([next.stop?.confirmed, next.stop?.firstConfirmedAt, reasonOf(next)]).toEqual([
      0,
      undefined,
      'Stopping',
    ]);
    expect(isUrgent(first, next)).toBe(true);
    expect(reasonOf(beat(next, 12, { applied: ID, since: at(10), stop: again }))).toBe('Stopped');
  });

  test('is not confirmed by an agent that does not report, unless nothing of it runs', () => {
    const stopped = beat(undefined, 0, { applied: ID, stop: { ...STOP, spec: { reason: 'leak' } } });
    expect(reasonOf(statusOf(stopped, at(3600)))).toBe('Stopping');
    expect(reasonOf(statusOf(stopped, at(3600), { activity: 'scaled-to-zero' }))).toBe('Stopped');
  });
});
