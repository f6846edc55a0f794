import { describe, expect, test } from '@jest/globals';
import type { StoredEvent } from '../../kube/events.ts';
import type { Workload } from '../../kube/types.ts';
import { lacksPods } from './lacks-pods.ts';
import { keepEvent, rejectionOf, type Rejection } from './rejection.ts';

const regarding = { apiVersion: 'apps/v1', kind: 'ReplicaSet', namespace: 'team', name: 'x-1', uid: 'u' };
const event = (note: string): StoredEvent => ({
  metadata: { name: 'e', namespace: 'team' },
  regarding,
  note,
});
const denied = (policy: string, message: string) =>
  `Error creating: pods "x-1-abc" is forbidden: ValidatingAdmissionPolicy '${policy}' with binding '${policy}' denied request: ${message}`;
const noSidecar = 'pod x-1-abc is opted in but has no platform-sidecar: the injector did not answer';
const port = 'annotation platform.io/agent-port: "x" is not an integer from 1 to 65535';

const EXCEEDED =
  'pods "x-1-abc" is forbidden: exceeded quota: team, requested: limits.memory=192Mi, used: limits.memory=0, limited: limits.memory=100Mi';

describe('an Event of a controller that could not create a pod', () => {
  test.each<[string, string, Partial<Rejection> | null]>([
    [
      'by the guard, because of a missing sidecar',
      denied('guard', noSidecar),
      { message: noSidecar, isInjectorUnavailable: true },
    ],
    [
      'by the guard, because of an invalid value',
      denied('guard', port),
      { message: port, isInjectorUnavailable: false },
    ],
    [
      'by the injector',
      `Error creating: admission webhook "pod.inject.platform.io" denied the request: ${port}`,
      { message: port, isInjectorUnavailable: false },
    ],
    [
      'of a StatefulSet',
      `create Pod x-0 in StatefulSet x failed error: ${denied('guard', noSidecar).slice(16)}`,
      { message: noSidecar, isInjectorUnavailable: true },
    ],
    ["by another project's policy", denied('other', noSidecar), null],
    ["by another project's policy with a longer name", denied('guard-2', noSidecar), null],
    ["by another project's webhook", 'admission webhook "x.io" denied the request: no', null],
    [
      'by a quota',
      `Error creating: ${EXCEEDED}`,
      { misfit: 'QuotaExceeded', message: EXCEEDED.slice(EXCEEDED.indexOf('exceeded')) },
    ],
    [
      'by a quota, in a combined Event',
      `(combined from similar events): Error creating: ${EXCEEDED}`,
      { misfit: 'QuotaExceeded', message: EXCEEDED.slice(EXCEEDED.indexOf('exceeded')) },
    ],
    [
      'by a quota that requires a limit',
      'Error creating: pods "x-1-abc" is forbidden: failed quota: team: must specify limits.cpu for: platform-sidecar',
      {
        misfit: 'QuotaExceeded',
        message: 'failed quota: team: must specify limits.cpu for: platform-sidecar',
      },
    ],
    [
      'by a LimitRange, of a StatefulSet',
      'create Pod x-0 in StatefulSet x failed error: pods "x-0" is forbidden: maximum memory usage per Container is 128Mi, but limit is 192Mi',
      {
        misfit: 'OutsideLimitRange',
        message: 'maximum memory usage per Container is 128Mi, but limit is 192Mi',
      },
    ],
    [
      'by two limits of a LimitRange',
      'Error creating: pods "x-1-abc" is forbidden: [minimum cpu usage per Container is 50m, but request is 5m, memory max limit to request ratio per Container is 1, but provided ratio is 2.000000]',
      {
        misfit: 'OutsideLimitRange',
        message:
          '[minimum cpu usage per Container is 50m, but request is 5m, memory max limit to request ratio per Container is 1, but provided ratio is 2.000000]',
      },
    ],
    [
      'by Pod Security',
      'Error creating: pods "x" is forbidden: violates PodSecurity "restricted:latest": hostNetwork',
      null,
    ],
    [
      'for a missing account',
      'Error creating: pods "x" is forbidden: error looking up service account',
      null,
    ],
    ['with a truncated note', "Error creating: ValidatingAdmissionPolicy 'guard' with bind", null],
    ['with an empty note', '', null],
  ])('rejected %s', (_source, note, wanted) => {
    expect(rejectionOf(event(note), 'guard')).toEqual(
      wanted && { controller: regarding, misfit: null, isInjectorUnavailable: false, ...wanted },
    );
    // The cache contains only these rejections.
    const kept = { metadata: { name: 'e', namespace: 'team' }, regarding, note };
    expect(keepEvent('guard')({ ...event(note), reason: 'FailedCreate' })).toEqual(wanted && kept);
  });

  test.each<[string, Partial<StoredEvent>]>([
    ['a note that no policy can have', { note: denied('guard', 'x'.repeat(9_000)) }],
    ['a kind that cannot exist', { regarding: { ...regarding, kind: 'x'.repeat(64) } }],
    ['a name that cannot exist', { regarding: { ...regarding, name: 'x'.repeat(254) } }],
  ])('with %s is not cached', (_what, change) => {
    expect(keepEvent('guard')({ ...event(denied('guard', port)), ...change })).toBeNull();
  });

  test('is cached without other fields of its reference', () => {
    const stored = { ...event(denied('guard', port)), regarding: { ...regarding, fieldPath: 'x' } };
    expect(keepEvent('guard')(stored)?.regarding).toEqual(regarding);
  });

  test('without a regarding object is ignored', () => {
    expect(rejectionOf({ metadata: { name: 'e' }, note: denied('guard', noSidecar) }, 'guard')).toBeNull();
  });
});

describe('lacksPods', () => {
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
  ])('for a %s returns %p with %j and %j', (kind, lacks, spec = {}, status) => {
    const workload = { metadata: { name: 'x' }, spec, ...(status && { status }) };
    expect(lacksPods(kind, workload)).toBe(lacks);
  });
});
