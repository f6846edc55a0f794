import { expect, test } from '@jest/globals';
import type { AuditEntry } from '../cluster/api-audit.ts';
import { falseTransitions, historyOf, idleWrites, duplicateEvents } from './observation-history.ts';

const OPERATOR = 'system:serviceaccount:platform-system:operator';
const OWNERS = [{ uid: 'workload' }];

let versions = 0;

function stored(resource: string, responseObject: unknown, more: Partial<AuditEntry> = {}): AuditEntry {
  return {
    stage: 'ResponseComplete',
    stageTimestamp: '2026-01-01T00:00:00Z',
    userAgent: 'x',
    requestURI: '/',
    user: { username: OPERATOR },
    verb: 'patch',
    objectRef: { resource, subresource: 'status' },
    responseStatus: { code: 200 },
    responseObject,
    ...more,
  };
}

/** The next version of an observation. */
function version(status: object, more: Partial<AuditEntry> = {}): AuditEntry {
  versions += 1;
  const metadata = { uid: 'one', name: 'shop', resourceVersion: String(versions), ownerReferences: OWNERS };
  return stored('agentobservations', { metadata, status }, more);
}

const event = (reason: string, note: string, uid = 'one') =>
  stored('events', {
    regarding: { kind: uid === 'one' ? 'AgentObservation' : 'Deployment', uid },
    reason,
    note,
  });

const injected = (status: string, lastTransitionTime = '2026-01-01T00:00:00Z') => ({
  phase: 'Pending',
  conditions: [{ type: 'Injected', status, lastTransitionTime }],
});

test('a status write with a change is not idle, in any log order', () => {
  const [first, second, third] = [version({ score: 1 }), version({ score: 2 }), version({ score: 1 })];
  expect(idleWrites(historyOf([third, first, second]))).toEqual([]);
});

test.each([
  ['stored without a change', () => [version({ score: 1 }), version({ score: 1 })]],
  ['not stored', () => Array<AuditEntry>(2).fill(version({ score: 1 }))],
])('reports a status write that was %s', (_, entries) => {
  expect(idleWrites(historyOf(entries()))).toEqual(['shop: by operator at 2026-01-01T00:00:00Z']);
});

test('spec writes and failed writes do not count as status writes', () => {
  const first = version({ score: 1 });
  const refused = version({ score: 1 }, { responseStatus: { code: 409 } });
  const spec = version({ score: 1 }, { objectRef: { resource: 'agentobservations' } });
  expect(idleWrites(historyOf([first, refused, spec]))).toEqual([]);
});

test('lastTransitionTime may change only with the status', () => {
  const later = '2026-01-01T00:00:09Z';
  expect(falseTransitions(historyOf([version(injected('True')), version(injected('False', later))]))).toEqual(
    [],
  );
  expect(
    falseTransitions(historyOf([version(injected('True')), version(injected('True', later))])),
  ).toHaveLength(1);
});

test.each([
  ['Unknown', 'phase Healthy became Unknown: no instance reports', 'one', 2],
  ['AgentUnknown', 'phase Healthy became Unknown', 'workload', 2],
  ['Healthy', 'phase Unknown became Healthy', 'one', 1],
  ['Degraded', 'phase Healthy became Degraded', 'one', 0],
  ['GradeChanged', 'grade A became B, score 80: model', 'one', 1],
  ['GradeChanged', 'grade (none) became A, score 100', 'one', 0],
  ['Observed', 'observing Deployment shop', 'one', 1],
  ['Injected', 'all pods run with the sidecar', 'workload', 2],
  ['SidecarMissing', '1 of 2 pods', 'workload', 2],
])('%s (%s) on %s may be emitted %d times', (reason, note, uid, times) => {
  const entries = [
    version({ phase: 'Healthy', grade: 'A', ...injectedOnly('True') }),
    version({ phase: 'Unknown', grade: 'A', ...injectedOnly('False') }),
    version({ phase: 'Healthy', grade: 'B', ...injectedOnly('True') }),
    version({ phase: 'Unknown', grade: 'B', ...injectedOnly('True') }),
  ];
  const emittedTimes = (count: number) =>
    duplicateEvents(historyOf([...entries, ...Array<AuditEntry>(count).fill(event(reason, note, uid))]));
  expect(emittedTimes(times)).toEqual([]);
  expect(emittedTimes(times + 1)).toEqual([
    expect.stringContaining(`emitted ${times + 1} times, happened ${times} times`),
  ]);
});

test('ignores Events whose cause is not in an observation', () => {
  expect(duplicateEvents(historyOf([event('PodsRefused', 'pods are refused', 'workload')]))).toEqual([]);
});

const injectedOnly = (status: string) => ({ conditions: injected(status).conditions });
