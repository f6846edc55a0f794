import { describe, expect, test } from '@jest/globals';
import { isDeepStrictEqual } from 'node:util';
import { applyPatch } from '../../testing/cluster/json-patch.ts';
import { anyPod } from '../../testing/cluster/any-pod.ts';
import { injectionSettings, optedInPod } from '../../testing/cluster/pods.ts';
import fc, { runs } from '../../testing/random/properties.ts';
import { decide } from './decide.ts';
import { inject, uninject } from './inject.ts';
import { OWN_CONTAINERS, VOLUMES } from './names.ts';
import { patchBetween } from './patch.ts';
import type { Container, Handler, Pod } from './pod.ts';
import type { InjectionSettings } from './settings.ts';

const OWN_VOLUMES: readonly string[] = Object.values(VOLUMES);
const resources = { cpuRequest: '10m', cpuLimit: '500m', memoryRequest: '96Mi', memoryLimit: '192Mi' };

const LLM_ANALYSIS = {
  key: { variable: 'OPENAI_API_KEY', secret: 'llm', entry: 'api-key' },
  variables: [
    { name: 'LLM_ANALYSIS_PROVIDER', value: 'openai-api' },
    { name: 'LLM_ANALYSIS_USD_PER_DAY', value: '0.5' },
  ],
};

/** Installations with different settings. */
const INSTALLATIONS: InjectionSettings[] = [
  injectionSettings(),
  injectionSettings({ engine: { image: 'opa:1', resources } }),
  injectionSettings({ controlPlaneUrl: null, ca: null, engine: 'none' }),
  injectionSettings({ proofWrites: 'control-plane' }),
  injectionSettings({ llmAnalysis: LLM_ANALYSIS }),
  injectionSettings({ otlpCollector: 'http://collector.observability:4318' }),
];

function injected(pod: Pod, settings = injectionSettings()): Pod {
  const decision = decide(pod, settings);
  if (decision.action !== 'inject') throw new Error(`not injected: ${JSON.stringify(decision)}`);
  return inject(pod, decision, settings);
}

/** The pod without empty lists and maps, which mean the same as absent ones. */
function withoutEmpties(pod: Pod): Pod {
  return JSON.parse(
    JSON.stringify(pod, (key, value: unknown) =>
      ['labels', 'annotations', 'initContainers', 'volumes', 'env'].includes(key) &&
      typeof value === 'object' &&
      value !== null &&
      Object.keys(value).length === 0
        ? undefined
        : value,
    ),
  ) as Pod;
}

/** The port that a Service with targetPort `name` reaches. Like EndpointSlices, containers come before native sidecars. */
function findPort(pod: Pod, name: string, protocol: string): number | undefined {
  const sidecars = (pod.spec.initContainers ?? []).filter(
    (container) => container.restartPolicy === 'Always',
  );
  return [...pod.spec.containers, ...sidecars]
    .flatMap((container) => container.ports ?? [])
    .find((port) => port.name === name && (port.protocol ?? 'TCP') === protocol)?.containerPort;
}

/** The ports to which the kubelet sends the probes and lifecycle calls of a container. */
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

/** Names of the containers and volumes that violate the restricted Pod Security profile, as far as injection affects it. */
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

/** An invariant of any pod in any of the installations. */
const invariant = (name: string, predicate: (pod: Pod, inject: (pod: Pod) => Pod) => void) =>
  test(name, () => {
    fc.assert(
      fc.property(anyPod, fc.constantFrom(...INSTALLATIONS), (pod, settings) =>
        predicate(pod, (plain) => injected(plain, settings)),
      ),
      { numRuns: runs(150) },
    );
  });

/** Same as toEqual, but cheap for equal values. */
function same(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected);
}

invariant('injecting twice equals injecting once', (pod, put) => {
  same(put(put(pod)), put(pod));
});

invariant('a pod injected by another installation becomes equal to a freshly injected pod', (pod, put) => {
  for (const older of INSTALLATIONS) {
    const old = injected(pod, { ...older, version: '0.0.1', configHash: 'old', image: 'old:1', ca: 'OLD' });
    same(withoutEmpties(put(old)), withoutEmpties(put(pod)));
  }
});

invariant('uninject restores the pod, except for empty lists and maps', (pod, put) => {
  same(withoutEmpties(uninject(put(pod))), withoutEmpties(pod));
});

invariant('the patch turns the pod into the injected pod', (pod, put) => {
  same(applyPatch(pod, patchBetween(pod, put(pod))), put(pod));
});

invariant('an already injected pod needs no patch', (pod, put) => {
  const once = put(pod);
  same(patchBetween(once, put(once)), []);
});

invariant('the input is not modified', (pod, put) => {
  const copy = structuredClone(pod);
  put(pod);
  same(pod, copy);
});

invariant('a pod that passes the restricted profile still passes it', (pod, put) => {
  same(breaksRestricted(put(pod)), breaksRestricted(pod));
});

invariant('existing containers and volumes keep their order', (pod, put) => {
  const after = put(pod);
  const names = (list: readonly { name: string }[] | undefined) => (list ?? []).map((item) => item.name);
  const own = names(after.spec.initContainers).filter((name) => OWN_CONTAINERS.includes(name));
  // The engine starts before the sidecar and ends after it.
  expect([['platform-sidecar'], ['platform-policy', 'platform-opa', 'platform-sidecar']]).toContainEqual(own);
  same(names(after.spec.containers), names(pod.spec.containers));
  same(names(after.spec.initContainers), [...own, ...names(pod.spec.initContainers)]);
  const before = names(pod.spec.volumes);
  same(names(after.spec.volumes).slice(0, before.length), before);
  expect(OWN_VOLUMES).toEqual(expect.arrayContaining(names(after.spec.volumes).slice(before.length)));
});

