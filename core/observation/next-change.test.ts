import { describe, expect, test } from '@jest/globals';
import { contextOf } from './context-of.ts';
import { nextChangeAt } from './next-change.ts';
import type { InstanceStatus, ObservationStatus } from './observation.ts';
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

describe('the next change by time alone', () => {
  test.each<[string, ObservationStatus, ObservationContext, string | null]>([
    ['nothing was ever reported', { phase: 'Pending' }, {}, null],
    ['an instance falls silent after two minutes', reported([instance('a')]), {}, '2026-11-21T12:01:50.001Z'],
    [
      'or after three of its own intervals, when they are longer',
      reported([instance('a', { intervalSeconds: 60 })]),
      {},
      '2026-11-21T12:02:50.001Z',
    ],
    [
      'the first of several',
      reported([instance('a'), instance('b', { lastHeartbeat: '2026-11-21T11:58:30Z' })]),
      {},
      '2026-11-21T12:00:30.001Z',
    ],
    [
      'one that is silent already',
      reported([instance('a', { lastHeartbeat: '2026-11-21T11:00:00Z' })]),
      {},
      null,
    ],
    ['the last one is gone and none has come', reported([]), {}, '2026-11-21T12:01:50.001Z'],
    ['the last one is gone and none should come', reported([]), { activity: 'idle' }, null],
    [
      'the last one is gone long ago, and the next is awaited since a moment ago',
      { ...reported([]), lastChecked: '2026-11-20T00:00:00Z', awaitedSince: '2026-11-21T11:59:00Z' },
      {},
      '2026-11-21T12:01:00.001Z',
    ],
    ['the last one is gone long ago', { ...reported([]), lastChecked: '2026-11-20T00:00:00Z' }, {}, null],
    [
      'the day ends, and its tokens with it',
      { ...reported([]), lastChecked: '2026-11-20T00:00:00Z', tokens: 5 },
      {},
      '2026-11-22T00:00:00.001Z',
    ],
  ])('%s', (_, status, context, expected) => {
    expect(nextChangeAt(status, AT, context)?.toISOString() ?? null).toBe(expected);
  });

  test('is when the status does change, and not a moment before', () => {
    const status = statusOf(reported([instance('a', { tokensToday: 5 })]), AT);
    const next = nextChangeAt(status, AT, {})!;
    expect(statusOf(status, new Date(next.getTime() - 1))).toEqual(status);
    expect(statusOf(status, next)).toMatchObject({ phase: 'Unknown' });
  });
});

function reported(instances: InstanceStatus[]): ObservationStatus {
  return { phase: 'Healthy', instances, lastChecked: '2026-11-21T11:59:50Z' };
}

describe('what an observation says about its status', () => {
  const spec = { source: 'remote' as const };

  test('has defaults', () => {
    expect(contextOf({ metadata: { name: 'x', namespace: 'n' }, spec })).toEqual({
      heartbeatSeconds: 30,
    });
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
      heartbeatSeconds: 60,
      observedGeneration: 3,
      ...expected,
    });
  });
});
