import { describe, expect, test } from '@jest/globals';
import { decide } from '../../core/injection/decide.ts';
import { inject } from '../../core/injection/inject.ts';
import type { Pod } from '../../core/injection/pod.ts';
import type { InjectionSettings } from '../../core/injection/settings.ts';
import type { KubeAnswer } from '../../kube/client.ts';
import { injectionSettings, INJECTION_FIELDS, type InjectionConfig } from '../../runtime/injection-config.ts';
import { readEnv, type EnvFields } from '../../runtime/env.ts';
import { canaryPod } from './canary-pod.ts';
import { verdictOf, type Verdict } from './verdict.ts';

const read = readEnv({ SIDECAR_IMAGE: 'sidecar:1' }, INJECTION_FIELDS as EnvFields<InjectionConfig>);
if (!read.ok) throw new Error(JSON.stringify(read.problems));
const SETTINGS = { ...injectionSettings(read.config, 'system'), ca: 'CA' };

function injected(change: Partial<InjectionSettings> = {}): Pod {
  const pod = canaryPod('canary');
  const settings = { ...SETTINGS, ...change };
  const decision = decide(pod, settings);
  if (decision.action !== 'inject') throw new Error('not injected');
  return inject(pod, decision.plan, settings);
}

/** What an API server adds. */
function stored(pod: Pod, uid: string, annotations: Record<string, string> = {}): KubeAnswer<Pod> {
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
      // The injector's come after it, and before it where the API server adds it last.
      volumes: uid === 'aaaaa' ? [access, ...volumes] : [...volumes, access],
    },
  };
  return { ok: true, status: 201, body };
}

const rejection = (message: string): KubeAnswer<Pod> => ({
  ok: false,
  status: 403,
  reason: 'Forbidden',
  message,
  retryAfterMs: null,
});
const reference = stored(injected(), 'bbbb', { 'platform.io/inject': 'false' });
const verdict = (answer: KubeAnswer<Pod>, other: KubeAnswer<Pod> | null = reference) =>
  verdictOf(answer, injected(), other);

describe('the canary', () => {
  test('takes the expected pod for what it is, whatever the API server makes anew', () => {
    expect(verdict(stored(injected(), 'aaaaa'))).toEqual({
      outcome: 'passed',
      answers: true,
      message: 'the injected pod is the expected one',
    });
  });

  test.each<[string, KubeAnswer<Pod>, Partial<Verdict>, string]>([
    [
      'the guard refuses',
      rejection('pod canary has no platform-sidecar: the injector did not answer'),
      { outcome: 'no-answer', answers: false },
      'the injector did not answer',
    ],
    [
      'is refused otherwise',
      rejection('exceeded quota'),
      { outcome: 'refused', answers: false },
      'exceeded quota',
    ],
    [
      'has no sidecar',
      stored(canaryPod('canary'), 'aaaaa'),
      { outcome: 'no-answer', answers: false },
      'has no sidecar',
    ],
    [
      'is of another version',
      stored(injected({ version: '9' }), 'aaaaa'),
      { outcome: 'other-version', answers: true },
      'version 9',
    ],
    [
      'is of other settings',
      stored(injected({ configHash: 'beef', logLevel: 'debug' }), 'aaaaa'),
      { outcome: 'other-version', answers: true },
      'configuration beef',
    ],
    [
      'has another authority',
      stored(injected({ ca: 'OLD' }), 'aaaaa'),
      { outcome: 'other-authority', answers: true },
      'authorities',
    ],
    [
      'has another image under the same settings',
      stored(injected({ image: 'sidecar:2' }), 'aaaaa'),
      { outcome: 'differs', answers: true },
      'not the expected one at /spec/initContainers/0/image',
    ],
  ])('a pod that %s', (_what, answer, wanted, words) => {
    expect(verdict(answer)).toEqual({ ...wanted, message: expect.stringContaining(words) });
  });

  test('an expected pod that is refused is no finding about the injector', () => {
    expect(verdict(stored(injected(), 'aaaaa'), rejection('PodSecurity'))).toEqual({
      outcome: 'unusable',
      answers: true,
      message: 'the expected pod is not admitted: PodSecurity',
    });
  });
});
