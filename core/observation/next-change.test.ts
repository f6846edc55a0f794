import { describe, expect, test } from '@jest/globals';
import { contextOf } from './context-of.ts';
import { nextChangeAt } from './next-change.ts';
import type { InstanceStatus } from '../shapes/instance.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import { statusOf, type ObservationContext } from './status-of.ts';

const AT = new Date('2026-11-21T12:00:00Z');

function instance(name: string, change: Partial<InstanceStatus> = {}): InstanceStatus {
  return {
    name,
    startedAt: '2026-11-21T00:00:00Z',
    seq: 1,
    phase: 'Healthy',
    score: 100,
    lastHeartbeat: '2026-11-21T11:59:50Z',
    intervalSeconds: 30,
    tokensToday: 0,
    costTodayUsd: 0,
    day: '2026-11-21',
    violations: 0,
    criticalIssues: 0,
    deniedInWindow: 0,
    ...change,
  };
}

describe('nextChangeAt', () => {
  test.each<[string, ObservationStatus, ObservationContext, string | null]>([
    ['is null if no report is expected yet', { phase: 'Pending' }, {}, null],
    [
      'is the stale time after a new agent was expected to report',
      { phase: 'Pending', awaitedSince: '2026-11-21T11:59:00Z' },
      {},
      '2026-11-21T12:01:00.001Z',
    ],
    ['is two minutes after the last heartbeat', reported([instance('a')]), {}, '2026-11-21T12:01:50.001Z'],
    [
      'is three intervals after the last heartbeat if that is longer',
      reported([instance('a', { intervalSeconds: 60 })]),
      {},
      '2026-11-21T12:02:50.001Z',
    ],
    [
      'is the first change of several instances',
      reported([instance('a'), instance('b', { lastHeartbeat: '2026-11-21T11:58:30Z' })]),
      {},
      '2026-11-21T12:00:30.001Z',
    ],
    [
      'is null if the instance is already stale',
      reported([instance('a', { lastHeartbeat: '2026-11-21T11:00:00Z' })]),
      {},
      null,
    ],
    ['is the stale time after the last instance was removed', reported([]), {}, '2026-11-21T12:01:50.001Z'],
    ['is null if the workload is idle', reported([]), { activity: 'idle' }, null],
    [
      'is the stale time after awaitedSince if the last report is old',
      { ...reported([]), lastChecked: '2026-11-20T00:00:00Z', awaitedSince: '2026-11-21T11:59:00Z' },
      {},
      '2026-11-21T12:01:00.001Z',
    ],
    ['is null if the last report is old', { ...reported([]), lastChecked: '2026-11-20T00:00:00Z' }, {}, null],
    [
      'is the end of the UTC day if there are tokens',
      { ...reported([]), lastChecked: '2026-11-20T00:00:00Z', tokens: 5 },
      {},
      '2026-11-22T00:00:00.001Z',
    ],
  ])('%s', (_, status, context, expected) => {
    expect(nextChangeAt(status, AT, context)?.toISOString() ?? null).toBe(expected);
  });

  test('is exactly the time at which the status changes', () => {
    const status = statusOf(reported([instance('a', { tokensToday: 5 })]), AT);
    const next = nextChangeAt(status, AT, {})!;
    expect(statusOf(status, new Date(next.getTime() - 1))).toEqual(status);
    expect(statusOf(status, next)).toMatchObject({ phase: 'Unknown' });
  });
});

function reported(instances: InstanceStatus[]): ObservationStatus {
  return { phase: 'Healthy', instances, lastChecked: '2026-11-21T11:59:50Z' };
}

describe('contextOf', () => {
  const spec = { source: 'remote' as const };

  test('returns defaults', () => {
    expect(contextOf({ metadata: { name: 'x', namespace: 'n' }, spec })).toEqual({
      hasStarted: true,
      heartbeatSeconds: 30,
    });
    const workload = { metadata: { name: 'x', namespace: 'n' }, spec: { source: 'sidecar' as const } };
    expect(contextOf(workload)).toEqual({ heartbeatSeconds: 30 });
  });

  test.each([
    ['A', { compliantGrade: 'A' }],
    ['E', {}],
    ['', {}],
  ])('reads the annotation %j', (grade, expected) => {
    const annotations = { 'platform.io/compliant-grade': grade };
    const metadata = { name: 'x', namespace: 'n', generation: 3, annotations };
    expect(contextOf({ metadata, spec: { ...spec, heartbeatSeconds: 60 } }, 'idle')).toEqual({
      activity: 'idle',
      hasStarted: true,
      heartbeatSeconds: 60,
      observedGeneration: 3,
      ...expected,
    });
  });
});
