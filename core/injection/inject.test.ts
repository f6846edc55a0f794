import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { applyPatch } from '../../testing/json-patch.ts';
import { anyPod, injectionSettings } from '../../testing/pods.ts';
import { decide } from './decide.ts';
import { inject, uninject } from './inject.ts';
import { SIDECAR_CONTAINER, VOLUMES } from './names.ts';
import { patchBetween } from './patch.ts';
import type { Container, Handler, Pod } from './pod.ts';

const settings = injectionSettings();

function injected(pod: Pod): Pod {
  const decision = decide(pod, settings);
  if (decision.action !== 'inject') throw new Error(`not injected: ${JSON.stringify(decision)}`);
  return inject(pod, decision.plan, settings);
}

/** Without lists and maps that are empty, which mean the same as absent ones. */
function withoutEmpties(pod: Pod): Pod {
  return JSON.parse(
    JSON.stringify(pod, (key, value: unknown) =>
      ['labels', 'annotations', 'initContainers', 'volumes'].includes(key) &&
      typeof value === 'object' &&
      value !== null &&
      Object.keys(value).length === 0
        ? undefined
        : value,
    ),
  ) as Pod;
}

/** What a Service with targetPort `name` reaches, as endpoint slices find it: containers first, then native sidecars. */
function findPort(pod: Pod, name: string, protocol: string): number | undefined {
  const sidecars = (pod.spec.initContainers ?? []).filter(
    (container) => container.restartPolicy === 'Always',
  );
  return [...pod.spec.containers, ...sidecars]
    .flatMap((container) => container.ports ?? [])
    .find((port) => port.name === name && (port.protocol ?? 'TCP') === protocol)?.containerPort;
}

/** Where kubelet sends each probe and lifecycle call of a container. */
function handlerPorts(container: Container): (number | undefined)[] {
  const handlers: (Handler | undefined)[] = [
    container.livenessProbe,
    container.readinessProbe,
    container.startupProbe,
    container.lifecycle?.postStart,
    container.lifecycle?.preStop,
  ];
  return handlers.map((handler) => {
    const port = (handler?.httpGet ?? handler?.tcpSocket)?.port;
    return typeof port === 'string'
      ? container.ports?.find((candidate) => candidate.name === port)?.containerPort
      : port;
  });
}

interface SecurityContext {
  allowPrivilegeEscalation?: boolean;
  privileged?: boolean;
  runAsNonRoot?: boolean;
  runAsUser?: number;
  capabilities?: { drop?: string[]; add?: string[] };
  seccompProfile?: { type: string };
}

/** The container fields and volume kinds of the restricted Pod Security profile that injection could break. */
function breaksRestricted(pod: Pod): string[] {
  const allowedVolumes = ['configMap', 'downwardAPI', 'emptyDir', 'projected', 'secret'];
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  return [
    ...containers
      .filter((container) => {
        const context = container['securityContext'] as SecurityContext | undefined;
        return !(
          context?.allowPrivilegeEscalation === false &&
          context.privileged !== true &&
          context.runAsNonRoot === true &&
          context.runAsUser !== 0 &&
          context.capabilities?.drop?.includes('ALL') === true &&
          context.capabilities.add === undefined &&
          context.seccompProfile?.type === 'RuntimeDefault'
        );
      })
      .map((container) => container.name),
    ...containers.filter((c) => c.ports?.some((port) => port['hostPort'] !== undefined)).map((c) => c.name),
    ...(pod.spec.volumes ?? [])
      .filter((volume) => !Object.keys(volume).every((key) => key === 'name' || allowedVolumes.includes(key)))
      .map((volume) => volume.name),
  ];
}

const law = (name: string, predicate: (pod: Pod) => void) =>
  test(name, () => {
    fc.assert(fc.property(anyPod, predicate), { numRuns: 300 });
  });

law('injecting twice is injecting once', (pod) => {
  expect(injected(injected(pod))).toEqual(injected(pod));
});

law('taking the injection out gives the pod back, empty lists and maps aside', (pod) => {
  expect(withoutEmpties(uninject(injected(pod)))).toEqual(withoutEmpties(pod));
});

law('the patch makes the injected pod of the pod', (pod) => {
  expect(applyPatch(pod, patchBetween(pod, injected(pod)))).toEqual(injected(pod));
});

law('a pod that comes back injected needs no patch', (pod) => {
  const once = injected(pod);
  expect(patchBetween(once, injected(once))).toEqual([]);
});

law('the input is not changed', (pod) => {
  const copy = structuredClone(pod);
  injected(pod);
  expect(pod).toEqual(copy);
});

law('a pod that passes the restricted profile still does', (pod) => {
  expect(breaksRestricted(injected(pod))).toEqual(breaksRestricted(pod));
});

law('what is there keeps its order, behind the sidecar', (pod) => {
  const after = injected(pod);
  const names = (list: readonly { name: string }[] | undefined) => (list ?? []).map((item) => item.name);
  expect(names(after.spec.containers)).toEqual(names(pod.spec.containers));
  expect(names(after.spec.initContainers)).toEqual([SIDECAR_CONTAINER, ...names(pod.spec.initContainers)]);
  expect(names(after.spec.volumes)).toEqual([...names(pod.spec.volumes), ...Object.values(VOLUMES)]);
});

law("a Service finds the proxy under the agent port's names, and everything else where it was", (pod) => {
  const after = injected(pod);
  const decision = decide(pod, settings);
  if (decision.action !== 'inject') throw new Error('not injected');
  for (const container of pod.spec.containers) {
    for (const { name, containerPort, protocol = 'TCP' } of container.ports ?? []) {
      if (name === undefined) continue;
      const isAgents =
        container.name === decision.plan.agentContainer &&
        containerPort === decision.plan.agentPort &&
        protocol === 'TCP';
      expect([name, findPort(after, name, protocol)]).toEqual([name, isAgents ? 4000 : containerPort]);
    }
  }
});

law('every probe and lifecycle call still reaches the port it reached before', (pod) => {
  expect(injected(pod).spec.containers.map(handlerPorts)).toEqual(pod.spec.containers.map(handlerPorts));
});

law('no container but the sidecar mounts what injection brought', (pod) => {
  const own: readonly string[] = Object.values(VOLUMES);
  const mounting = [...injected(pod).spec.containers, ...(injected(pod).spec.initContainers ?? [])]
    .filter((container) =>
      ((container['volumeMounts'] ?? []) as { name: string }[]).some((mount) => own.includes(mount.name)),
    )
    .map((container) => container.name);
  expect(mounting).toEqual([SIDECAR_CONTAINER]);
});
