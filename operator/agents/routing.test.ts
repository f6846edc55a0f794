import { describe, expect, jest, test } from '@jest/globals';
import type { Pod, Service } from '../../kube/types.ts';
import { stateOf } from '../../core/observation/condition-table.ts';
import { keepService } from '../informers.ts';
import { keepPod } from './agent-pods.ts';
import { ROUTED } from './routing.ts';

const INJECTED = {
  version: '1',
  config: 'c',
  agent: { container: 'agent', port: 8000 },
  restore: [],
  ownLabel: false,
};

const pod: Pod = {
  metadata: {
    name: 'x-1',
    namespace: 'n',
    labels: { app: 'x', 'platform.io/agent': 'x' },
    annotations: { 'platform.io/injected': JSON.stringify(INJECTED) },
  },
  spec: {
    initContainers: [
      { name: 'setup', ports: [{ name: 'setup', containerPort: 4000 }] },
      { name: 'platform-sidecar', restartPolicy: 'Always', ports: [{ name: 'http', containerPort: 4000 }] },
    ],
    containers: [
      {
        name: 'agent',
        ports: [
          { name: 'raw', containerPort: 8000 },
          { name: 'dns', containerPort: 8000, protocol: 'UDP' },
        ],
      },
      { name: 'other', ports: [{ name: 'metrics', containerPort: 9090 }] },
    ],
  },
};

const ended = (state: object, lastState: object): NonNullable<Pod['status']> => ({
  phase: 'Running',
  initContainerStatuses: [{ name: 'platform-sidecar', state, lastState }],
});

const service = (name: string, spec: Service['spec'], namespace = 'n'): Service => ({
  metadata: { name, namespace },
  spec: { selector: { app: 'x' }, ...spec },
});

const routed = (pods: Pod[], services: Service[]) => stateOf(ROUTED, { pods, services });
const briefOf = (...services: Service[]) => {
  const { status, reason } = routed([pod], services);
  return `${status} ${reason}`;
};

describe('Routed', () => {
  test.each<[string, Service['spec'], string]>([
    ['the port name of the sidecar', { ports: [{ port: 80, targetPort: 'http' }] }, 'True ThroughSidecar'],
    ["the sidecar's number", { ports: [{ port: 80, targetPort: 4000 }] }, 'True ThroughSidecar'],
    ["the sidecar's number without a target", { ports: [{ port: 4000 }] }, 'True ThroughSidecar'],
    ["the agent's number", { ports: [{ port: 80, targetPort: 8000 }] }, 'False ServiceBypassesSidecar'],
    ["the agent's number without a target", { ports: [{ port: 8000 }] }, 'False ServiceBypassesSidecar'],
    [
      "another name of the agent's port",
      { ports: [{ port: 80, targetPort: 'raw' }] },
      'False ServiceBypassesSidecar',
    ],
    [
      'one port through the sidecar and one bypassing it',
      {
        ports: [
          { port: 80, targetPort: 'http' },
          { port: 81, targetPort: 8000 },
        ],
      },
      'False ServiceBypassesSidecar',
    ],
    ['another port of the pod', { ports: [{ port: 80, targetPort: 'metrics' }] }, 'Unknown NoService'],
    ['an unknown port name', { ports: [{ port: 80, targetPort: 'web' }] }, 'Unknown NoService'],
    ['a name of the other protocol', { ports: [{ port: 53, targetPort: 'dns' }] }, 'Unknown NoService'],
    ["an init container's name", { ports: [{ port: 80, targetPort: 'setup' }] }, 'Unknown NoService'],
    ['no selector', { selector: {}, ports: [{ port: 80, targetPort: 8000 }] }, 'Unknown NoService'],
    ['other pods', { selector: { app: 'y' }, ports: [{ port: 80, targetPort: 8000 }] }, 'Unknown NoService'],
    [
      'a name outside the cluster',
      { type: 'ExternalName', selector: { app: 'x' }, ports: [{ port: 80, targetPort: 8000 }] },
      'Unknown NoService',
    ],
  ])('with a Service that targets %s', (_, spec, expected) => {
    expect(briefOf(service('front', spec))).toBe(expected);
  });

  test('with a Service of another namespace', () => {
    expect(briefOf(service('front', { ports: [{ port: 8000 }] }, 'm'))).toBe('Unknown NoService');
  });

  test('lists the Services in a stable order', () => {
    const bypassing = (name: string) => service(name, { ports: [{ port: 80, targetPort: 8000 }] });
    const through = (name: string) => service(name, { ports: [{ port: 80, targetPort: 'http' }] });
    expect(routed([pod, pod], [bypassing('b'), through('c'), bypassing('a')]).message).toBe(
      "traffic bypasses the sidecar: Service a port 80 targets 8000, Service b port 80 targets 8000; set targetPort to the name of the agent's port or to 4000",
    );
    expect(routed([pod, pod], [through('b'), through('a')]).message).toBe(
      'through the sidecar: Service a, Service b',
    );
  });

  test('names at most 20 Services, because the status of each agent has the message', () => {
    const services = Array.from({ length: 1_000 }, (_, index) =>
      service(`s-${1_000 + index}`, { ports: [{ port: 8000 }] }),
    );
    const { message } = routed([pod], services);
    expect(message).toContain('Service s-1019 port 8000 targets 8000 and 980 more; set targetPort');
    expect(message).not.toContain('s-1020');
  });

  test.each<[string, NonNullable<Pod['status']>, string]>([
    ['runs', { phase: 'Running' }, 'True ThroughSidecar'],
    ['ended because its port was in use', ended({}, { terminated: { exitCode: 98 } }), 'False PortTaken'],
    ['ends now because its port is in use', ended({ terminated: { exitCode: 98 } }, {}), 'False PortTaken'],
    // A hostile listener on 4001 responds to the kubelet's probes.
    [
      'ended because its port was in use and seems ready',
      ended({ running: {} }, { terminated: { exitCode: 98 } }),
      'False PortTaken',
    ],
    ['failed and waits for its restart', ended({}, { terminated: { exitCode: 137 } }), 'Unknown SidecarDown'],
    ['has just failed', ended({ terminated: { exitCode: 1 } }, {}), 'Unknown SidecarDown'],
    ['failed and runs again', ended({ running: {} }, { terminated: { exitCode: 1 } }), 'True ThroughSidecar'],
    ['has not started yet', ended({}, {}), 'True ThroughSidecar'],
    ['has completed', ended({ terminated: { exitCode: 0 } }, {}), 'True ThroughSidecar'],
  ])('with a sidecar that %s', (_, status, expected) => {
    const through = service('front', { ports: [{ port: 80, targetPort: 'http' }] });
    for (const changed of [{ ...pod, status }, keepPod({ ...pod, status })] as Pod[]) {
      const state = routed([pod, changed], [through]);
      expect(`${state.status} ${state.reason}`).toBe(expected);
    }
  });

  test('names the pod whose port is in use, even if a Service bypasses the sidecar', () => {
    const taken = { ...pod, status: ended({}, { terminated: { exitCode: 98 } }) };
    expect(routed([taken, taken], [service('front', { ports: [{ port: 8000 }] })]).message).toBe(
      'the sidecar of pod x-1 and 1 more could not listen on port 4000 or 4001, for lanes 4002 or 4003, or for OTLP 4318 because another process in the pod uses the port; change that port and restart the workload',
    );
  });

  test('does not treat port 4000 of a pod without the sidecar as the sidecar', () => {
    const bare = { ...pod, spec: { containers: pod.spec?.containers ?? [] } };
    expect(routed([bare], [service('front', { ports: [{ port: 80, targetPort: 4000 }] })]).reason).toBe(
      'ServiceBypassesSidecar',
    );
  });

  test('cannot know the port of an agent whose sidecar was not injected', () => {
    const own = { ...pod, metadata: { ...pod.metadata, annotations: {} } };
    expect(routed([own], [service('front', { ports: [{ port: 8000 }] })]).reason).toBe('NoService');
    expect(routed([own], [service('front', { ports: [{ port: 80, targetPort: 'http' }] })]).reason).toBe(
      'ThroughSidecar',
    );
  });
});

