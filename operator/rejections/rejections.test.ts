import { describe, expect, test } from '@jest/globals';
import type { StoredEvent } from '../../kube/events.ts';
import type { Workload } from '../../kube/types.ts';
import { lacksPods } from './lacks-pods.ts';
import { keepEvent, rejectionOf } from './rejection.ts';

const regarding = { apiVersion: 'apps/v1', kind: 'ReplicaSet', namespace: 'team', name: 'x-1', uid: 'u' };
const event = (note: string): StoredEvent => ({
  metadata: { name: 'e', namespace: 'team' },
  regarding,
  note,
});
const denied = (policy: string, words: string) =>
  `Error creating: pods "x-1-abc" is forbidden: ValidatingAdmissionPolicy '${policy}' with binding '${policy}' denied request: ${words}`;
const away = 'pod x-1-abc is opted in but has no platform-sidecar: the injector did not answer';
const port = 'annotation platform.io/agent-port: "x" is not an integer from 1 to 65535';

describe('an Event of a controller that could not make a pod', () => {
  test.each<[string, string, { words: string; isNoAnswer: boolean } | null]>([
    ['by the guard, which had no sidecar to see', denied('guard', away), { words: away, isNoAnswer: true }],
    ['by the guard, for a value', denied('guard', port), { words: port, isNoAnswer: false }],
    [
      'by the injector',
      `Error creating: admission webhook "pod.inject.platform.io" denied the request: ${port}`,
      { words: port, isNoAnswer: false },
    ],
    [
      'of a StatefulSet',
      `create Pod x-0 in StatefulSet x failed error: ${denied('guard', away).slice(16)}`,
      { words: away, isNoAnswer: true },
    ],
    ["by somebody else's policy", denied('other', away), null],
    ["by somebody else's policy of a longer name", denied('guard-2', away), null],
    ["by somebody else's webhook", 'admission webhook "x.io" denied the request: no', null],
    ['by a quota', 'Error creating: pods "x" is forbidden: exceeded quota: guard', null],
    ['cut in the middle', "Error creating: ValidatingAdmissionPolicy 'guard' with bind", null],
    ['without a word', '', null],
  ])('refused %s', (_who, note, wanted) => {
    expect(rejectionOf(event(note), 'guard')).toEqual(wanted && { controller: regarding, ...wanted });
    // The cache keeps only what concerns us, and of anything else not even the name.
    const kept = { metadata: { name: 'e', namespace: 'team' }, regarding, note };
    expect(keepEvent('guard')({ ...event(note), reason: 'FailedCreate' })).toEqual(wanted && kept);
  });

  test('without the object that it is about says nothing', () => {
    expect(rejectionOf({ metadata: { name: 'e' }, note: denied('guard', away) }, 'guard')).toBeNull();
  });
});

describe('lacks pods', () => {
  const ended = (type: string) => ({ conditions: [{ type, status: 'True' }] });
  test.each<[string, boolean, Workload['spec'], Workload['status']]>([
    ['ReplicaSet', true, { replicas: 2 }, { replicas: 1 }],
    ['ReplicaSet', true, {}, undefined],
    ['ReplicaSet', false, { replicas: 2 }, { replicas: 2 }],
    ['ReplicaSet', false, { replicas: 0 }, { replicas: 0 }],
    ['StatefulSet', true, { replicas: 1 }, { replicas: 0 }],
    ['StatefulSet', false, { replicas: 1 }, { replicas: 1 }],
    ['DaemonSet', true, {}, { desiredNumberScheduled: 3, currentNumberScheduled: 2 }],
    ['DaemonSet', false, {}, { desiredNumberScheduled: 3, currentNumberScheduled: 3 }],
    ['DaemonSet', false, {}, {}],
    ['Job', true, {}, {}],
    ['Job', false, {}, { active: 1 }],
    ['Job', true, { parallelism: 3, completions: 5 }, { active: 1, succeeded: 2 }],
    ['Job', false, { parallelism: 3, completions: 5 }, { active: 1, succeeded: 4 }],
    ['Job', false, { suspend: true }, {}],
    ['Job', false, {}, ended('Complete')],
    ['Job', false, {}, ended('Failed')],
    ['Deployment', false, { replicas: 2 }, {}],
    ['Node', false, {}, {}],
  ])('a %s: %p with %j and %j', (kind, lacks, spec = {}, status) => {
    const workload = { metadata: { name: 'x' }, spec, ...(status && { status }) };
    expect(lacksPods(kind, workload)).toBe(lacks);
  });
});
