import { expect, test } from '@jest/globals';
import { injectionSettings, optedInPod } from '../../testing/pods.ts';
import { decide } from './decide.ts';
import { inject, uninject } from './inject.ts';
import { SIDECAR_CONTAINER } from './names.ts';
import type { Container, Pod } from './pod.ts';

function injected(pod: Pod): Pod {
  const decision = decide(pod, injectionSettings());
  if (decision.action !== 'inject') throw new Error(`not injected: ${JSON.stringify(decision)}`);
  return inject(pod, decision, injectionSettings());
}

/** The pod with a changed sidecar, as if an admission plugin had changed it between two calls. */
function betweenCalls(pod: Pod, change: (sidecar: Container) => void): Pod {
  const changed = structuredClone(pod);
  const sidecar = changed.spec.initContainers?.find(({ name }) => name === SIDECAR_CONTAINER);
  if (!sidecar?.resources) throw new Error('not injected');
  change(sidecar);
  return changed;
}

test("keeps a LimitRange's ephemeral-storage, but not its CPU and memory", () => {
  const again = betweenCalls(injected(optedInPod()), (sidecar) => {
    sidecar.resources = {
      requests: { ...sidecar.resources?.requests, 'ephemeral-storage': '1Gi' },
      limits: { ...sidecar.resources?.limits, cpu: '32', 'ephemeral-storage': '2Gi' },
    };
  });
  const sidecar = injected(again).spec.initContainers?.[0];
  expect(sidecar?.resources).toEqual({
    requests: { 'ephemeral-storage': '1Gi', cpu: '25m', memory: '96Mi' },
    limits: { 'ephemeral-storage': '2Gi', cpu: '1', memory: '192Mi' },
  });
  expect(injected(injected(again))).toEqual(injected(again));
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