test('a Service is cached with bounded ports, and not at all if it cannot select a cached pod', () => {
  const selector = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`l-${index}`, 'v']));
  const ports = Array.from({ length: 1_000 }, (_, index) => ({
    ...{ name: `p-${index}`, port: index + 1, targetPort: 'http', nodePort: 30_000 },
  }));
  const metadata = { ...service('front', {}).metadata, annotations: { note: 'x' } };
  const kept = keepService({ metadata, spec: { type: 'ClusterIP', selector: selector(100), ports } });
  expect(kept).toEqual({
    metadata: { name: 'front', namespace: 'n' },
    spec: { type: 'ClusterIP', selector: selector(100), ports: expect.anything() as unknown },
  });
  expect(kept?.spec?.ports).toHaveLength(250);
  expect(kept?.spec?.ports?.[0]).toEqual({ port: 1, targetPort: 'http' });
  expect(keepService({ metadata, spec: { selector: selector(101) } })).toBeNull();
});

test('the record of each pod is read once, however many Services select it', () => {
  const pods = Array.from({ length: 20 }, () => keepPod(structuredClone(pod)));
  const services = Array.from({ length: 20 }, (_, index) => ({
    metadata: { name: `s-${index}`, namespace: 'n' },
    spec: { selector: { app: 'x' }, ports: [{ port: 80, targetPort: 8000 }] },
  }));
  const parse = jest.spyOn(JSON, 'parse');
  expect(stateOf(ROUTED, { pods, services }).reason).toBe('ServiceBypassesSidecar');
  expect(parse).toHaveBeenCalledTimes(pods.length);
  parse.mockRestore();
});

test('does not compare a namespace full of Services with as many pods, which would stop the operator for minutes', () => {
  const count = 2_000;
  const pods = Array.from({ length: count }, (_, index) => ({
    ...pod,
    metadata: { ...pod.metadata, name: `x-${index}` },
  }));
  const services = Array.from({ length: count }, (_, index) =>
    service(`s-${index}`, { ports: [{ port: 80, targetPort: 9000 }] }),
  );
  expect(routed(pods, services)).toEqual({
    status: 'Unknown',
    reason: 'TooManyServices',
    message: '2000 Services are too many to compare with 2000 pods; remove Services or pods',
  });
  expect(routed(pods.slice(0, 1), services)).toMatchObject({ reason: 'NoService' });
});
