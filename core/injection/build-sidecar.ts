import { NO_LIMIT } from './annotation-kinds.ts';
import { DEFAULTED, type AnnotationDefaults } from './annotations.ts';
import { EGRESS_CA_FILE, egressCaOf, egressVariables, type EgressPlan } from './egress.ts';
import {
  AUDIT_PATH,
  CA_ANNOTATION,
  CONTROL_PORT_NAME,
  ENGINE_PATH,
  ENGINE_PORT,
  ENGINE_SOCKET,
  IDENTITY_PATH,
  SIDECAR_CONTAINER,
  STATE_PATH,
  STOP_ANNOTATION,
  TOKEN_AUDIENCE,
  VOLUMES,
} from './names.ts';
import { CONTROL_PORT, OTLP_PORT } from '../egress/ports.ts';
import type { Container, ContainerPort, EnvVariable, Handler, PortTarget, Volume } from './pod.ts';
import { parseQuantity } from './quantity.ts';
import { proxyPorts } from './routing.ts';
import type { InjectionSettings, SidecarResources } from './settings.ts';

/** The resolved values for one pod's injection, from the pod's annotations and the installation's settings. */
export interface InjectionPlan extends AnnotationDefaults {
  agentName: string;
  agentPort: number;
  manifestConfigMap: string;
  image: string;
  /** Whether the sidecar receives OTLP. */
  otlp: boolean;
  egress: EgressPlan;
  /** The sidecar's variables of annotations without a chart default; absent: none. */
  passed?: readonly EnvVariable[];
}

/** The settings of an installation that the sidecar's container and volumes depend on. */
type SidecarSettings = Pick<
  InjectionSettings,
  | 'imagePullPolicy'
  | 'engine'
  | 'heartbeatSeconds'
  | 'organisationOnUnknown'
  | 'controlPlaneUrl'
  | 'proofWrites'
  | 'ca'
  | 'llmAnalysis'
  | 'otlpCollector'
>;

/** The default command of the sidecar image; callers append their own arguments. */
export const NODE_IMAGE_ARGS: readonly string[] = ['dist/sidecar/main.js'];

/** Fields of every injected container. */
export const COMMON_FIELDS = {
  // The restricted Pod Security profile at container level, which overrides the pod's own settings.
  securityContext: {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    privileged: false,
    readOnlyRootFilesystem: true,
    runAsGroup: 65532,
    runAsNonRoot: true,
    runAsUser: 65532,
    seccompProfile: { type: 'RuntimeDefault' },
  },
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'FallbackToLogsOnError',
} satisfies Partial<Container>;

export const manifestMount = { name: VOLUMES.manifest, mountPath: '/manifest', readOnly: true };
// The ServiceAccount admission plugin mounts the agent's API token into every container without a mount at this path.
export const noApiMount = {
  name: VOLUMES.noApi,
  mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
  readOnly: true,
};

// A Unix socket accepts connections on a read-only mount.
const engineMount = { name: VOLUMES.engine, mountPath: ENGINE_PATH, readOnly: true };
const identityMount = { name: VOLUMES.identity, mountPath: IDENTITY_PATH, readOnly: true };
// An emptyDir is writable for every user, and it is kept when the container restarts.
const stateMount = { name: VOLUMES.state, mountPath: STATE_PATH };
const auditMount = { name: VOLUMES.audit, mountPath: AUDIT_PATH };

// These objects are shared between all pods; callers do not modify the result of an injection.
// The initial delay prevents a failed probe, and with it a warning event, at the start of every pod.
const readyz = { path: '/readyz', port: CONTROL_PORT, scheme: 'HTTP' };
const startupProbe = probeOf(readyz, { initialDelaySeconds: 1, periodSeconds: 1, failureThreshold: 120 });
const readinessProbe = probeOf(readyz, { periodSeconds: 5, failureThreshold: 3 });
// Runs when pod termination starts. SIGTERM arrives only after the agent has ended, too late to redirect clients.
const lifecycle = { preStop: { httpGet: { path: '/drain', port: CONTROL_PORT, scheme: 'HTTP' } } };
const controlPort: ContainerPort = {
  name: CONTROL_PORT_NAME,
  containerPort: CONTROL_PORT,
  protocol: 'TCP',
};
const noApiVolume: Volume = { name: VOLUMES.noApi, emptyDir: { sizeLimit: '1Mi' } };
const stateVolume: Volume = { name: VOLUMES.state, emptyDir: { sizeLimit: '1Mi' } };
// More than five files of 64 MB, the defaults of the sidecar.
const auditVolume: Volume = { name: VOLUMES.audit, emptyDir: { sizeLimit: '352Mi' } };
/** Whether the sidecar writes its audit log to a file. */
const hasLogFile = ({ passed = [] }: InjectionPlan): boolean =>
  passed.some(({ name, value }) => name === 'AUDIT_LOG' && value === 'file');

