import { ANNOTATIONS, type AnnotationRow } from '../core/injection/annotations.ts';
import { isDnsLabel, isDnsSubdomain } from '../core/injection/names.ts';
import { parseQuantity } from '../core/injection/quantity.ts';
import {
  integer,
  LOG_FIELDS,
  LOG_SUMMARIES,
  oneOf,
  optionalText,
  port,
  readEnv,
  type ConfigResult,
  type EnvField,
  type EnvFields,
  type Environment,
  type EnvProblem,
  type Summaries,
} from '../runtime/env.ts';

type ValueOf<F> = F extends EnvField<infer T> ? T : never;

const name = (fallback: string, accepts: (raw: string) => boolean): EnvField<string> => ({
  wanted: `the name of a Kubernetes object (default ${fallback})`,
  parse: (raw = fallback) => (accepts(raw) ? { ok: true, value: raw } : { ok: false }),
});

/** What an annotation accepts, the chart's default for it must be too. */
const like = <T extends string>(row: AnnotationRow<T>, fallback: T): EnvField<T> => ({
  wanted: `${row.allowed} (default ${fallback})`,
  parse: (raw = fallback) => row.read(raw),
});

const image: EnvField<string> = {
  wanted: ANNOTATIONS.image.allowed,
  parse: (raw) => (raw === undefined ? { ok: false } : ANNOTATIONS.image.read(raw)),
};

const optionalImage: EnvField<string | null> = {
  wanted: `${ANNOTATIONS.image.allowed}, or unset`,
  parse: (raw) => (raw === undefined ? { ok: true, value: null } : ANNOTATIONS.image.read(raw)),
};

const images: EnvField<string[]> = {
  wanted: 'image references separated by commas, or unset',
  parse: (raw = '') => {
    const list = raw
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '');
    return list.every((item) => ANNOTATIONS.image.read(item).ok) ? { ok: true, value: list } : { ok: false };
  },
};

/** Every variable of the webhook; the reference page is generated from this table. */
export const WEBHOOK_FIELDS = {
  ...LOG_FIELDS,
  PORT: port(9443),
  POD_NAMESPACE: name('platform-system', isDnsLabel),
  WEBHOOK_SERVICE: name('agent-compliance-webhook', isDnsLabel),
  WEBHOOK_CONFIGURATION: name('agent-compliance', isDnsSubdomain),
  TLS_SECRET: name('agent-compliance-webhook-tls', isDnsSubdomain),
  CONTROL_PLANE_SERVICE: name('agent-compliance-control-plane', isDnsLabel),
  CONTROL_PLANE_PORT: port(8080),
  CONTROL_PLANE_TLS_SECRET: name('agent-compliance-control-plane-tls', isDnsSubdomain),
  SIDECAR_IMAGE: image,
  SIDECAR_IMAGE_PULL_POLICY: oneOf(['Always', 'IfNotPresent', 'Never'], 'IfNotPresent'),
  SIDECAR_ALLOWED_IMAGES: images,
  SIDECAR_CPU_REQUEST: like(ANNOTATIONS.cpuRequest, '25m'),
  SIDECAR_CPU_LIMIT: like(ANNOTATIONS.cpuLimit, '1'),
  SIDECAR_MEMORY_REQUEST: like(ANNOTATIONS.memoryRequest, '96Mi'),
  SIDECAR_MEMORY_LIMIT: like(ANNOTATIONS.memoryLimit, '192Mi'),
  SIDECAR_LOG_LEVEL: like(ANNOTATIONS.logLevel, 'info'),
  HEARTBEAT_SECONDS: integer({ min: 10, max: 3600, default: 30 }),
  POLICY_ENGINE: oneOf(['builtin', 'opa', 'none'], 'builtin'),
  OPA_IMAGE: optionalImage,
  OPA_CPU_REQUEST: like(ANNOTATIONS.cpuRequest, '10m'),
  OPA_CPU_LIMIT: like(ANNOTATIONS.cpuLimit, '500m'),
  OPA_MEMORY_REQUEST: like(ANNOTATIONS.memoryRequest, '96Mi'),
  OPA_MEMORY_LIMIT: like(ANNOTATIONS.memoryLimit, '192Mi'),
  POLICY_MODE: like(ANNOTATIONS.mode, 'track'),
  POLICY_MINIMUM_MODE: like(ANNOTATIONS.mode, 'off'),
  KUBECONFIG: optionalText,
} as const;

