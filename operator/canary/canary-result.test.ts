import { describe, expect, test } from '@jest/globals';
import { decide } from '../../core/injection/decide.ts';
import { inject } from '../../core/injection/inject.ts';
import type { Pod } from '../../core/injection/pod.ts';
import type { InjectionSettings } from '../../core/injection/settings.ts';
import type { KubeResponse } from '../../kube/client.ts';
import { injectionSettings, INJECTION_FIELDS } from '../../runtime/injection-config.ts';
import { testPod } from '../../kube/test-pod.ts';
import { readEnv } from '../../runtime/env.ts';
import { resultOf, type CanaryResult } from './canary-result.ts';

const read = readEnv({ SIDECAR_IMAGE: 'sidecar:1' }, INJECTION_FIELDS);
if (!read.ok) throw new Error(JSON.stringify(read.problems));
const SETTINGS = { ...injectionSettings(read.config, 'system'), ca: 'CA' };

function injected(change: Partial<InjectionSettings> = {}): Pod {
  const pod = testPod({ name: 'canary', namespace: 'canary', inject: 'true' });
  const settings = { ...SETTINGS, ...change };
  const decision = decide(pod, settings);
  if (decision.action !== 'inject') throw new Error('not injected');
  return inject(pod, decision, settings);
}

/** The pod with the fields that an API server adds. */
function stored(pod: Pod, uid: string, annotations: Record<string, string> = {}): KubeResponse<Pod> {
  const access = { name: `kube-api-access-${uid}`, projected: {} };
  const [agent, ...rest] = pod.spec.containers;
  const volumes = pod.spec.volumes ?? [];
  const body: Pod = {
    ...pod,
    metadata: {
      ...pod.metadata,
      annotations: { ...pod.metadata?.annotations, ...annotations },
      uid,
      creationTimestamp: `2026-01-01T00:00:0${uid.length}Z`,
      managedFields: [uid],
    },
    spec: {
      ...pod.spec,
      containers: [{ ...agent!, volumeMounts: [{ name: access.name }] }, ...rest],
      // The order of the API server's volume and the injector's volumes differs between the two pods.
      volumes: uid === 'aaaaa' ? [access, ...volumes] : [...volumes, access],
    },
  };
  return { ok: true, status: 201, body };
}

const rejection = (message: string): KubeResponse<Pod> => ({
  ok: false,
  status: 403,
  reason: 'Forbidden',
  message,
  retryAfterMs: null,
});
const reference = stored(injected(), 'bbbb', { 'platform.io/inject': 'false' });
const result = (response: KubeResponse<Pod>, other: KubeResponse<Pod> | null = reference) =>
  resultOf(response, injected(), other);

describe('the canary', () => {
  test('accepts the expected pod independent of the values that the API server generates', () => {
    expect(result(stored(injected(), 'aaaaa'))).toEqual({
      outcome: 'passed',
      injectorResponded: true,
      message: 'the injected pod is the expected one',
    });
  });

  test.each<[string, KubeResponse<Pod>, Partial<CanaryResult>, string]>([
    [
      'is rejected by the guard',
      rejection('pod canary has no platform-sidecar: the injector did not answer'),
      { outcome: 'no-answer', injectorResponded: false },
      'the injector did not answer',
    ],
    [
      'is rejected for another reason',
      rejection('exceeded quota'),
      { outcome: 'refused', injectorResponded: false },
      'exceeded quota',
    ],
    [
      'has no sidecar',
      stored(testPod({ name: 'canary', namespace: 'canary', inject: 'true' }), 'aaaaa'),
      { outcome: 'no-answer', injectorResponded: false },
      'has no sidecar',
    ],
    [
      'is injected by another version',
      stored(injected({ version: '9' }), 'aaaaa'),
      { outcome: 'other-version', injectorResponded: true },
      'version 9',
    ],
    [
      'is injected with other settings',
      stored(injected({ configHash: 'beef', logLevel: 'debug' }), 'aaaaa'),
      { outcome: 'other-version', injectorResponded: true },
      'configuration beef',
    ],
    [
      'has another CA',
      stored(injected({ ca: 'OLD' }), 'aaaaa'),
      { outcome: 'other-authority', injectorResponded: true },
      'another CA',
    ],
    [
      'has another image under the same settings',
      stored(injected({ image: 'sidecar:2' }), 'aaaaa'),
      { outcome: 'differs', injectorResponded: true },
      'differs from the expected pod at /spec/initContainers/0/image',
    ],
  ])('a pod that %s', (_what, response, wanted, message) => {
    expect(result(response)).toEqual({ ...wanted, message: expect.stringContaining(message) });
  });

  test('is unusable when the expected pod is rejected', () => {
    expect(result(stored(injected(), 'aaaaa'), rejection('PodSecurity'))).toEqual({
      outcome: 'unusable',
      injectorResponded: true,
      message: 'the expected pod was rejected: PodSecurity',
    });
  });
});