/** The sidecar's variables that have the value of an annotation, or of its chart default. The guard checks `pattern`. */
export const DEFAULTED_VARIABLES = DEFAULTED.flatMap(([key, { chart, pattern }]) =>
  chart.sidecarVariable === undefined ? [] : [{ key, name: chart.sidecarVariable, pattern }],
);

export function resourcesOf(resources: SidecarResources): NonNullable<Container['resources']> {
  return {
    requests: { cpu: resources.cpuRequest, memory: resources.memoryRequest },
    limits: {
      ...(resources.cpuLimit !== NO_LIMIT && { cpu: resources.cpuLimit }),
      memory: resources.memoryLimit,
    },
  };
}

/**
 * The sidecar as a native sidecar container for an agent with this container, which does not have the variables of lanes yet. Every field that the API server would default is set explicitly, so that a
 * reinvocation of the webhook finds nothing to change.
 */
export function buildSidecar(
  plan: InjectionPlan,
  agent: Container,
  portNames: readonly string[],
  settings: SidecarSettings,
): Container {
  return {
    name: SIDECAR_CONTAINER,
    image: plan.image,
    imagePullPolicy: settings.imagePullPolicy,
    restartPolicy: 'Always',
    ports: [...proxyPorts(portNames), controlPort],
    env: environment(plan, agent, settings),
    resources: resourcesOf(plan),
    startupProbe,
    readinessProbe,
    lifecycle,
    ...COMMON_FIELDS,
    volumeMounts: [
      manifestMount,
      identityMount,
      ...(settings.controlPlaneUrl === null ? [] : [stateMount]),
      ...(hasLogFile(plan) ? [auditMount] : []),
      ...(typeof settings.engine === 'string' ? [] : [engineMount]),
      noApiMount,
    ],
  };
}

/**
 * The sidecar's volumes: the manifest, the sidecar's token with the CAs and the annotation that stops the agent, the kept state,
 * and an empty directory that hides the API token.
 */
export function buildVolumes(plan: InjectionPlan, settings: SidecarSettings): Volume[] {
  return [
    { name: VOLUMES.manifest, configMap: { name: plan.manifestConfigMap, defaultMode: 0o644 } },
    identityVolume(plan, settings),
    ...(settings.controlPlaneUrl === null ? [] : [stateVolume]),
    ...(hasLogFile(plan) ? [auditVolume] : []),
    noApiVolume,
  ];
}

/** The token is valid only for the control plane (its audience), not for the API server. */
function identityVolume({ egress }: InjectionPlan, { controlPlaneUrl, ca }: SidecarSettings): Volume {
  const egressCa = egressCaOf(egress);
  const token = { serviceAccountToken: { audience: TOKEN_AUDIENCE, expirationSeconds: 3600, path: 'token' } };
  const hasCa = controlPlaneUrl !== null && ca !== null;
  const items = [
    ...(hasCa ? [annotationFile('ca.crt', CA_ANNOTATION)] : []),
    // The file exists without the annotation too, and changes with it.
    annotationFile('stop', STOP_ANNOTATION),
  ];
  return {
    name: VOLUMES.identity,
    projected: {
      defaultMode: 0o644,
      sources: [
        ...(controlPlaneUrl === null ? [] : [token]),
        { downwardAPI: { items } },
        ...(egressCa === null
          ? []
          : [{ configMap: { name: egressCa, items: [{ key: 'ca.crt', path: EGRESS_CA_FILE }] } }]),
      ],
    },
  };
}

const annotationFile = (path: string, annotation: string): object => ({
  path,
  fieldRef: { apiVersion: 'v1', fieldPath: `metadata.annotations['${annotation}']` },
});

