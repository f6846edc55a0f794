import { createHash } from 'node:crypto';
import { MODES_BY_STRICTNESS } from '../core/shapes/values.ts';
import { annotationDefaults, ANNOTATIONS, type DefaultVariables } from '../core/injection/annotations.ts';
import { isDnsLabel, isDnsSubdomain } from '../core/injection/names.ts';
import { parseQuantity } from '../core/injection/quantity.ts';
import type { InjectionSettings, LlmAnalysisSettings } from '../core/injection/settings.ts';
import { ANALYSIS_PROVIDER_NAMES, ANALYSIS_PROVIDERS } from '../core/injection/analysis-settings.ts';
import {
  integer,
  kubernetesName,
  oneOf,
  optionalName,
  parseHttpUrl,
  port,
  withDefault,
  type ConfigOf,
  type EnvField,
  type Environment,
  type EnvProblem,
  type Summaries,
} from './env.ts';
import { DEFAULT_FIELDS, DEFAULT_SUMMARIES, like } from './annotation-fields.ts';
import { LLM_LIMIT_FIELDS, LLM_LIMIT_SUMMARIES } from './llm-analysis-fields.ts';
import { VERSION } from './version.ts';

/** Required image reference. */
export const image: EnvField<string> = {
  wanted: ANNOTATIONS.image.allowed,
  parse: (raw) => (raw === undefined ? { ok: false } : ANNOTATIONS.image.read(raw)),
};

export const optionalImage: EnvField<string | null> = {
  wanted: `${ANNOTATIONS.image.allowed}, or unset`,
  parse: (raw) => (raw === undefined ? { ok: true, value: null } : ANNOTATIONS.image.read(raw)),
};

/** Comma-separated image references; may be empty. */
export const imageList: EnvField<string[]> = {
  wanted: 'image references separated by commas, or unset',
  parse: (raw = '') => {
    const list = raw
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '');
    return list.every((item) => ANNOTATIONS.image.read(item).ok) ? { ok: true, value: list } : { ok: false };
  },
};

/** The sidecar appends the path of each signal. */
function isCollectorUrl(raw: string): boolean {
  const url = parseHttpUrl(raw);
  return url?.search === '' && url.hash === '';
}

/** Installation-wide settings of all injected pods. The webhook injects by them, and the operator's canary expects them. */
export const INJECTION_FIELDS = {
  CONTROL_PLANE_SERVICE: kubernetesName('agent-compliance-control-plane', isDnsLabel),
  CONTROL_PLANE_PORT: port(8080),
  SIDECAR_IMAGE: image,
  SIDECAR_IMAGE_PULL_POLICY: oneOf(['Always', 'IfNotPresent', 'Never'], 'IfNotPresent'),
  SIDECAR_ALLOWED_IMAGES: imageList,
  ...DEFAULT_FIELDS,
  HEARTBEAT_SECONDS: integer({ min: 10, max: 3600, default: 30 }),
  ORGANISATION_ON_UNKNOWN: oneOf(['start', 'wait'], 'start'),
  PROOF_WRITES: oneOf(['local', 'control-plane'], 'local'),
  LLM_ANALYSIS_SECRET: optionalName('the name of a Secret', isDnsSubdomain),
  LLM_ANALYSIS_SECRET_KEY: withDefault('the key of an entry of a Secret', 'api-key', (raw) =>
    /^[-._a-zA-Z0-9]{1,253}$/.test(raw) ? raw : undefined,
  ),
  LLM_ANALYSIS_PROVIDER: oneOf(ANALYSIS_PROVIDER_NAMES, 'anthropic-api'),
  LLM_ANALYSIS_MODEL: optionalName('the name of a model', (raw) => /^[A-Za-z0-9@._:/-]{1,200}$/.test(raw)),
  // As text, because the guard compares it with the chart value.
  LLM_ANALYSIS_BASE_URL: optionalName(
    'a URL with the http: or https: protocol, without credentials',
    (raw) => parseHttpUrl(raw) !== undefined,
  ),
  ...LLM_LIMIT_FIELDS,
  // As text, like LLM_ANALYSIS_BASE_URL.
  SIDECAR_OTLP_COLLECTOR: optionalName(
    'a URL with the http: or https: protocol, without credentials, query and fragment',
    isCollectorUrl,
  ),
  POLICY_ENGINE: oneOf(['builtin', 'opa', 'none'], 'builtin'),
  OPA_IMAGE: optionalImage,
  OPA_CPU_REQUEST: like(ANNOTATIONS.cpuRequest, '10m'),
  OPA_CPU_LIMIT: like(ANNOTATIONS.cpuLimit, '500m'),
  OPA_MEMORY_REQUEST: like(ANNOTATIONS.memoryRequest, '96Mi'),
  OPA_MEMORY_LIMIT: like(ANNOTATIONS.memoryLimit, '192Mi'),
  POLICY_MINIMUM_MODE: like(ANNOTATIONS.mode, 'off'),
  POLICY_MINIMUM_COMPLIANT_GRADE: like(ANNOTATIONS.compliantGrade, 'F'),
  POLICY_MINIMUM_COMPLIANT_EVIDENCE: integer({ min: 0, max: 100, default: 0 }),
} as const;