const ADDED = [
  { name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', value: 'http://127.0.0.1:4318/v1/traces' },
  { name: 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', value: 'http/protobuf' },
];

/** The variables that injection adds to the agent's container of a pod. */
const variablesFor = ({ metadata, spec }: Pod): typeof ADDED => {
  const isWanted = metadata?.annotations?.['platform.io/otlp'] === 'true';
  const own = spec.containers[0]?.env?.some(({ name }) => ADDED.some((added) => added.name === name));
  return isWanted && own !== true ? ADDED : [];
};

invariant("the agent's container gets the OTLP variables unless it sets one of them", (pod, put) => {
  const [agent] = put(pod).spec.containers;
  same(agent?.env ?? [], [...(pod.spec.containers[0]?.env ?? []), ...variablesFor(pod)]);
});

invariant("only the agent's port names, probes, hooks and OTLP variables change", (pod, put) => {
  const after = put(pod);
  const bare = ({
    livenessProbe,
    readinessProbe,
    startupProbe,
    lifecycle,
    ports,
    env: _env,
    ...rest
  }: Container) => ({
    ...rest,
    ports: ports?.map(({ name: _name, ...port }) => port),
    handlers: [livenessProbe, readinessProbe, startupProbe, lifecycle?.preStop, lifecycle?.postStart].map(
      (handler) => JSON.stringify(handler, (key, value: unknown) => (key === 'port' ? undefined : value)),
    ),
  });
  same(after.spec.containers.map(bare), pod.spec.containers.map(bare));
  same(after.spec.containers.slice(1), pod.spec.containers.slice(1));
  const { containers: _c, initContainers, volumes: _v, ...spec } = after.spec;
  const { containers: _d, initContainers: before = [], volumes: _w, ...plain } = pod.spec;
  same(spec, plain);
  same(initContainers?.slice(initContainers.length - before.length), before);
});

invariant(
  "a Service reaches the proxy by the agent port's names and all other ports unchanged",
  (pod, put) => {
    const after = put(pod);
    const decision = decide(pod, injectionSettings());
    if (decision.action !== 'inject') throw new Error('not injected');
    for (const container of pod.spec.containers) {
      for (const { name, containerPort, protocol = 'TCP' } of container.ports ?? []) {
        if (name === undefined) continue;
        const isAgents =
          container.name === decision.agent.name &&
          containerPort === decision.plan.agentPort &&
          protocol === 'TCP';
        same([name, findPort(after, name, protocol)], [name, isAgents ? 4000 : containerPort]);
      }
    }
  },
);

invariant('every probe and lifecycle call still reaches the same port', (pod, put) => {
  same(put(pod).spec.containers.map(handlerPorts), pod.spec.containers.map(handlerPorts));
});

invariant('only injected containers mount injected volumes, and they mount no API token', (pod, put) => {
  const own = OWN_VOLUMES;
  const mountsOf = (container: Container) =>
    (container.volumeMounts ?? []) as { name: string; mountPath: string }[];
  for (const container of [...put(pod).spec.containers, ...(put(pod).spec.initContainers ?? [])]) {
    const isInjected = OWN_CONTAINERS.includes(container.name);
    expect(mountsOf(container).some((mount) => own.includes(mount.name))).toBe(isInjected);
    const place = '/var/run/secrets/kubernetes.io/serviceaccount';
    if (isInjected)
      expect(mountsOf(container)).toContainEqual({ name: VOLUMES.noApi, mountPath: place, readOnly: true });
  }
});

test.each([
  ['control-plane', [{ name: 'PROOF_WRITES', value: 'control-plane' }]],
  ['local', []],
] as const)('sets PROOF_WRITES of the sidecar in an installation with proofs %s', (proofWrites, expected) => {
  const { initContainers = [] } = injected(optedInPod(), injectionSettings({ proofWrites })).spec;
  expect(initContainers[0]?.env?.filter(({ name }) => name === 'PROOF_WRITES')).toEqual(expected);
});

describe('the LLM analysis', () => {
  const envOf = (settings: InjectionSettings) =>
    injected(optedInPod(), settings).spec.initContainers?.[0]?.env ?? [];
  const added = (settings: InjectionSettings) => {
    const known = new Set(envOf(injectionSettings()).map(({ name }) => name));
    return envOf(settings).filter(({ name }) => !known.has(name));
  };

  test('of an installation has its key only as an optional reference to the Secret, and only in the sidecar', () => {
    const engine = { image: 'opa:1', resources };
    expect(added(injectionSettings({ llmAnalysis: LLM_ANALYSIS }))).toEqual([
      ...LLM_ANALYSIS.variables,
      {
        name: 'OPENAI_API_KEY',
        valueFrom: { secretKeyRef: { name: 'llm', key: 'api-key', optional: true } },
      },
    ]);
    const pod = injected(optedInPod(), injectionSettings({ engine, llmAnalysis: LLM_ANALYSIS }));
    const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
    const withKey = all.filter((container) => JSON.stringify(container).includes('OPENAI_API_KEY'));
    expect(withKey.map(({ name }) => name)).toEqual(['platform-sidecar']);
  });
});