function environment(plan: InjectionPlan, agent: Container, settings: SidecarSettings): EnvVariable[] {
  return [
    // `localhost` covers both loopback addresses: some servers that listen on `::` accept only IPv6.
    { name: 'UPSTREAM_URL', value: `http://localhost:${plan.agentPort}` },
    { name: 'MANIFEST_PATH', value: '/manifest/agent.yaml' },
    ...engineEnvironment(settings),
    { name: 'CONTROL_ACCESS', value: 'local' },
    { name: 'AGENT_ENV_NAMES', value: agentEnvNames(agent) },
    { name: 'AGENT_NAME', value: plan.agentName },
    ...controlPlaneEnvironment(settings),
    { name: 'STOP_ANNOTATION_FILE', value: `${IDENTITY_PATH}/stop` },
    ...llmEnvironment(settings),
    ...(plan.otlp ? otlpEnvironment(settings) : []),
    ...egressVariables(agent, plan.egress),
    { name: 'HEARTBEAT_SECONDS', value: String(settings.heartbeatSeconds) },
    ...(settings.organisationOnUnknown === 'wait'
      ? [{ name: 'ORGANISATION_ON_UNKNOWN', value: 'wait' }]
      : []),
    ...DEFAULTED_VARIABLES.map(({ key, name }) => ({ name, value: String(plan[key]) })),
    ...(plan.passed ?? []),
    ...(hasLogFile(plan) ? [{ name: 'AUDIT_LOG_PATH', value: `${AUDIT_PATH}/audit.log` }] : []),
    { name: 'LOG_FORMAT', value: 'json' },
    { name: 'NODE_OPTIONS', value: nodeOptions(plan.memoryLimit) },
  ];
}

function engineEnvironment({ engine }: SidecarSettings): EnvVariable[] {
  if (engine === 'none') return [];
  if (engine === 'builtin') return [{ name: 'POLICY_ENGINE', value: 'builtin' }];
  return [
    { name: 'POLICY_ENGINE', value: 'opa' },
    { name: 'POLICY_URL', value: `http://127.0.0.1:${ENGINE_PORT}` },
    { name: 'POLICY_SOCKET', value: ENGINE_SOCKET },
  ];
}

function controlPlaneEnvironment({ controlPlaneUrl, ca, proofWrites }: SidecarSettings): EnvVariable[] {
  if (controlPlaneUrl === null) return [];
  return [
    { name: 'PLATFORM_URL', value: controlPlaneUrl },
    { name: 'PLATFORM_TOKEN_FILE', value: `${IDENTITY_PATH}/token` },
    ...(ca === null ? [] : [{ name: 'PLATFORM_CA_FILE', value: `${IDENTITY_PATH}/ca.crt` }]),
    ...(proofWrites === 'local' ? [] : [{ name: 'PROOF_WRITES', value: 'control-plane' }]),
    { name: 'DIRECTIVES_STORE_PATH', value: `${STATE_PATH}/directives.json` },
  ];
}

function llmEnvironment({ llmAnalysis }: SidecarSettings): EnvVariable[] {
  if (llmAnalysis === null) return [];
  const { key, variables } = llmAnalysis;
  // Optional: in a namespace without the Secret, agents start, and their sidecars report that the analysis is off.
  const secretKeyRef = { name: key.secret, key: key.entry, optional: true };
  return [...variables, { name: key.variable, valueFrom: { secretKeyRef } }];
}

function otlpEnvironment({ otlpCollector }: SidecarSettings): EnvVariable[] {
  return [
    { name: 'OTLP_PORT', value: String(OTLP_PORT) },
    ...(otlpCollector === null ? [] : [{ name: 'OTLP_FORWARD_URL', value: otlpCollector }]),
  ];
}

/**
 * The names of the agent container's variables, joined by commas. `*` stands for the variables of `envFrom`, whose names
 * are not known here. A single comma is the empty list, because an empty variable counts as unset. Names that a manifest
 * cannot refer to are omitted.
 */
function agentEnvNames(agent: Container): string {
  const names = (agent.env ?? []).map((variable) => variable.name);
  const usable = [...new Set(names)].filter((name) => /^[A-Za-z_][\w.-]*$/.test(name));
  const list = [...usable, ...((agent.envFrom ?? []).length > 0 ? ['*'] : [])];
  return list.length > 0 ? list.join(',') : ',';
}

/**
 * With a small old generation, V8 also shrinks the young generation. The garbage of a proxy is young, so this costs two
 * to five times the CPU per request (measured). Therefore the size of the young generation is set too, in MiB (decision 0102).
 */
export function nodeOptions(memoryLimit: string): string {
  return `--max-old-space-size=${heapMebibytes(memoryLimit)} --max-semi-space-size=4`;
}

/** Size of the old generation: half of the memory limit. The other half is for Node's code, the young generation and buffers. */
export function heapMebibytes(memoryLimit: string): number {
  return Math.floor((parseQuantity(memoryLimit) ?? 0) / 2 ** 20 / 2);
}

export function probeOf(
  httpGet: PortTarget,
  timing: { initialDelaySeconds?: number; periodSeconds: number; failureThreshold: number },
): Handler {
  return { httpGet, timeoutSeconds: 2, successThreshold: 1, ...timing };
}
