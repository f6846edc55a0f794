import { namedLanes } from '../egress/lane-annotation.ts';
import { ANALYSIS_PROVIDERS, ANALYSIS_VARIABLES } from './analysis-settings.ts';
import { annotationDefaults, PASSED } from './annotations.ts';
import { buildEngine, buildEngineVolumes } from './build-engine.ts';
import { buildSidecar, buildVolumes, DEFAULTED_VARIABLES, type InjectionPlan } from './build-sidecar.ts';
import { DEFAULT_EGRESS, EGRESS_PATTERNS } from './egress.ts';
import { VOLUMES } from './names.ts';
import type { Container, Volume } from './pod.ts';
import type { InjectionSettings } from './settings.ts';

/** The containers and volumes that one version of the injector adds to a pod. */
export interface Injection {
  containers: readonly Container[];
  volumes: readonly Volume[];
}

/** The values that the guard accepts in one injected container. */
export interface GuardedContainer {
  /** Every field that the container may have. */
  fields: string[];
  /** Allowed values by field; null: the field may be absent. */
  fixed: Record<string, unknown[]>;
  /** Literal environment variables and the RE2 pattern of each; the chart fills in placeholders in braces. */
  env: Record<string, string>;
  /** Variables of `env` that at least one supported version, installation or kind of pod does not set. */
  optionalEnv: string[];
  mounts: unknown[];
  /** Mounts that all supported versions have. */
  requiredMounts: unknown[];
  ports: number[];
}

export interface GuardTable {
  containers: Record<string, GuardedContainer>;
  /** Allowed volumes by name; the name of the manifest's ConfigMap is not compared. */
  volumes: Record<string, unknown[]>;
  llm: {
    /** The variable of the key by provider. The guard accepts it only as a reference to the Secret that the chart names. */
    keys: Record<string, string>;
    /** The variables that a sidecar has only with the LLM analysis. */
    variables: string[];
  };
}

/**
 * The RE2 pattern of each variable that the injector sets. Placeholders in braces: `controlPlane` is the URL of the chart's control
 * plane, the others come from the chart's values.
 */
const PATTERNS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(DEFAULTED_VARIABLES.map(({ name, pattern }) => [name, pattern])),
  ...Object.fromEntries(PASSED.map(({ variable, row }) => [variable, row.pattern])),
  UPSTREAM_URL: '^http://(localhost|127[.]0[.]0[.]1):[1-9][0-9]{0,4}$',
  MANIFEST_PATH: '^/manifest/agent[.]yaml$',
  POLICY_ENGINE: '^{engine}$',
  POLICY_URL: '^http://127[.]0[.]0[.]1:8181$',
  POLICY_SOCKET: '^/run/platform-engine/opa[.]sock$',
  POLICY_PROXY_MODE: '^({modes})$',
  CONTROL_ACCESS: '^local$',
  AGENT_ENV_NAMES: '^(,|[*]|[A-Za-z_][A-Za-z0-9_.,*-]*)$',
  AGENT_NAME: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$',
  PLATFORM_URL: '^{controlPlane}$',
  PLATFORM_TOKEN_FILE: '^/var/run/secrets/platform[.]io/token$',
  PLATFORM_CA_FILE: '^/var/run/secrets/platform[.]io/ca[.]crt$',
  PROOF_WRITES: '^control-plane$',
  DIRECTIVES_STORE_PATH: '^/run/platform-state/directives[.]json$',
  AUDIT_LOG_PATH: '^/var/log/agent-compliance/audit[.]log$',
  STOP_ANNOTATION_FILE: '^/var/run/secrets/platform[.]io/stop$',
  ...ANALYSIS_VARIABLES,
  OTLP_PORT: '^4318$',
  OTLP_FORWARD_URL: '^{otlpCollector}$',
  ...EGRESS_PATTERNS,
  HEARTBEAT_SECONDS: '^([1-9][0-9]{1,2}|[12][0-9]{3}|3[0-5][0-9]{2}|3600)$',
  ORGANISATION_ON_UNKNOWN: '^wait$',
  LOG_FORMAT: '^json$',
  // 8 MiB: pods of injectors before 0.2.0.
  NODE_OPTIONS: '^--max-old-space-size=[1-9][0-9]{1,5} --max-semi-space-size=[48]$',
  GOMEMLIMIT: '^[1-9][0-9]{1,5}MiB$',
};

const LLM_VARIABLES = Object.keys(ANALYSIS_VARIABLES);
/** Variables that only some installations, or some pods, have. */
const OPTIONAL: readonly string[] = [
  ...LLM_VARIABLES,
  'OTLP_PORT',
  'OTLP_FORWARD_URL',
  ...Object.keys(EGRESS_PATTERNS),
  ...PASSED.map(({ variable }) => variable),
  'AUDIT_LOG_PATH',
];

/** Fields whose values differ between pods; the guard has a separate rule for each of them. */
const VARIABLE_FIELDS: readonly string[] = [
  'name',
  'image',
  'imagePullPolicy',
  'ports',
  'env',
  'resources',
  'volumeMounts',
];
/** Fields that an API server with in-place resizing sets; they do not affect what runs. */
const HARMLESS_FIELDS: readonly string[] = ['resizePolicy'];

