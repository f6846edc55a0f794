import { annotationDefaults } from '../../core/injection/annotations.ts';
import { buildSidecar, buildVolumes, type InjectionPlan } from '../../core/injection/build-sidecar.ts';
import { DEFAULT_EGRESS } from '../../core/injection/egress.ts';
import { CONTROL_PORT_NAME, NAME_LABEL } from '../../core/injection/names.ts';
import { CONTROL_PORT, PROXY_PORT } from '../../core/egress/ports.ts';
import type { Container, EnvVariable } from '../../core/injection/pod.ts';
import type { DeployPlan, ObjectNames } from './plan.ts';

/** Upper case is not valid in an image name, so no registry can serve this image. */
export const IMAGE_PLACEHOLDER = 'SET_AGENT_IMAGE';
export const VALUE_PLACEHOLDER = 'CHANGE_ME';

export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels: Record<string, string> };
  [field: string]: unknown;
}

export interface Deployment extends KubeObject {
  spec: {
    template: {
      spec: {
        initContainers: [sidecar: Container];
        containers: [agent: Container];
        [field: string]: unknown;
      };
      [field: string]: unknown;
    };
    [field: string]: unknown;
  };
}

/** Positions in a Deployment, for comments and for the values of the chart. */
export const POD = ['spec', 'template', 'spec'] as const;
export const AGENT = [...POD, 'containers', 0] as const;
export const SIDECAR = [...POD, 'initContainers', 0] as const;

/** Index of a variable in a container's `env`. */
export function variableIn({ name: container, env = [] }: Container, name: string): number {
  const index = env.findIndex((variable) => variable.name === name);
  if (index === -1) throw new Error(`the container ${container} has no variable ${name}`);
  return index;
}

/** Variables of the agent that are not secret, from a ConfigMap. */
const configOf = ({ agentName, model }: DeployPlan): Record<string, string> => ({
  AGENT_NAME: agentName,
  MODEL_PROVIDER: model.provider,
  MODEL_ID: model.id,
});

/** Without control plane, so that the sidecar needs nothing that only the webhook provides. */
const SIDECAR_SETTINGS = {
  imagePullPolicy: 'IfNotPresent',
  engine: 'builtin',
  heartbeatSeconds: 30,
  organisationOnUnknown: 'start',
  controlPlaneUrl: null,
  proofWrites: 'local',
  ca: null,
  llmAnalysis: null,
  otlpCollector: null,
} as const;

const WRITABLE = { name: 'tmp', mountPath: '/tmp' };

const selectorOf = ({ agentName }: DeployPlan): Record<string, string> => ({
  'app.kubernetes.io/name': agentName,
});

function objectOf(plan: DeployPlan, apiVersion: string, kind: string, name: string): KubeObject {
  return { apiVersion, kind, metadata: { name, labels: selectorOf(plan) } };
}

export function configMap(plan: DeployPlan, { config }: ObjectNames): KubeObject {
  return { ...objectOf(plan, 'v1', 'ConfigMap', config), data: configOf(plan) };
}

export function manifestConfigMap(plan: DeployPlan, { manifest }: ObjectNames): KubeObject {
  return { ...objectOf(plan, 'v1', 'ConfigMap', manifest), data: { 'agent.yaml': plan.manifestText } };
}

export function secret(plan: DeployPlan, names: ObjectNames): KubeObject {
  return {
    ...objectOf(plan, 'v1', 'Secret', names.secrets),
    type: 'Opaque',
    stringData: Object.fromEntries(plan.variables.map(({ name }) => [name, VALUE_PLACEHOLDER])),
  };
}

/** The port for clients is `http`, so that an Ingress goes through the sidecar. Numeric target ports, because Kubernetes finds named ports of native sidecars only since 1.33. */
export function service(plan: DeployPlan, names: ObjectNames): KubeObject {
  const ports = [
    ['agent', plan.port],
    ['http', PROXY_PORT],
    [CONTROL_PORT_NAME, CONTROL_PORT],
  ];
  return {
    ...objectOf(plan, 'v1', 'Service', names.workload),
    spec: {
      type: 'ClusterIP',
      selector: selectorOf(plan),
      ports: ports.map(([name, port]) => ({ name, port, targetPort: port, protocol: 'TCP' })),
    },
  };
}

