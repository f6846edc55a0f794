// Pods that run the small programs of e2e/programs in the image of the example agents. They meet the restricted Pod Security
// profile.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { manifestConfigMap, manifestOf } from './agent-workload.ts';
import type { KubeObject } from './kubectl.ts';

const PROGRAMS = join(import.meta.dirname, 'programs');
const MOUNT = { name: 'programs', mountPath: '/programs' };

/** Required in every namespace with such pods. */
export function programsConfigMap(): KubeObject {
  const data = Object.fromEntries(
    readdirSync(PROGRAMS).map((file) => [file, readFileSync(join(PROGRAMS, file), 'utf8')]),
  );
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'programs' }, data };
}

/** One container: a program with its arguments, or `-e` and a script. */
export function programContainer(name: string, image: string, args: readonly string[]): KubeObject {
  return {
    name,
    image,
    imagePullPolicy: 'IfNotPresent',
    args: args.map((arg, n) => (n === 0 && /\.(ts|py)$/.test(arg) ? `/programs/${arg}` : arg)),
    volumeMounts: [MOUNT],
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
  };
}

export interface PodTemplate {
  metadata: { labels: Record<string, string>; annotations: Record<string, string> };
  spec: KubeObject;
}

/** A pod with these containers; `spec` adds or replaces fields of the pod's spec. */
export function podTemplate(
  app: string,
  containers: readonly KubeObject[],
  options: { annotations?: Record<string, string>; spec?: KubeObject } = {},
): PodTemplate {
  return {
    metadata: { labels: { app }, annotations: options.annotations ?? {} },
    spec: {
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers,
      ...options.spec,
      volumes: [
        { name: 'programs', configMap: { name: 'programs' } },
        ...((options.spec?.['volumes'] as KubeObject[] | undefined) ?? []),
      ],
    },
  };
}

/** Long timeout, because a slow response on a busy machine is not a failed probe. */
const PATIENT = { periodSeconds: 1, timeoutSeconds: 20 };

/** The agent of programs/lingering-agent.ts on the named port 8000; all probes use the port name. */
export function lingeringAgent(image: string, more: KubeObject = {}): KubeObject {
  const probe = { httpGet: { path: '/health', port: 'http' }, ...PATIENT };
  return {
    ...programContainer('agent', image, ['lingering-agent.ts']),
    ports: [{ name: 'http', containerPort: 8000 }],
    startupProbe: { ...probe, failureThreshold: 180 },
    readinessProbe: probe,
    livenessProbe: { ...probe, failureThreshold: 2 },
    ...more,
  };
}

export const OPTED_IN = { 'platform.io/inject': 'true' };

/** An injected Deployment of such an agent, its manifest, and a Service by the port's name. */
export function lingeringDeployment(
  name: string,
  image: string,
  options: {
    replicas?: number;
    annotations?: Record<string, string>;
    spec?: KubeObject;
    container?: KubeObject;
  } = {},
): KubeObject[] {
  const template = podTemplate(name, [lingeringAgent(image, options.container)], {
    annotations: { ...OPTED_IN, ...options.annotations },
    ...(options.spec && { spec: options.spec }),
  });
  return [
    manifestConfigMap(name, manifestOf(name)),
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name },
      spec: {
        replicas: options.replicas ?? 1,
        strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
        selector: { matchLabels: { app: name } },
        template,
      },
    },
    serviceOf(name, name, 'http'),
  ];
}

export function serviceOf(name: string, app: string, targetPort: string | number): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { selector: { app }, ports: [{ port: 80, targetPort }] },
  };
}

export interface ServiceObject {
  spec: { clusterIP: string };
}

export interface ContainerEnd {
  name: string;
  state: { terminated?: { exitCode: number; reason: string; finishedAt: string } };
}

export interface PodObject {
  metadata: {
    name: string;
    labels: Record<string, string>;
    annotations: Record<string, string>;
    deletionTimestamp?: string;
  };
  spec: {
    initContainers: {
      name: string;
      restartPolicy?: string;
      resources: Record<string, Record<string, string>>;
    }[];
    containers: { name: string; resources: Record<string, Record<string, string>> }[];
  };
  status: {
    phase: string;
    podIP: string;
    initContainerStatuses?: (ContainerEnd & { restartCount: number; ready: boolean })[];
    containerStatuses?: (ContainerEnd & { restartCount: number; ready: boolean })[];
  };
}
