import { expect, test } from '@jest/globals';
import type { InstanceStatus } from '../shapes/instance.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import { changesBetween } from './changes-between.ts';

const AT = new Date('2026-03-01T10:00:00.000Z');

const instance = (name: string, sidecarVersion: string): InstanceStatus => ({
  name,
  startedAt: '2026-03-01T09:00:00.000Z',
  seq: 1,
  lastHeartbeat: '2026-03-01T10:00:00.000Z',
  intervalSeconds: 30,
  tokensToday: 0,
  costTodayUsd: 0,
  day: '2026-03-01',
  phase: 'Healthy',
  score: 100,
  sidecarVersion,
  violations: 0,
  criticalIssues: 0,
  deniedInWindow: 0,
});

const BEFORE: ObservationStatus = {
  phase: 'Healthy',
  grade: 'A',
  manifestHash: 'one',
  policyMode: 'track',
  reportedBy: 'pod-a',
  instances: [instance('pod-a', '0.1.0'), instance('pod-b', '0.2.0')],
};

test.each<[string, Partial<ObservationStatus>, [string, string | null, string | null][]]>([
  ['nothing', {}, []],
  ['values that are not recorded', { score: 99, tokens: 7, violations: 1 }, []],
  ['the phase', { phase: 'Unknown' }, [['phase', 'Healthy', 'Unknown']]],
  ['the grade', { grade: 'B' }, [['grade', 'A', 'B']]],
  ['the manifest', { manifestHash: 'two' }, [['manifest', 'one', 'two']]],
  ['the reporting instance', { reportedBy: 'pod-b' }, [['version', '0.1.0', '0.2.0']]],
  ['its version', { instances: [instance('pod-a', '0.3.0')] }, [['version', '0.1.0', '0.3.0']]],
  ['the version of another instance', { instances: [instance('pod-a', '0.1.0')] }, []],
  ['the policy mode', { policyMode: 'enforce' }, [['policy-mode', 'track', 'enforce']]],
  [
    'several values',
    { phase: 'Degraded', grade: 'C', manifestHash: 'two' },
    [
      ['phase', 'Healthy', 'Degraded'],
      ['grade', 'A', 'C'],
      ['manifest', 'one', 'two'],
    ],
  ],
])('records %s', (_, difference, expected) => {
  const changes = changesBetween(BEFORE, { ...BEFORE, ...difference }, AT);
  expect(changes).toEqual(expected.map(([kind, from, to]) => ({ at: AT.toISOString(), kind, from, to })));
});

test('the manifest is the newest one, whichever instance reported last', () => {
  const manifestChange = { at: '', from: 'one', to: 'two', summary: 'what' };
  const rolling = { ...BEFORE, manifestChange };
  expect(changesBetween(BEFORE, { ...rolling, manifestHash: 'one' }, AT)).toEqual([
    { at: AT.toISOString(), kind: 'manifest', from: 'one', to: 'two', summary: 'what' },
  ]);
  expect(changesBetween(rolling, { ...rolling, manifestHash: 'two' }, AT)).toEqual([]);
});

test('a new agent has no values before its first heartbeat', () => {
  expect(changesBetween(undefined, BEFORE, AT).map(({ kind, from, to }) => [kind, from, to])).toEqual([
    ['phase', null, 'Healthy'],
    ['grade', null, 'A'],
    ['manifest', null, 'one'],
    ['version', null, '0.1.0'],
    ['policy-mode', null, 'track'],
  ]);
  expect(changesBetween({ phase: 'Pending' }, { phase: 'Healthy' }, AT)).toEqual([
    { at: AT.toISOString(), kind: 'phase', from: 'Pending', to: 'Healthy' },
  ]);
});

test('a value that is no longer reported is null', () => {
  const { manifestHash: _, ...after } = BEFORE;
  expect(changesBetween(BEFORE, after, AT)).toEqual([
    { at: AT.toISOString(), kind: 'manifest', from: 'one', to: null },
  ]);
});

test('a stop has who requested it and why, and at its end when it was confirmed', () => {
  const stop = { id: 'team/a', reason: 'leak', since: '', instances: 2, confirmed: 0 };
  const ended = { ...stop, firstConfirmedAt: 'T1', lastConfirmedAt: 'T2' };
  const rows = [
    [BEFORE, { ...BEFORE, stop: { ...stop, by: 'alice', until: 'T9' } }],
    [BEFORE, { ...BEFORE, stop }],
    [{ ...BEFORE, stop: ended }, BEFORE],
    [{ ...BEFORE, stop }, BEFORE],
  ] as const;
  const changes = rows.flatMap(([before, after]) => changesBetween(before, after, AT));
  expect(changes.map(({ kind, from, to, summary }) => [kind, from, to, summary])).toEqual([
    ['stop', null, 'team/a', 'by alice, until T9: leak'],
    ['stop', null, 'team/a', 'by an unknown user, without an end: leak'],
    ['stop', 'team/a', null, 'confirmed by the first instance: T1, by all: T2'],
    ['stop', 'team/a', null, 'confirmed by the first instance: never, by all: never'],
  ]);
});
