import type { Grade } from '../gap/gap.ts';
import { POLICY_MODES, type PolicyMode } from '../heartbeat/heartbeat.ts';
import { isDnsLabel, isDnsSubdomain } from './names.ts';
import { parseQuantity } from './quantity.ts';
import { shown } from './shown.ts';
import type { LogLevel } from './settings.ts';

/** One pod annotation: all that the reader, the rejection and the reference page say about it. */
export interface AnnotationRow<T> {
  name: string;
  summary: string;
  /** What holds when it is absent, in words. */
  default: string;
  /** Reads as the end of "is not …". */
  allowed: string;
  read(raw: string): { ok: true; value: T } | { ok: false };
}

const refused = { ok: false } as const;

function oneOf<const V extends string>(values: readonly V[]): Pick<AnnotationRow<V>, 'allowed' | 'read'> {
  return {
    allowed: `one of ${values.map((value) => `"${value}"`).join(', ')}`,
    read: (raw) => {
      const value = values.find((candidate) => candidate === raw);
      return value === undefined ? refused : { ok: true, value };
    },
  };
}

function matching(
  allowed: string,
  accepts: (raw: string) => boolean,
): Pick<AnnotationRow<string>, 'allowed' | 'read'> {
  return { allowed, read: (raw) => (accepts(raw) ? { ok: true, value: raw } : refused) };
}

const MEBIBYTE = 2 ** 20;
const GRADES: readonly Grade[] = ['A', 'B', 'C', 'D', 'F'];
const LOG_LEVELS: readonly LogLevel[] = ['error', 'warn', 'info', 'debug'];

const cpu = matching('a CPU quantity from 1m to 64, such as 250m', (raw) => {
  const value = parseQuantity(raw);
  return value !== null && value >= 0.001 && value <= 64;
});

// Tried: with 64Mi the sidecar is killed under load (50 clients, answers of 200 KB), with 96Mi it is not.
const memory = matching('a memory quantity from 96Mi to 16Gi, such as 192Mi', (raw) => {
  const value = parseQuantity(raw);
  return value !== null && value >= 96 * MEBIBYTE && value <= 16_384 * MEBIBYTE;
});

const row = <T>(name: string, rest: Omit<AnnotationRow<T>, 'name'>): AnnotationRow<T> => ({
  name: `platform.io/${name}`,
  ...rest,
});

/** The one table of pod annotations. */
export const ANNOTATIONS = {
  inject: row<'true' | 'false'>('inject', {
    summary: '`"true"` puts the sidecar into the pod.',
    default: '`"false"`',
    ...oneOf(['true', 'false']),
  }),
  agentName: row<string>('agent-name', {
    summary: 'The name of the agent and of its AgentObservation.',
    default: "the owning workload's name; a pod without owner and with generateName must say it",
    ...matching('a DNS label of 1 to 63 characters (a-z, 0-9, "-")', isDnsLabel),
  }),
  manifestConfigMap: row<string>('manifest-configmap', {
    summary: 'The ConfigMap with the manifest, in its key `agent.yaml`.',
    default: '`<agent name>-manifest`',
    ...matching('the name of a ConfigMap', isDnsSubdomain),
  }),
  agentContainer: row<string>('agent-container', {
    summary: 'The container that is the agent.',
    default: 'the first container',
    ...matching('the name of a container', isDnsLabel),
  }),
  agentPort: row<number>('agent-port', {
    summary: 'The TCP port on which the agent listens.',
    default: "the agent container's first TCP port, else 8000",
    allowed: 'an integer from 1 to 65535',
    read: (raw) =>
      /^[1-9]\d{0,4}$/.test(raw) && Number(raw) <= 65_535 ? { ok: true, value: Number(raw) } : refused,
  }),
  mode: row<PolicyMode>('policy-proxy-mode', {
    summary: 'What the proxy does with a denial: record it, answer 403, or not ask at all.',
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
    summary: 'Another sidecar image, out of those in the chart value `sidecar.allowedImages`.',
    default: "the chart's sidecar image",
    ...matching('an image reference', (raw) => /^[\w.:/@-]{1,512}$/.test(raw)),
  }),
  logLevel: row<LogLevel>('sidecar-log-level', {
    summary: 'How much the sidecar logs.',
    default: 'the chart value `sidecar.logLevel`',
    ...oneOf(LOG_LEVELS),
  }),
  compliantGrade: row<Grade>('compliant-grade', {
    summary:
      'The lowest grade that counts as compliant, in the condition `Compliant`; of several pods the strictest counts. Not below the chart value `policy.minimumCompliantGrade`.',
    default: '`"B"`, or that chart value where it is stricter',
    ...oneOf(GRADES),
  }),
  compliantEvidence: row<number>('compliant-evidence', {
    summary:
      'The least evidence that counts as compliant, in percent of the declared items, in the condition `Compliant`; of several pods the highest counts. Not below the chart value `policy.minimumCompliantEvidence`. `"0"` asks for none.',
    default: '`"50"`, or that chart value where it is higher',
    allowed: 'an integer from 0 to 100',
    read: (raw) => (/^(0|[1-9]\d?|100)$/.test(raw) ? { ok: true, value: Number(raw) } : refused),
  }),
} as const;

type Rows = typeof ANNOTATIONS;
type ValueOf<R> = R extends AnnotationRow<infer T> ? T : never;

/** What a pod's annotations say; a member that is absent was not said. */
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

/** Reads every annotation of the table, and reports all wrong ones at once. */
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

/** One rejection sentence. */
export function describeAnnotationProblem({ name, value, allowed }: AnnotationProblem): string {
  return `annotation ${name}: ${shown(value)} is not ${allowed}`;
}