export const WEBHOOK_SUMMARIES: Summaries<typeof WEBHOOK_FIELDS> = {
  ...LOG_SUMMARIES,
  PORT: 'The HTTPS port that the API server calls.',
  POD_NAMESPACE: 'The namespace of the release.',
  WEBHOOK_SERVICE: 'The Service in front of this process; its names are in the certificate.',
  WEBHOOK_CONFIGURATION: 'The MutatingWebhookConfiguration whose `caBundle` this process keeps.',
  TLS_SECRET: "The Secret with the authority and this process's certificate.",
  CONTROL_PLANE_SERVICE: 'The Service of the control plane, to which sidecars send heartbeats.',
  CONTROL_PLANE_PORT: 'Its port.',
  CONTROL_PLANE_TLS_SECRET: "The Secret into which this process writes the control plane's certificate.",
  SIDECAR_IMAGE: 'The sidecar that is injected. Required.',
  SIDECAR_IMAGE_PULL_POLICY: 'The pull policy of the sidecar.',
  SIDECAR_ALLOWED_IMAGES: 'What the annotation `platform.io/sidecar-image` may name besides.',
  SIDECAR_CPU_REQUEST: "The sidecar's CPU request; at most its limit.",
  SIDECAR_CPU_LIMIT: "The sidecar's CPU limit.",
  SIDECAR_MEMORY_REQUEST: "The sidecar's memory request; at most its limit.",
  SIDECAR_MEMORY_LIMIT: "The sidecar's memory limit; its JavaScript heap is half of it.",
  SIDECAR_LOG_LEVEL: 'How much the sidecar logs.',
  HEARTBEAT_SECONDS: "The sidecar's heartbeat interval.",
  POLICY_ENGINE:
    'What evaluates the rules of the manifests: injected sidecars themselves (builtin), an Open Policy Agent beside each (opa, which wants OPA_IMAGE), or nothing (none).',
  OPA_IMAGE: 'The image of Open Policy Agent, for POLICY_ENGINE opa.',
  OPA_CPU_REQUEST: "The engine's CPU request; at most its limit.",
  OPA_CPU_LIMIT: "The engine's CPU limit.",
  OPA_MEMORY_REQUEST: "The engine's memory request; at most its limit.",
  OPA_MEMORY_LIMIT: "The engine's memory limit; its Go runtime collects from four fifths of it.",
  POLICY_MODE: 'The mode of pods that say none.',
  POLICY_MINIMUM_MODE: "No pod's mode may be under this: off < track < enforce. POLICY_MODE neither.",
  KUBECONFIG: "The kubeconfig file of the cluster. Unset: the pod's own ServiceAccount.",
};

export type WebhookConfig = { [K in keyof typeof WEBHOOK_FIELDS]: ValueOf<(typeof WEBHOOK_FIELDS)[K]> };

const MODES = ['off', 'track', 'enforce'] as const;

/** The webhook's environment; wrong values, and values that are wrong together, are all reported at once. */
export function readConfig(env: Environment): ConfigResult<WebhookConfig> {
  const result = readEnv(env, WEBHOOK_FIELDS as EnvFields<WebhookConfig>);
  const problems = [...(result.ok ? [] : result.problems), ...wrongTogether(env), ...missingImage(env)];
  return !result.ok || problems.length > 0 ? { ok: false, problems } : result;
}

/** Each may be fine alone; a pair of which one is wrong by itself is not held against each other. */
const ORDERED = [
  ['SIDECAR_CPU_REQUEST', 'at most', 'SIDECAR_CPU_LIMIT'],
  ['SIDECAR_MEMORY_REQUEST', 'at most', 'SIDECAR_MEMORY_LIMIT'],
  ['OPA_CPU_REQUEST', 'at most', 'OPA_CPU_LIMIT'],
  ['OPA_MEMORY_REQUEST', 'at most', 'OPA_MEMORY_LIMIT'],
  ['POLICY_MODE', 'at least', 'POLICY_MINIMUM_MODE'],
] as const;

/** No image of somebody else's is the default: an installation says which one it trusts. */
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

/** null: wrong by itself. */
function valueOf(env: Environment, name: (typeof ORDERED)[number][0 | 2]): string | null {
  const parsed = WEBHOOK_FIELDS[name].parse(env[name] === '' ? undefined : env[name]);
  return parsed.ok ? parsed.value : null;
}

function sizeOf(value: string): number {
  const mode = MODES.findIndex((each) => each === value);
  return mode === -1 ? (parseQuantity(value) ?? 0) : mode;
}
