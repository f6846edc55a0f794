import { expect, test } from '@jest/globals';
import { injectionSettings, optedInPod } from '../../testing/pods.ts';
import { decide } from './decide.ts';
import { inject, uninject } from './inject.ts';
import { SIDECAR_CONTAINER } from './names.ts';
import type { Container, Pod } from './pod.ts';

function injected(pod: Pod): Pod {
  const decision = decide(pod, injectionSettings());
  if (decision.action !== 'inject') throw new Error(`not injected: ${JSON.stringify(decision)}`);
  return inject(pod, decision.plan, injectionSettings());
}

/** The pod with its sidecar changed, as a plugin of the API server does between two calls. */
function betweenCalls(pod: Pod, change: (sidecar: Container) => void): Pod {
  const changed = structuredClone(pod);
  const sidecar = changed.spec.initContainers?.find(({ name }) => name === SIDECAR_CONTAINER);
  if (!sidecar?.resources) throw new Error('not injected');
  change(sidecar);
  return changed;
}

test('what a LimitRange puts into the sidecar between two calls stays, CPU and memory stay ours', () => {
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

test('nothing else that was changed in the sidecar stays', () => {
  const again = betweenCalls(injected(optedInPod()), (sidecar) => {
    sidecar.env?.push({ name: 'POLICY_PROXY_MODE', value: 'off' });
    sidecar['command'] = ['sleep'];
    sidecar.image = 'evil:1';
  });
  expect(injected(again)).toEqual(injected(optedInPod()));
});

test('a port that came before the agent port since leaves the name where it belongs', () => {
  const again = structuredClone(injected(optedInPod()));
  again.spec.containers[0]?.ports?.unshift({ containerPort: 15090, name: 'mesh' });
  expect(uninject(again).spec.containers[0]?.ports).toEqual([
    { name: 'mesh', containerPort: 15090 },
    { name: 'http', containerPort: 8000, protocol: 'TCP' },
  ]);
});

test('a probe that was changed since stays changed', () => {
  const pod = optedInPod({ container: { livenessProbe: { httpGet: { port: 'http', path: '/' } } } });
  const again = structuredClone(injected(pod));
  const probe = again.spec.containers[0]?.livenessProbe?.httpGet;
  expect(probe?.port).toBe(8000);
  if (probe) probe.port = 15020;
  expect(uninject(again).spec.containers[0]?.livenessProbe?.httpGet?.port).toBe(15020);
});