/** The table of what the guard accepts: the additions of this injector and of the `previous` versions. */
export function guardTable(previous: readonly Injection[]): GuardTable {
  const versions = [currentInjection(), ...previous];
  const names = unique(versions.flatMap(({ containers }) => containers.map(({ name }) => name)));
  const containersOf = (name: string): Container[] =>
    versions.flatMap(({ containers }) => containers.filter((each) => each.name === name));
  const volumes = versions.flatMap((version) => version.volumes).map(withoutManifestName);
  return {
    containers: Object.fromEntries(names.map((name) => [name, guardedContainer(containersOf(name))])),
    volumes: Object.fromEntries(
      Object.values(VOLUMES).map((name) => [name, unique(volumes.filter((each) => each.name === name))]),
    ),
    llm: {
      keys: Object.fromEntries(Object.entries(ANALYSIS_PROVIDERS).map(([name, { key }]) => [name, key])),
      variables: LLM_VARIABLES,
    },
  };
}

/** The additions of this version, with all features enabled. */
function currentInjection(): Injection {
  const defaults = annotationDefaults((_key, chart) => chart.default);
  const settings: InjectionSettings = {
    ...defaults,
    image: 'sidecar:1',
    imagePullPolicy: 'IfNotPresent',
    allowedImages: [],
    engine: { image: 'opa:1', resources: defaults },
    minimumMode: 'off',
    minimumCompliantGrade: 'F',
    minimumCompliantEvidence: 0,
    heartbeatSeconds: 30,
    organisationOnUnknown: 'wait',
    proofWrites: 'control-plane',
    llmAnalysis: {
      key: { variable: 'ANTHROPIC_API_KEY', secret: 'llm', entry: 'api-key' },
      variables: LLM_VARIABLES.map((name) => ({ name, value: '' })),
    },
    otlpCollector: 'https://collector.example',
    controlPlaneUrl: 'https://control-plane.example',
    ca: 'certificates',
    version: '0',
    configHash: '0',
  };
  const plan: InjectionPlan = {
    agentName: 'agent',
    agentPort: 8000,
    manifestConfigMap: 'agent-manifest',
    image: settings.image,
    otlp: true,
    // The variables of `azure` are missing, so the sidecar also lists what is not rewritten.
    egress: {
      lanes: namedLanes('openai,azure'),
      mode: 'track',
      failMode: 'open',
      // The chart fills in the name from the annotation of the pod.
      caConfigMap: '',
      connect: 'log',
      census: true,
    },
    ...defaults,
    // The values of the variables are not compared, and `file` also adds a volume.
    passed: PASSED.map(({ variable: name }) => ({ name, value: 'file' })),
  };
  const sidecar = buildSidecar(plan, { name: 'agent' }, [], settings);
  return {
    containers: [...buildEngine(plan, settings), sidecar],
    volumes: [
      ...buildVolumes({ ...plan, egress: DEFAULT_EGRESS }, settings),
      ...buildVolumes(plan, settings),
      ...buildEngineVolumes(settings),
    ],
  };
}

function guardedContainer(versions: readonly Container[]): GuardedContainer {
  const keys = unique(versions.flatMap((container) => Object.keys(container)));
  const fixed = keys.filter((key) => !VARIABLE_FIELDS.includes(key));
  // Literal values only.
  const envOf = ({ env = [] }: Container): string[] =>
    env.flatMap(({ name, valueFrom }) => (valueFrom === undefined ? [name] : []));
  const env = unique(versions.flatMap(envOf));
  const mounts = unique(versions.flatMap(({ volumeMounts = [] }) => volumeMounts));
  const isInAll = (mount: unknown): boolean =>
    versions.every(({ volumeMounts = [] }) => volumeMounts.some((each) => same(each, mount)));
  return {
    fields: [...keys, ...HARMLESS_FIELDS],
    fixed: Object.fromEntries(
      fixed.map((key) => [key, unique(versions.map((container) => container[key] ?? null))]),
    ),
    env: Object.fromEntries(env.map((name) => [name, patternOf(name)])),
    optionalEnv: env.filter(
      (name) => OPTIONAL.includes(name) || !versions.every((container) => envOf(container).includes(name)),
    ),
    mounts,
    requiredMounts: mounts.filter(isInAll),
    ports: unique(versions.flatMap(({ ports = [] }) => ports.map(({ containerPort }) => containerPort))),
  };
}

function patternOf(name: string): string {
  const pattern = PATTERNS[name];
  if (pattern === undefined) throw new Error(`PATTERNS has no row for ${name}, which the injector sets`);
  return pattern;
}

function withoutManifestName(volume: Volume): Volume {
  const { configMap } = volume as Volume & { configMap?: Record<string, unknown> };
  return configMap === undefined ? volume : { ...volume, configMap: { ...configMap, name: '' } };
}

const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

function unique<T>(values: readonly T[]): T[] {
  return values.filter((value, index) => values.findIndex((each) => same(each, value)) === index);
}
