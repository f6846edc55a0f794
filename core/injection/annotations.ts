import { POLICY_MODES, type PolicyMode } from '../policy/engine.ts';
import { GRADES, type Grade } from '../gap/gap.ts';
import { isDnsLabel, isDnsSubdomain } from './names.ts';
import { parseQuantity } from './quantity.ts';
import { quoted } from '../untrusted/quoted.ts';
import type { LogLevel } from './settings.ts';

/** One pod annotation: the source for the parser, the rejection message and the reference page. */
export interface AnnotationRow<T> {
  name: string;
  summary: string;
  /** Description of the value that applies when the annotation is absent. */
  default: string;
  /** Description of the allowed values; completes the sentence "is not …". */
  allowed: string;
  read(raw: string): { ok: true; value: T } | { ok: false };
}

const invalid = { ok: false } as const;

function oneOf<const V extends string>(values: readonly V[]): Pick<AnnotationRow<V>, 'allowed' | 'read'> {
  return {
    allowed: `one of ${values.map((value) => `"${value}"`).join(', ')}`,
    read: (raw) => {
      const value = values.find((candidate) => candidate === raw);
      return value === undefined ? invalid : { ok: true, value };
    },
  };
}

function matching(
  allowed: string,
  accepts: (raw: string) => boolean,
): Pick<AnnotationRow<string>, 'allowed' | 'read'> {
  return { allowed, read: (raw) => (accepts(raw) ? { ok: true, value: raw } : invalid) };
}

const MEBIBYTE = 2 ** 20;
const LOG_LEVELS: readonly LogLevel[] = ['error', 'warn', 'info', 'debug'];

const cpu = matching('a CPU quantity from 1m to 64, such as 250m', (raw) => {
  const value = parseQuantity(raw);
  return value !== null && value >= 0.001 && value <= 64;
});

// Measured with 50 clients and 200 KB responses: with a limit of 64Mi the sidecar is killed, with 96Mi it is not.
const memory = matching('a memory quantity from 96Mi to 16Gi, such as 192Mi', (raw) => {
  const value = parseQuantity(raw);
  return value !== null && value >= 96 * MEBIBYTE && value <= 16_384 * MEBIBYTE;
});

const row = <T>(name: string, rest: Omit<AnnotationRow<T>, 'name'>): AnnotationRow<T> => ({
  name: `platform.io/${name}`,
  ...rest,
});

/** The table of all pod annotations. */
export const ANNOTATIONS = {
  inject: row<'true' | 'false'>('inject', {
    summary: '`"true"` injects the sidecar into the pod.',
    default: '`"false"`',
    ...oneOf(['true', 'false']),
  }),
  agentName: row<string>('agent-name', {
    summary: 'The name of the agent and of its AgentObservation.',
    default: "the owning workload's name; required for a pod with generateName and without an owner",
    ...matching('a DNS label of 1 to 63 characters (a-z, 0-9, "-")', isDnsLabel),
  }),
  manifestConfigMap: row<string>('manifest-configmap', {
    summary: 'The ConfigMap that contains the manifest in its key `agent.yaml`.',
    default: '`<agent name>-manifest`',
    ...matching('the name of a ConfigMap', isDnsSubdomain),
  }),
  agentContainer: row<string>('agent-container', {
    summary: 'The container that runs the agent.',
    default: 'the first container',
    ...matching('the name of a container', isDnsLabel),
  }),
  agentPort: row<number>('agent-port', {
    summary: 'The TCP port on which the agent listens.',
    default: "the agent container's first TCP port, else 8000",
    allowed: 'an integer from 1 to 65535',
    read: (raw) =>
      /^[1-9]\d{0,4}$/.test(raw) && Number(raw) <= 65_535 ? { ok: true, value: Number(raw) } : invalid,
  }),
  mode: row<PolicyMode>('policy-proxy-mode', {
    summary:
      'How the proxy handles policy denials: `track` records them, `enforce` responds with 403, `off` does not query the policy engine.',
    default: 'the chart value `policy.mode`',
    ...oneOf(POLICY_MODES),
  }),
  cpuRequest: row<string>('sidecar-cpu-request', {
    summary: "The sidecar's CPU request.",
    default: 'the chart value `sidecar.resources.requests.cpu`',
    ...cpu,
  }),
  cpuLimit: row<string>('sidecar-cpu-limit', {
    summary: "The sidecar's CPU limit.",
    default: 'the chart value `sidecar.resources.limits.cpu`',
    ...cpu,
  }),
  memoryRequest: row<string>('sidecar-memory-request', {
    summary: "The sidecar's memory request.",
    default: 'the chart value `sidecar.resources.requests.memory`',
    ...memory,
  }),
  memoryLimit: row<string>('sidecar-memory-limit', {
    summary: "The sidecar's memory limit; its JavaScript heap is half of it.",
    default: 'the chart value `sidecar.resources.limits.memory`',
    ...memory,
  }),
  image: row<string>('sidecar-image', {
    summary: 'A different sidecar image. Must be listed in the chart value `sidecar.allowedImages`.',
    default: "the chart's sidecar image",
    ...matching('an image reference', (raw) => /^[\w.:/@-]{1,512}$/.test(raw)),
  }),
  logLevel: row<LogLevel>('sidecar-log-level', {
    summary: 'The log level of the sidecar.',
    default: 'the chart value `sidecar.logLevel`',
    ...oneOf(LOG_LEVELS),
  }),
  compliantGrade: row<Grade>('compliant-grade', {
    summary:
      'The lowest grade for which the condition `Compliant` is true. With several pods, the strictest value applies. Must not be below the chart value `policy.minimumCompliantGrade`.',
    default: '`"B"`, or the chart value if it is stricter',
    ...oneOf(GRADES),
  }),
  compliantEvidence: row<number>('compliant-evidence', {
    summary:
      'The minimum evidence for which the condition `Compliant` is true, in percent of the declared items. With several pods, the highest value applies. Must not be below the chart value `policy.minimumCompliantEvidence`. `"0"` requires no evidence.',
    default: '`"50"`, or the chart value if it is higher',
    allowed: 'an integer from 0 to 100',
    read: (raw) => (/^(0|[1-9]\d?|100)$/.test(raw) ? { ok: true, value: Number(raw) } : invalid),
  }),
} as const;

type Rows = typeof ANNOTATIONS;
type ValueOf<R> = R extends AnnotationRow<infer T> ? T : never;

/** The values of a pod's annotations; a missing member means that the annotation is not set. */
export type AnnotationValues = { -readonly [K in keyof Rows]?: ValueOf<Rows[K]> };

export interface AnnotationProblem {
  name: string;
  value: string;
  allowed: string;
}

export type ReadAnnotations =
  | { ok: true; values: AnnotationValues }
  | { ok: false; problems: AnnotationProblem[] };

const TABLE = Object.entries(ANNOTATIONS);

/** Parses every annotation of the table and reports all invalid annotations at once. */
export function readAnnotations(annotations: Readonly<Record<string, string>>): ReadAnnotations {
  const values: Record<string, unknown> = {};
  const problems: AnnotationProblem[] = [];
  for (const [key, annotation] of TABLE) {
    const raw = annotations[annotation.name];
    if (raw === undefined) continue;
    const result = annotation.read(raw);
    if (result.ok) values[key] = result.value;
    else problems.push({ name: annotation.name, value: raw, allowed: annotation.allowed });
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, values: values };
}

/** The rejection message for one invalid annotation. */
export function describeAnnotationProblem({ name, value, allowed }: AnnotationProblem): string {
  return `annotation ${name}: ${quoted(value)} is not ${allowed}`;
}