export const INJECTION_SUMMARIES: Summaries<typeof INJECTION_FIELDS> = {
  CONTROL_PLANE_SERVICE: 'Name of the control plane Service that receives the heartbeats of the sidecars.',
  CONTROL_PLANE_PORT: 'Port of the control plane Service.',
  SIDECAR_IMAGE: 'Image of the injected sidecar. Required.',
  SIDECAR_IMAGE_PULL_POLICY: 'Image pull policy of the sidecar.',
  SIDECAR_ALLOWED_IMAGES: 'Additional images that the annotation `platform.io/sidecar-image` may name.',
  ...DEFAULT_SUMMARIES,
  HEARTBEAT_SECONDS: "The sidecar's heartbeat interval in seconds.",
  ORGANISATION_ON_UNKNOWN:
    'What an injected sidecar does at its start if the control plane has not compared the manifest with the rules of the organisation within five seconds: start or wait.',
  PROOF_WRITES:
    'Where proofs of injected agents can be written. `local`: at the sidecar or at the control plane. `control-plane`: only at the control plane, with the admin key.',
  LLM_ANALYSIS_SECRET:
    'Secret with the API key for the LLM analysis of the sidecars, in the namespace of each pod. Unset: no analysis.',
  LLM_ANALYSIS_SECRET_KEY: 'Entry of LLM_ANALYSIS_SECRET that contains the API key.',
  LLM_ANALYSIS_PROVIDER: 'The provider of the LLM analysis.',
  LLM_ANALYSIS_MODEL: 'The model of the LLM analysis. Unset: the default of the provider.',
  LLM_ANALYSIS_BASE_URL: "Base URL of the provider's API. Unset: its public API.",
  ...LLM_LIMIT_SUMMARIES,
  SIDECAR_OTLP_COLLECTOR:
    'Base URL of the collector to which the sidecars of pods with `platform.io/otlp` forward OTLP. Unset: not forwarded.',
  POLICY_ENGINE:
    'Policy engine that evaluates the rules of the manifests. `builtin`: inside the sidecar. `opa`: an Open Policy Agent container in each pod, requires OPA_IMAGE. `none`: no evaluation.',
  OPA_IMAGE: 'Image of Open Policy Agent. Required if POLICY_ENGINE is `opa`.',
  OPA_CPU_REQUEST: "The engine's CPU request. Must not exceed the CPU limit.",
  OPA_CPU_LIMIT: "The engine's CPU limit.",
  OPA_MEMORY_REQUEST: "The engine's memory request. Must not exceed the memory limit.",
  OPA_MEMORY_LIMIT:
    "The engine's memory limit. The soft memory limit of its Go runtime is four fifths of the limit.",
  POLICY_MINIMUM_MODE: 'Lowest mode that POLICY_MODE or an annotation may set: off < track < enforce.',
  POLICY_MINIMUM_COMPLIANT_GRADE:
    'Lowest grade that the annotation `platform.io/compliant-grade` may set. A minimum stricter than B also applies to pods without the annotation.',
  POLICY_MINIMUM_COMPLIANT_EVIDENCE:
    'Lowest percentage that the annotation `platform.io/compliant-evidence` may set. A minimum above 50 also applies to pods without the annotation.',
};

export type InjectionConfig = ConfigOf<typeof INJECTION_FIELDS>;

/** Problems of values that are valid alone but not together. */
export function injectionProblems(env: Environment): EnvProblem[] {
  return [...wrongTogether(env), ...missingImage(env)];
}

/** Pairs of values that must be in order. A pair with a value that is invalid by itself is not compared. */
const ORDERED = [
  ['SIDECAR_CPU_REQUEST', 'at most', 'SIDECAR_CPU_LIMIT'],
  ['SIDECAR_MEMORY_REQUEST', 'at most', 'SIDECAR_MEMORY_LIMIT'],
  ['OPA_CPU_REQUEST', 'at most', 'OPA_CPU_LIMIT'],
  ['OPA_MEMORY_REQUEST', 'at most', 'OPA_MEMORY_LIMIT'],
  ['POLICY_MODE', 'at least', 'POLICY_MINIMUM_MODE'],
] as const;

