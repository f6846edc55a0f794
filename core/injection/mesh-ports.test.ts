import { describe, expect, test } from '@jest/globals';
import { injectionSettings, optedInPod } from '../../testing/cluster/pods.ts';
import { decide } from './decide.ts';
import { inject, uninject } from './inject.ts';
import { INJECTED_ANNOTATION } from './names.ts';
import type { Pod } from './pod.ts';

const [ISTIO, LINKERD, KUMA, CONSUL] = [
  'traffic.sidecar.istio.io/excludeInboundPorts',
  'config.linkerd.io/skip-inbound-ports',
  'traffic.kuma.io/exclude-inbound-ports',
  'consul.hashicorp.com/transparent-proxy-exclude-inbound-ports',
] as const;
const settings = injectionSettings();

function decided(pod: Pod): { pod: Pod; warnings: string[] } {
  const decision = decide(pod, settings);
  if (decision.action !== 'inject') throw new Error(`not injected: ${JSON.stringify(decision)}`);
  return { pod: inject(pod, decision, settings), warnings: decision.warnings };
}
const injected = (annotations: Record<string, string> = {}): Pod => decided(optedInPod({ annotations })).pod;

/** The annotation of Istio, Linkerd, Kuma and Consul. */
const portsOf = ({ metadata }: Pod): (string | undefined)[] =>
  [ISTIO, LINKERD, KUMA, CONSUL].map((name) => metadata?.annotations?.[name]);

/** The pod with an annotation that was changed after the injection. */
const changed = (pod: Pod, annotations: Record<string, string | undefined>): Pod =>
  JSON.parse(
    JSON.stringify({
      ...pod,
      metadata: { ...pod.metadata, annotations: { ...pod.metadata?.annotations, ...annotations } },
    }),
  ) as Pod;

/** What the injector of Istio does with the ports that are excluded at that time. */
function withIstio(pod: Pod): Pod {
  const ports = `15090,15021,${pod.metadata?.annotations?.[ISTIO] ?? ''}`;
  const init = { name: 'istio-init', image: 'istio:1', args: ['istio-iptables', '-d', ports] };
  return { ...pod, spec: { ...pod.spec, initContainers: [...(pod.spec.initContainers ?? []), init] } };
}

test('every mesh leaves the control port to the sidecar', () => {
  expect(portsOf(injected())).toEqual(['4001', '4001', '4001', '4001']);
});

test.each([
  ['9090', '9090,4001'],
  ['9090, 4001', '9090, 4001'],
  ['4000-4010', '4000-4010'],
  ['*', '*'],
  ['', '4001'],
  ['40010,14001', '40010,14001,4001'],
  ['not-a-port', 'not-a-port,4001'],
])('ports that the pod excludes are kept: %j becomes %j', (before, after) => {
  const pod = injected({ [LINKERD]: before });
  expect(portsOf(pod)).toEqual(['4001', after, '4001', '4001']);
  expect(portsOf(uninject(pod))).toEqual([undefined, before, undefined, undefined]);
});

describe('an annotation that was changed after the injection', () => {
  test.each([
    // The injector of Istio adds its own port, if Istio's CNI plugin reads the annotation.
    [undefined, '4001,15020', '15020'],
    ['9090', '9090,4001,15020', '9090,15020'],
    ['9090', '4001', ''],
    [undefined, undefined, undefined],
  ])('was %j, is %j, and becomes %j', (before, now, after) => {
    const pod = injected(before === undefined ? {} : { [ISTIO]: before });
    const left = portsOf(uninject(changed(pod, { [ISTIO]: now })))[0];
    expect(left ?? '').toBe(after ?? '');
  });

  test('has the control port after the next injection', () => {
    const pod = changed(injected(), { [ISTIO]: '4001,15020' });
    const again = decided(pod).pod;
    expect(portsOf(again)[0]).toBe('15020,4001');
    expect(decided(again).pod).toEqual(again);
  });
});

test('a pod of an earlier injector, without this part of the record, keeps its ports', () => {
  const record = JSON.stringify({
    ...{ version: '0.1.0', config: 'old', agent: { container: 'agent', port: 8000 } },
    ...{ restore: [], ownLabel: false },
  });
  const pod = optedInPod({ annotations: { [INJECTED_ANNOTATION]: record, [ISTIO]: '9090, 9091' } });
  expect(portsOf(uninject(pod))[0]).toBe('9090, 9091');
});

test('a forged record changes no other annotation', () => {
  const record = JSON.parse(injected().metadata?.annotations?.[INJECTED_ANNOTATION] ?? '') as object;
  const forged = JSON.stringify({ ...record, excludedPorts: { app: 'evil', [KUMA]: '1' } });
  const pod = changed(injected({ app: 'chat' }), { [INJECTED_ANNOTATION]: forged });
  expect(uninject(pod).metadata?.annotations).toEqual({ 'platform.io/inject': 'true', app: 'chat' });
});

test('a list that no mesh needs costs the injector no memory and no time', () => {
  const list = Array(1_500_000).fill('1').join(',');
  const pod = injected({ [ISTIO]: list });
  expect([portsOf(pod)[0] === list, portsOf(pod)[1]]).toEqual([true, '4001']);
  const record = JSON.parse(pod.metadata?.annotations?.[INJECTED_ANNOTATION] ?? '') as object;
  const forged = JSON.stringify({ ...record, excludedPorts: { [ISTIO]: list, [KUMA]: list } });
  const left = portsOf(uninject(changed(pod, { [INJECTED_ANNOTATION]: forged })));
  expect([left[0] === list, left[2]]).toEqual([true, '4001']);
});

test('a record with another kind of values is not valid', () => {
  const record = JSON.parse(injected().metadata?.annotations?.[INJECTED_ANNOTATION] ?? '') as object;
  const invalid = JSON.stringify({ ...record, excludedPorts: { [KUMA]: 1 } });
  expect(decide(changed(injected(), { [INJECTED_ANNOTATION]: invalid }), settings)).toMatchObject({
    action: 'refuse',
  });
});

describe('with the injector of a mesh', () => {
  test('that runs later, the mesh excludes the port, and the API server calls the injector again', () => {
    const first = decided(optedInPod());
    const withMesh = withIstio(first.pod);
    expect(withMesh.spec.initContainers?.at(-1)?.['args']).toContain('15090,15021,4001');
    const second = decided(withMesh);
    expect(second).toEqual({ pod: withMesh, warnings: first.warnings });
  });

  test('that ran earlier, there is a warning, because its init container does not have the port', () => {
    const { warnings } = decided(withIstio(optedInPod()));
    expect(warnings).toEqual([
      `istio-init was injected earlier and redirects ports of the sidecar to the mesh: add 4001 to the annotation ${ISTIO} of the pod template`,
    ]);
  });

  test('that ran earlier and whose annotation has the port, there is no warning', () => {
    expect(decided(withIstio(optedInPod({ annotations: { [ISTIO]: '4001' } }))).warnings).toEqual([]);
  });
});
