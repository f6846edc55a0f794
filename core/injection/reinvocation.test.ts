import { expect, test } from '@jest/globals';
import { injectionSettings, optedInPod } from '../../testing/cluster/pods.ts';
import { decide } from './decide.ts';
import { inject, uninject } from './inject.ts';
import { SIDECAR_CONTAINER } from './names.ts';
import type { Container, Pod } from './pod.ts';
import type { InjectionSettings } from './settings.ts';

function injected(pod: Pod, settings = injectionSettings()): Pod {
  const decision = decide(pod, settings);
  if (decision.action !== 'inject') throw new Error(`not injected: ${JSON.stringify(decision)}`);
  return inject(pod, decision, settings);
}

/** The pod with a changed sidecar, as if an admission plugin had changed it between two calls. */
function betweenCalls(pod: Pod, change: (sidecar: Container) => void): Pod {
  const changed = structuredClone(pod);
  const sidecar = changed.spec.initContainers?.find(({ name }) => name === SIDECAR_CONTAINER);
  if (!sidecar?.resources) throw new Error('not injected');
  change(sidecar);
  return changed;
}

/** The pod after a LimitRange with defaults, and a second call. */
const withDefaults = (settings: InjectionSettings) =>
  injected(
    betweenCalls(injected(optedInPod(), settings), (sidecar) => {
      sidecar.resources = {
        requests: { ...sidecar.resources?.requests, 'ephemeral-storage': '1Gi' },
        limits: { ...sidecar.resources?.limits, cpu: '32', memory: '1Gi', 'ephemeral-storage': '2Gi' },
      };
    }),
    settings,
  );

test.each([
  ['1', '1'],
  ['none', '32'],
])("keeps a LimitRange's ephemeral-storage; with the CPU limit %s its CPU limit is %s", (cpuLimit, cpu) => {
  const again = withDefaults(injectionSettings({ cpuLimit }));
  expect(again.spec.initContainers?.[0]?.resources).toEqual({
    requests: { 'ephemeral-storage': '1Gi', cpu: '5m', memory: '96Mi' },
    limits: { 'ephemeral-storage': '2Gi', cpu, memory: '192Mi' },
  });
  expect(injected(again, injectionSettings({ cpuLimit }))).toEqual(again);
});

test('removes the CPU limit of an earlier injection with other settings', () => {
  const before = injected(optedInPod(), injectionSettings({ cpuLimit: '1', configHash: 'other' }));
  expect(before.spec.initContainers?.[0]?.resources?.limits).toEqual({ cpu: '1', memory: '192Mi' });
  expect(injected(before).spec.initContainers?.[0]?.resources?.limits).toEqual({ memory: '192Mi' });
});

test('reverts all other changes of the sidecar', () => {
  const again = betweenCalls(injected(optedInPod()), (sidecar) => {
    sidecar.env?.push({ name: 'POLICY_PROXY_MODE', value: 'off' });
    sidecar['command'] = ['sleep'];
    sidecar.image = 'evil:1';
  });
  expect(injected(again)).toEqual(injected(optedInPod()));
});

test('restores the port name when another port was inserted before the agent port', () => {
  const again = structuredClone(injected(optedInPod()));
  again.spec.containers[0]?.ports?.unshift({ containerPort: 15090, name: 'mesh' });
  expect(uninject(again).spec.containers[0]?.ports).toEqual([
    { name: 'mesh', containerPort: 15090 },
    { name: 'http', containerPort: 8000, protocol: 'TCP' },
  ]);
});

test('keeps a probe that was changed after injection', () => {
  const pod = optedInPod({ container: { livenessProbe: { httpGet: { port: 'http', path: '/' } } } });
  const again = structuredClone(injected(pod));
  const probe = again.spec.containers[0]?.livenessProbe?.httpGet;
  expect(probe?.port).toBe(8000);
  if (probe) probe.port = 15020;
  expect(uninject(again).spec.containers[0]?.livenessProbe?.httpGet?.port).toBe(15020);
});
