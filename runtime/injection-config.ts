import { createHash } from 'node:crypto';
import { ANNOTATIONS, type AnnotationRow } from '../core/injection/annotations.ts';
import { isDnsLabel } from '../core/injection/names.ts';
import { parseQuantity } from '../core/injection/quantity.ts';
import type { InjectionSettings } from '../core/injection/settings.ts';
import {
  integer,
  kubernetesName,
  oneOf,
  port,
  type EnvField,
  type Environment,
  type EnvProblem,
  type Summaries,
} from './env.ts';
import { VERSION } from './version.ts';

type ValueOf<F> = F extends EnvField<infer T> ? T : never;

/** What an annotation accepts, the chart's default for it must be too. */
const like = <T extends string>(row: AnnotationRow<T>, fallback: T): EnvField<T> => ({
  wanted: `${row.allowed} (default ${fallback})`,
  parse: (raw = fallback) => row.read(raw),
});

/** Required. */
export const image: EnvField<string> = {
  wanted: ANNOTATIONS.image.allowed,
  parse: (raw) => (raw === undefined ? { ok: false } : ANNOTATIONS.image.read(raw)),
};

export const optionalImage: EnvField<string | null> = {
  wanted: `${ANNOTATIONS.image.allowed}, or unset`,
  parse: (raw) => (raw === undefined ? { ok: true, value: null } : ANNOTATIONS.image.read(raw)),
};

/** Any number of image references. */
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

/** What an installation decides for every injected pod: the webhook injects by it, the operator's canary expects it. */
export const INJECTION_FIELDS = {
  CONTROL_PLANE_SERVICE: kubernetesName('agent-compliance-control-plane', isDnsLabel),
  CONTROL_PLANE_PORT: port(8080),
  SIDECAR_IMAGE: image,
  SIDECAR_IMAGE_PULL_POLICY: oneOf(['Always', 'IfNotPresent', 'Never'], 'IfNotPresent'),
  SIDECAR_ALLOWED_IMAGES: imageList,
  SIDECAR_CPU_REQUEST: like(ANNOTATIONS.cpuRequest, '25m'),
  SIDECAR_CPU_LIMIT: like(ANNOTATIONS.cpuLimit, '1'),
  SIDECAR_MEMORY_REQUEST: like(ANNOTATIONS.memoryRequest, '96Mi'),
  SIDECAR_MEMORY_LIMIT: like(ANNOTATIONS.memoryLimit, '192Mi'),
  SIDECAR_LOG_LEVEL: like(ANNOTATIONS.logLevel, 'info'),
  HEARTBEAT_SECONDS: integer({ min: 10, max: 3600, default: 30 }),
  PROOF_WRITES: oneOf(['local', 'control-plane'], 'local'),
  POLICY_ENGINE: oneOf(['builtin', 'opa', 'none'], 'builtin'),
  OPA_IMAGE: optionalImage,
  OPA_CPU_REQUEST: like(ANNOTATIONS.cpuRequest, '10m'),
  OPA_CPU_LIMIT: like(ANNOTATIONS.cpuLimit, '500m'),
  OPA_MEMORY_REQUEST: like(ANNOTATIONS.memoryRequest, '96Mi'),
  OPA_MEMORY_LIMIT: like(ANNOTATIONS.memoryLimit, '192Mi'),
  POLICY_MODE: like(ANNOTATIONS.mode, 'track'),
  POLICY_MINIMUM_MODE: like(ANNOTATIONS.mode, 'off'),
  POLICY_MINIMUM_COMPLIANT_GRADE: like(ANNOTATIONS.compliantGrade, 'F'),
  POLICY_MINIMUM_COMPLIANT_EVIDENCE: integer({ min: 0, max: 100, default: 0 }),
} as const;