/** There is no default for a third-party image: the installation must name the image that it trusts. */
function missingImage(env: Environment): EnvProblem[] {
  const isMissing = env['POLICY_ENGINE'] === 'opa' && (env['OPA_IMAGE'] ?? '') === '';
  return isMissing
    ? [{ name: 'OPA_IMAGE', value: '(unset)', wanted: 'an image reference, since POLICY_ENGINE is opa' }]
    : [];
}

function wrongTogether(env: Environment): EnvProblem[] {
  return ORDERED.flatMap(([name, order, other]) => {
    const [value, bound] = [valueOf(env, name), valueOf(env, other)];
    if (value === null || bound === null) return [];
    const difference = sizeOf(value) - sizeOf(bound);
    const isWrong = order === 'at most' ? difference > 0 : difference < 0;
    return isWrong ? [{ name, value, wanted: `${order} ${other}, which is ${bound}` }] : [];
  });
}

/** null: the value is invalid by itself. */
function valueOf(env: Environment, name: (typeof ORDERED)[number][0 | 2]): string | null {
  const parsed = INJECTION_FIELDS[name].parse(env[name] === '' ? undefined : env[name]);
  return parsed.ok ? parsed.value : null;
}

/** Without a limit, no request is too large. */
function sizeOf(value: string): number {
  const mode = MODES_BY_STRICTNESS.findIndex((each) => each === value);
  return mode === -1 ? (parseQuantity(value) ?? Infinity) : mode;
}

/** The injection settings of the release in `namespace`, without the CA bundle, which changes while a process runs. */
export function injectionSettings(config: InjectionConfig, namespace: string): Omit<InjectionSettings, 'ca'> {
  return withConfigHash({
    ...annotationDefaults((_key, { variable }) => config[variable as keyof DefaultVariables]),
    image: config.SIDECAR_IMAGE,
    imagePullPolicy: config.SIDECAR_IMAGE_PULL_POLICY,
    allowedImages: config.SIDECAR_ALLOWED_IMAGES,
    engine: engineOf(config),
    minimumMode: config.POLICY_MINIMUM_MODE,
    minimumCompliantGrade: config.POLICY_MINIMUM_COMPLIANT_GRADE,
    minimumCompliantEvidence: config.POLICY_MINIMUM_COMPLIANT_EVIDENCE,
    heartbeatSeconds: config.HEARTBEAT_SECONDS,
    organisationOnUnknown: config.ORGANISATION_ON_UNKNOWN,
    controlPlaneUrl: `https://${config.CONTROL_PLANE_SERVICE}.${namespace}.svc:${config.CONTROL_PLANE_PORT}`,
    proofWrites: config.PROOF_WRITES,
    llmAnalysis: llmAnalysisOf(config),
    otlpCollector: config.SIDECAR_OTLP_COLLECTOR,
    version: VERSION,
  });
}

/** Adds the hash of the settings, by which pods with other settings are found. */
export function withConfigHash<T extends object>(settings: T): T & { configHash: string } {
  const configHash = createHash('sha256').update(JSON.stringify(settings)).digest('hex').slice(0, 12);
  return { ...settings, configHash };
}

function llmAnalysisOf(config: InjectionConfig): LlmAnalysisSettings | null {
  const {
    LLM_ANALYSIS_SECRET: secret,
    LLM_ANALYSIS_SECRET_KEY: entry,
    LLM_ANALYSIS_PROVIDER: provider,
  } = config;
  if (secret === null) return null;
  const { key: variable, baseUrl } = ANALYSIS_PROVIDERS[provider];
  const limits = Object.keys(LLM_LIMIT_FIELDS) as (keyof typeof LLM_LIMIT_FIELDS)[];
  const values = {
    LLM_ANALYSIS_PROVIDER: provider,
    PLATFORM_LLM_MODEL: config.LLM_ANALYSIS_MODEL,
    [baseUrl]: config.LLM_ANALYSIS_BASE_URL,
    ...Object.fromEntries(limits.map((limit) => [limit, String(config[limit])])),
  };
  const variables = Object.entries(values).flatMap(([name, value]) =>
    value === null ? [] : [{ name, value }],
  );
  return { key: { variable, secret, entry }, variables };
}

function engineOf(config: InjectionConfig): InjectionSettings['engine'] {
  if (config.POLICY_ENGINE !== 'opa') return config.POLICY_ENGINE;
  if (config.OPA_IMAGE === null) throw new Error('POLICY_ENGINE is opa, but OPA_IMAGE is not set');
  return {
    image: config.OPA_IMAGE,
    resources: {
      cpuRequest: config.OPA_CPU_REQUEST,
      cpuLimit: config.OPA_CPU_LIMIT,
      memoryRequest: config.OPA_MEMORY_REQUEST,
      memoryLimit: config.OPA_MEMORY_LIMIT,
    },
  };
}