export function deployment(plan: DeployPlan, names: ObjectNames): Deployment {
  const agent = agentContainer(plan, names);
  const injection = injectionPlan(plan, names);
  return {
    ...objectOf(plan, 'apps/v1', 'Deployment', names.workload),
    spec: {
      replicas: 1,
      selector: { matchLabels: selectorOf(plan) },
      template: {
        metadata: { labels: { ...selectorOf(plan), [NAME_LABEL]: plan.agentName } },
        spec: {
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 65532,
            runAsGroup: 65532,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          initContainers: [sidecarContainer(plan, names, { agent, injection })],
          containers: [agent],
          volumes: [
            { name: WRITABLE.name, emptyDir: { sizeLimit: '1Gi' } },
            ...buildVolumes(injection, SIDECAR_SETTINGS),
          ],
        },
      },
    },
  };
}

function injectionPlan(plan: DeployPlan, names: ObjectNames): InjectionPlan {
  return {
    ...annotationDefaults((_key, chart) => chart.default),
    agentName: plan.agentName,
    agentPort: plan.port,
    manifestConfigMap: names.manifest,
    image: plan.sidecarImage,
    otlp: false,
    egress: DEFAULT_EGRESS,
  };
}

/** The injector's sidecar. Its control port is open, because the Service exposes it. */
function sidecarContainer(
  { sendsHeartbeats }: DeployPlan,
  names: ObjectNames,
  { agent, injection }: { agent: Container; injection: InjectionPlan },
): Container {
  const sidecar = buildSidecar(injection, agent, [], SIDECAR_SETTINGS);
  const env = (sidecar.env ?? []).map((variable) =>
    variable.name === 'CONTROL_ACCESS' ? { ...variable, value: 'any' } : variable,
  );
  return { ...sidecar, env: sendsHeartbeats ? [...env, ...heartbeatVariables(names)] : env };
}

/** Optional, so that the pod starts before the agent is registered. */
function heartbeatVariables({ platform }: ObjectNames): EnvVariable[] {
  return ['PLATFORM_URL', 'PLATFORM_KEY'].map((name) => ({
    name,
    valueFrom: { secretKeyRef: { name: platform, key: name, optional: true } },
  }));
}

function agentContainer(plan: DeployPlan, names: ObjectNames): Container {
  const { port, healthPath, memoryMebibytes } = plan;
  const health = { httpGet: { path: healthPath, port } };
  return {
    name: 'agent',
    image: plan.agentImage ?? IMAGE_PLACEHOLDER,
    imagePullPolicy: 'IfNotPresent',
    ports: [{ name: 'http', containerPort: port, protocol: 'TCP' }],
    env: agentVariables(plan, names),
    resources: {
      requests: { cpu: '100m', memory: `${memoryMebibytes}Mi` },
      limits: { cpu: '1', memory: `${2 * memoryMebibytes}Mi` },
    },
    startupProbe: { ...health, periodSeconds: 2, timeoutSeconds: 2, failureThreshold: 60 },
    readinessProbe: { ...health, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 3 },
    livenessProbe: { tcpSocket: { port }, periodSeconds: 20, timeoutSeconds: 5, failureThreshold: 3 },
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
    },
    volumeMounts: [WRITABLE],
  };
}

/** A name that the manifest declares too is taken from the Secret. */
function agentVariables(plan: DeployPlan, names: ObjectNames): EnvVariable[] {
  const secrets = plan.variables.map(({ name }) => ({
    name,
    valueFrom: { secretKeyRef: { name: names.secrets, key: name } },
  }));
  const own = [
    ...Object.keys(configOf(plan)).map((name) => ({
      name,
      valueFrom: { configMapKeyRef: { name: names.config, key: name } },
    })),
    { name: 'HOME', value: WRITABLE.mountPath },
  ];
  const declared = new Set(secrets.map(({ name }) => name));
  return [...own.filter(({ name }) => !declared.has(name)), ...secrets];
}