export const INJECTION_SUMMARIES: Summaries<typeof INJECTION_FIELDS> = {
  CONTROL_PLANE_SERVICE: 'The Service of the control plane, to which sidecars send heartbeats.',
  CONTROL_PLANE_PORT: 'Its port.',
  SIDECAR_IMAGE: 'The sidecar that is injected. Required.',
  SIDECAR_IMAGE_PULL_POLICY: 'The pull policy of the sidecar.',
  SIDECAR_ALLOWED_IMAGES: 'What the annotation `platform.io/sidecar-image` may name besides.',
  SIDECAR_CPU_REQUEST: "The sidecar's CPU request; at most its limit.",
  SIDECAR_CPU_LIMIT: "The sidecar's CPU limit.",
  SIDECAR_MEMORY_REQUEST: "The sidecar's memory request; at most its limit.",
  SIDECAR_MEMORY_LIMIT: "The sidecar's memory limit; its JavaScript heap is half of it.",
  SIDECAR_LOG_LEVEL: 'How much the sidecar logs.',
  HEARTBEAT_SECONDS: "The sidecar's heartbeat interval.",
  PROOF_WRITES:
    'Where proofs of injected agents are written: local at their sidecars too, control-plane with the admin key alone.',
  POLICY_ENGINE:
    'What evaluates the rules of the manifests: injected sidecars themselves (builtin), an Open Policy Agent beside each (opa, which wants OPA_IMAGE), or nothing (none).',
  OPA_IMAGE: 'The image of Open Policy Agent, for POLICY_ENGINE opa.',
  OPA_CPU_REQUEST: "The engine's CPU request; at most its limit.",
  OPA_CPU_LIMIT: "The engine's CPU limit.",
  OPA_MEMORY_REQUEST: "The engine's memory request; at most its limit.",
  OPA_MEMORY_LIMIT: "The engine's memory limit; its Go runtime collects from four fifths of it.",
  POLICY_MODE: 'The mode of pods that say none.',
  POLICY_MINIMUM_MODE: "No pod's mode may be under this: off < track < enforce. POLICY_MODE neither.",
  POLICY_MINIMUM_COMPLIANT_GRADE:
    'The lowest grade that the annotation `platform.io/compliant-grade` may name. A stricter one than B also holds where there is no annotation.',
  POLICY_MINIMUM_COMPLIANT_EVIDENCE:
    'The least percentage that the annotation `platform.io/compliant-evidence` may name. One above 50 also holds where there is no annotation.',
};

export type InjectionConfig = {
  [K in keyof typeof INJECTION_FIELDS]: ValueOf<(typeof INJECTION_FIELDS)[K]>;
};

const MODES = ['off', 'track', 'enforce'] as const;

/** Values that are wrong only together. */
export function injectionProblems(env: Environment): EnvProblem[] {
  return [...wrongTogether(env), ...missingImage(env)];
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
  const parsed = INJECTION_FIELDS[name].parse(env[name] === '' ? undefined : env[name]);
  return parsed.ok ? parsed.value : null;
}

function sizeOf(value: string): number {
  const mode = MODES.findIndex((each) => each === value);
  return mode === -1 ? (parseQuantity(value) ?? 0) : mode;
}

/** The settings for sidecars of the release in `namespace`, all but the authorities, which change while a process runs. */
export function injectionSettings(config: InjectionConfig, namespace: string): Omit<InjectionSettings, 'ca'> {
  const settings = {
    image: config.SIDECAR_IMAGE,
    imagePullPolicy: config.SIDECAR_IMAGE_PULL_POLICY,
    allowedImages: config.SIDECAR_ALLOWED_IMAGES,
    resources: {
      cpuRequest: config.SIDECAR_CPU_REQUEST,
      cpuLimit: config.SIDECAR_CPU_LIMIT,
      memoryRequest: config.SIDECAR_MEMORY_REQUEST,
      memoryLimit: config.SIDECAR_MEMORY_LIMIT,
    },
    logLevel: config.SIDECAR_LOG_LEVEL,
    engine: engineOf(config),
    mode: config.POLICY_MODE,
    minimumMode: config.POLICY_MINIMUM_MODE,
    minimumCompliantGrade: config.POLICY_MINIMUM_COMPLIANT_GRADE,
    minimumCompliantEvidence: config.POLICY_MINIMUM_COMPLIANT_EVIDENCE,
    heartbeatSeconds: config.HEARTBEAT_SECONDS,
    controlPlaneUrl: `https://${config.CONTROL_PLANE_SERVICE}.${namespace}.svc:${config.CONTROL_PLANE_PORT}`,
    proofWrites: config.PROOF_WRITES,
    version: VERSION,
  };
  const configHash = createHash('sha256').update(JSON.stringify(settings)).digest('hex').slice(0, 12);
  return { ...settings, configHash };
}

function engineOf(config: InjectionConfig): InjectionSettings['engine'] {
  if (config.POLICY_ENGINE !== 'opa') return config.POLICY_ENGINE;
  if (config.OPA_IMAGE === null)
    throw new Error('the configuration lets no engine through without its image');
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
