import { expect, test } from '@jest/globals';
import type { AgentObservation } from '../../core/observation/observation.ts';
import type { InstanceStatus } from '../../core/shapes/instance.ts';
import { conditionOf } from '../../core/observation/condition-of.ts';
import { statusOf } from '../../core/observation/status-of.ts';
import { present } from '../../core/untrusted/present.ts';
import type { Pod } from '../../kube/types.ts';
import { age } from './age.ts';

const AT = new Date('2026-01-01T23:59:59Z');

const instance = (name: string): InstanceStatus => ({
  name,
  uid: name,
  startedAt: '2026-01-01T00:00:00Z',
  seq: 1,
  phase: 'Healthy',
  score: 100,
  lastHeartbeat: AT.toISOString(),
  intervalSeconds: 30,
  tokensToday: 5,
  costTodayUsd: 0,
  day: '2026-01-01',
  violations: 0,
  criticalIssues: 0,
  deniedInWindow: 0,
});

const observation = (...names: string[]): AgentObservation => ({
  apiVersion: 'platform.io/v1',
  kind: 'AgentObservation',
  metadata: { name: 'x', namespace: 'n' },
  spec: { source: 'sidecar' },
  status: statusOf({ phase: 'Pending', lastChecked: AT.toISOString(), instances: names.map(instance) }, AT),
});

const pod = (name: string): Pod => ({ metadata: { name, namespace: 'n', uid: name } });

test('after a write conflict, the status is computed with the current pods and time', async () => {
  let pods = [pod('a')];
  let now = AT;
  let written: AgentObservation['status'];
  await age(
    {
      clock: { now: () => now, monotonicMs: () => 0, sleep: () => Promise.resolve() },
      podsOf: () => pods,
      stopAt: () => undefined,
      statusWriter: {
        write: (_key, update) => {
          // Another process wrote meanwhile: pod b was created and reported, after midnight.
          pods = [pod('a'), pod('b')];
          now = new Date('2026-01-02T00:00:01Z');
          const object = observation('a', 'b', 'gone');
          written = update(object) ?? undefined;
          return Promise.resolve({ outcome: 'written', object });
        },
      },
    },
    'n/x',
    observation('a', 'gone'),
    { activity: 'running' },
  );
  expect(written?.instances?.map(({ name }) => name)).toEqual(['a', 'b']);
  expect(written?.tokens).toBe(0);
});

test.each<[string, Pod['status'], Pod['metadata']['deletionTimestamp'], boolean]>([
  ['that is scheduled or pulls its image', { phase: 'Pending' }, undefined, false],
  ['that runs', { phase: 'Running' }, undefined, true],
  [
    'whose sidecar fails at each start',
    {
      phase: 'Pending',
      initContainerStatuses: [{ name: 'platform-sidecar', state: { terminated: { exitCode: 1 } } }],
    },
    undefined,
    true,
  ],
  ['that has ended', { phase: 'Failed' }, undefined, false],
  ['that is being deleted', { phase: 'Running' }, AT.toISOString(), false],
])(
  'an agent that never reported is expected to report with a pod %s: %j',
  async (_, status, deletionTimestamp, isAwaited) => {
    let written: AgentObservation['status'];
    const { status: _status, ...never } = observation();
    const metadata = { ...pod('a').metadata, ...present({ deletionTimestamp }) };
    await age(
      {
        clock: { now: () => AT, monotonicMs: () => 0, sleep: () => Promise.resolve() },
        podsOf: () => [{ metadata, status: status! }],
        stopAt: () => undefined,
        statusWriter: {
          write: (_key, update) => {
            written = update(never) ?? undefined;
            return Promise.resolve({ outcome: 'written', object: never });
          },
        },
      },
      'n/x',
      never,
      { activity: 'running' },
    );
    expect(written?.awaitedSince).toBe(isAwaited ? AT.toISOString() : undefined);
    expect(written?.phase).toBe('Pending');
  },
);

test.each([
  ['appears for an agent that does not report', null, 'n/incident', 'Stopping'],
  ['ends for an agent that does not report', 'n/incident', undefined, 'Running'],
])('a stop %s', async (_what, before, after, reason) => {
  const stop = { namespace: 'n', name: 'incident', since: AT.toISOString(), spec: { reason: 'leak' } };
  const { status, ...rest } = observation();
  const known = { ...rest, status: statusOf(status, AT, before === null ? {} : { stop }) };
  let written: AgentObservation['status'];
  await age(
    {
      clock: { now: () => AT, monotonicMs: () => 0, sleep: () => Promise.resolve() },
      podsOf: () => [],
      stopAt: () => (after === undefined ? null : stop),
      statusWriter: {
        write: (_key, update) => {
          written = update(known) ?? undefined;
          return Promise.resolve({ outcome: 'written', object: known });
        },
      },
    },
    'n/x',
    known,
    { activity: 'running' },
  );
  expect(written?.stop?.id).toBe(after);
  expect(conditionOf(written, 'Stopped')?.reason).toBe(reason);
});
