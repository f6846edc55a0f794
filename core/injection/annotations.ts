import { FAIL_MODE_PATTERN } from '../egress/fail-modes.ts';
import { LANES_ANNOTATION } from '../egress/lane-annotation.ts';
import { VENDOR_LANES } from '../egress/lane-variables.ts';
import { GRADES, POLICY_MODES } from '../shapes/values.ts';
import { quoted } from '../untrusted/quoted.ts';
import {
  boolean,
  integer,
  matching,
  networks,
  NO_LIMIT,
  oneOf,
  optionalLimit,
  quantity,
  type AnnotationKind,
} from './annotation-kinds.ts';
import { CONNECT_MODES } from './egress.ts';
import { CA_ANNOTATION, INJECTED_ANNOTATION, RETRY_ANNOTATION, STOP_ANNOTATION } from './names.ts';
import { DNS_LABEL, DNS_SUBDOMAIN } from '../shapes/common.ts';

/**
 * One pod annotation. The parser, the rejection message, the guard and the reference page are made from it. An annotation with
 * `chart` also defines the chart's value, the variable of the injector, the option of `platform inject` and the sidecar's variable.
 */
export type AnnotationRow<T> = AnnotationKind<T> & {
  name: `platform.io/${string}`;
  /** Sentences; of the first one, the option of `platform inject` shows what follows "The". */
  summary: string;
} & (
    | {
        /** Description of the value that applies when the annotation is absent. */
        default: string;
        chart?: never;
        /** The sidecar's variable with the value; the injector sets it if the pod has the annotation. */
        sidecarVariable?: string;
      }
    | { default?: never; chart: ChartDefault<T>; sidecarVariable?: never }
  );

/** The chart value that applies when the annotation is absent. */
export interface ChartDefault<T> {
  /** Path of the chart value. scripts/generate-chart-values.ts writes a value of `sidecar` or `policy` into values.yaml. */
  path: string;
  default: T;
  /** The variable of the injector and of the operator. */
  variable: string;
  /** The sidecar's variable, for a value that only the sidecar reads: a member of its configuration. */
  sidecarVariable?: string;
}

const cpu = quantity('a CPU quantity', { minimum: '1m', maximum: '64', example: '250m' });
// Measured with 50 clients and 200 KB responses: with a limit of 64Mi the sidecar is killed, with 96Mi it is not.
const memory = quantity('a memory quantity', { minimum: '96Mi', maximum: '16Gi', example: '192Mi' });

/** The table of all pod annotations. */
export const ANNOTATIONS = {
  inject: {
    name: 'platform.io/inject',
    summary: '`"true"` injects the sidecar into the pod.',
    default: '`"false"`',
    ...boolean(),
  },
  agentName: {
    name: 'platform.io/agent-name',
    summary: 'The name of the agent and of its AgentObservation.',
    default: "the owning workload's name; required for a pod with generateName and without an owner",
    ...matching('a DNS label of 1 to 63 characters (a-z, 0-9, "-")', DNS_LABEL),
  },
  manifestConfigMap: {
    name: 'platform.io/manifest-configmap',
    summary: 'The ConfigMap that contains the manifest in its key `agent.yaml`.',
    default: '`<agent name>-manifest`',
    ...matching('the name of a ConfigMap', DNS_SUBDOMAIN, 253),
  },
  manifestSha256: {
    name: 'platform.io/manifest-sha256',
    summary:
      'The SHA-256 of the only manifest that the sidecar uses, as printed by `sha256sum agent.yaml`. With another manifest the agent does not start, and a running sidecar keeps its manifest.',
    default: 'every valid manifest is used',
    sidecarVariable: 'MANIFEST_SHA256',
    ...matching('64 hexadecimal digits in lower case', /^[0-9a-f]{64}$/),
  },
  agentContainer: {
    name: 'platform.io/agent-container',
    summary: 'The container that runs the agent.',
    default: 'the first container',
    ...matching('the name of a container', DNS_LABEL),
  },
  agentPort: {
    name: 'platform.io/agent-port',
    summary: 'The TCP port on which the agent listens.',
    default: "the agent container's first TCP port, else 8000",
    ...integer(1, 65_535),
  },
  mode: {
    name: 'platform.io/policy-proxy-mode',
    summary:
      'The effect of a policy denial: `track` forwards the response and records the denial, `enforce` responds with 403 instead, `off` does not evaluate responses.',
    ...oneOf(POLICY_MODES),
    chart: {
      path: 'policy.mode',
      default: 'track',
      variable: 'POLICY_MODE',
      sidecarVariable: 'POLICY_PROXY_MODE',
    },
  },
  cpuRequest: {
    name: 'platform.io/sidecar-cpu-request',
    summary: 'The CPU request of the sidecar, at most its CPU limit.',
    ...cpu,
    chart: {
      path: 'sidecar.resources.requests.cpu',
      default: '5m',
      variable: 'SIDECAR_CPU_REQUEST',
    },
  },
  cpuLimit: {
    name: 'platform.io/sidecar-cpu-limit',
    summary:
      'The CPU limit of the sidecar. With `none`, the sidecar uses idle CPU of the node; its request is its share under load.',
    ...optionalLimit(cpu),
    chart: {
      path: 'sidecar.resources.limits.cpu',
      default: NO_LIMIT,
      variable: 'SIDECAR_CPU_LIMIT',
    },
  },
  memoryRequest: {
    name: 'platform.io/sidecar-memory-request',
    summary: 'The memory request of the sidecar, at most its memory limit.',
    ...memory,
    chart: {
      path: 'sidecar.resources.requests.memory',
      default: '96Mi',
      variable: 'SIDECAR_MEMORY_REQUEST',
    },
  },
  memoryLimit: {
    name: 'platform.io/sidecar-memory-limit',
    summary: 'The memory limit of the sidecar; its JavaScript heap is half of it.',
    ...memory,
    chart: {
      path: 'sidecar.resources.limits.memory',
      default: '192Mi',
      variable: 'SIDECAR_MEMORY_LIMIT',
    },
  },
  image: {
    name: 'platform.io/sidecar-image',
    summary: 'A different sidecar image. Must be listed in the chart value `sidecar.allowedImages`.',
    default: "the chart's sidecar image",
    ...matching('an image reference', /^[a-zA-Z0-9_.:/@-]+$/, 512),
  },
  logLevel: {
    name: 'platform.io/sidecar-log-level',
    summary: 'The log level of the sidecar.',
    ...oneOf(['error', 'warn', 'info', 'debug']),
    chart: {
      path: 'sidecar.logLevel',
      default: 'info',
      variable: 'SIDECAR_LOG_LEVEL',
      sidecarVariable: 'LOG_LEVEL',
    },
  },
  otlp: {
    name: 'platform.io/otlp',
    summary:
      '`"true"` starts the OTLP receiver of the sidecar on 127.0.0.1:4318, and points the trace exporter of the agent container to it.',
    default: '`"false"`',
    ...boolean(),
  },
  egressLanes: {
    name: 'platform.io/egress-lanes',
    summary:
      'The lanes through which the agent calls models and MCP servers: vendors, and `compatible:NAME=VARIABLE` or `mcp:NAME=VARIABLE` for an address in a variable of the container. The sidecar reads these calls on 127.0.0.1:4002.',
    default: 'none',
    ...matching(
      `lanes separated by commas (${Object.keys(VENDOR_LANES).join(', ')}, compatible:NAME=VARIABLE, mcp:NAME=VARIABLE)`,
      LANES_ANNOTATION,
      1024,
    ),
  },
  egressMode: {
    name: 'platform.io/egress-mode',
    summary:
      'The effect of a policy denial in a lane: `track` records the denial, `enforce` stops the call, `off` evaluates no policy. Must not be below the chart value `policy.minimumMode`.',
    default: 'the mode of the proxy',
    ...oneOf(POLICY_MODES),
  },
  egressFailMode: {
    name: 'platform.io/egress-fail-mode',
    summary:
      'With `platform.io/egress-mode: enforce`, what happens with a call in a lane that the policy engine cannot evaluate, or whose body the lane cannot read: `open` lets it pass, `closed` denies it. `closed,mcp:files=open` sets another value for a lane.',
    default: '`"open"`',
    ...matching(
      'open or closed, and lane=open or lane=closed, separated by commas',
      new RegExp(FAIL_MODE_PATTERN),
      1024,
    ),
  },
  egressCaConfigMap: {
    name: 'platform.io/egress-ca-configmap',
    summary:
      'The ConfigMap that contains, in its key `ca.crt`, PEM certificates of private CAs that sign the certificates of vendors behind lanes. They are accepted in addition to the public CAs. The pod starts only if the ConfigMap exists.',
    default: 'none',
    ...matching('the name of a ConfigMap', DNS_SUBDOMAIN, 253),
  },
  egressConnect: {
    name: 'platform.io/egress-connect',
    summary:
      'The CONNECT lane on 127.0.0.1:4003, which the agent uses as HTTPS proxy: `log` records the hosts, `deny` also stops connections to hosts that the manifest does not declare.',
    default: '`"off"`',
    ...oneOf(CONNECT_MODES),
  },
  census: {
    name: 'platform.io/census',
    summary:
      '`"false"` turns off the socket census, which lists connections of the pod that nothing declares.',
    default: '`"true"`',
    ...boolean(),
  },
  auditLog: {
    name: 'platform.io/audit-log',
    summary:
      'Where the sidecar writes its audit log, one OCSF event per line: to its standard output, or with `file` to `/var/log/agent-compliance/audit.log` in a volume of the pod.',
    default: '`"off"`',
    sidecarVariable: 'AUDIT_LOG',
    ...oneOf(['off', 'stdout', 'file']),
  },
  identityHeader: {
    name: 'platform.io/identity-header',
    summary:
      'The header with the person who made a request, which a proxy in front of the agent sets in place of any header of its client. Used with `platform.io/identity-proxies`. Of `x-forwarded-client-cert`, the first `URI=spiffe://` is used.',
    default: 'no header is read',
    sidecarVariable: 'IDENTITY_HEADER',
    ...matching('the name of a header in lower case (a-z, 0-9, "-")', /^[a-z][a-z0-9-]*$/, 64),
  },
  identityProxies: {
    name: 'platform.io/identity-proxies',
    summary:
      'The proxies whose `platform.io/identity-header` counts: IP addresses and networks separated by commas, such as `10.0.0.0/8,127.0.0.1`. The address of the connection to the sidecar must be one of them.',
    default: 'no header is read',
    sidecarVariable: 'IDENTITY_PROXIES',
    ...networks(),
  },
  compliantGrade: {
    name: 'platform.io/compliant-grade',
    summary:
      'The lowest grade for which the condition `Compliant` is true. With several pods, the strictest value applies. Must not be below the chart value `policy.minimumCompliantGrade`.',
    default: '`"B"`, or the chart value if it is stricter',
    ...oneOf(GRADES),
  },
  compliantEvidence: {
    name: 'platform.io/compliant-evidence',
    summary:
      'The minimum evidence for which the condition `Compliant` is true, in percent of the declared items. With several pods, the highest value applies. Must not be below the chart value `policy.minimumCompliantEvidence`. `"0"` requires no evidence.',
    default: '`"50"`, or the chart value if it is higher',
    ...integer(0, 100),
  },
  stop: {
    name: STOP_ANNOTATION,
    summary:
      'Stops the agent of this pod, for the reason in the value. It also takes effect in a running pod (`kubectl annotate pod`), without any process of the product; without the annotation, the pod runs again. Prefer an AgentStop, which also applies to new pods.',
    default: 'not stopped',
    ...matching('a reason of 1 to 500 characters in one line', /^.+$/, 500),
  },
} as const satisfies Readonly<Record<string, AnnotationRow<unknown>>>;

/** The start of every annotation of the product. */
export const ANNOTATION_PREFIX = 'platform.io/';

/** The product's annotations that workloads and pods carry for other reasons. */
export const OTHER_ANNOTATIONS: readonly string[] = [INJECTED_ANNOTATION, CA_ANNOTATION, RETRY_ANNOTATION];

const KNOWN: ReadonlySet<string> = new Set([
  ...Object.values(ANNOTATIONS).map(({ name }) => name),
  ...OTHER_ANNOTATIONS,
]);

/** Whether the key starts like an annotation of the product, in any case, but is none. */
export function isUnknownAnnotation(key: string): boolean {
  return key.toLowerCase().startsWith(ANNOTATION_PREFIX) && !KNOWN.has(key);
}

type Rows = typeof ANNOTATIONS;
type ValueOf<R> = R extends AnnotationKind<infer T> ? T : never;

/** The values of a pod's annotations; a missing member means that the annotation is not set. */
export type AnnotationValues = { -readonly [K in keyof Rows]?: ValueOf<Rows[K]> };

/** The annotations with a chart default. */
type DefaultedKey = { [K in keyof Rows]: Rows[K] extends { chart: object } ? K : never }[keyof Rows];
export type AnnotationDefaults = { [K in DefaultedKey]: ValueOf<Rows[K]> };
/** The same values by the injector's variable. */
export type DefaultVariables = {
  [K in DefaultedKey as Rows[K]['chart']['variable']]: ValueOf<Rows[K]>;
};
/** The values that only the sidecar reads, by its variable. null: the pod does not have the annotation. */
export type SidecarVariables = {
  [
    K in DefaultedKey as Rows[K]['chart'] extends { sidecarVariable: infer N extends string } ? N : never
  ]: ValueOf<Rows[K]>;
} & {
  [K in keyof Rows as Rows[K] extends { sidecarVariable: infer N extends string } ? N : never]: ValueOf<
    Rows[K]
  > | null;
};
export type DefaultedRow = AnnotationRow<unknown> & { chart: ChartDefault<unknown> };

const TABLE: [string, AnnotationRow<unknown>][] = Object.entries(ANNOTATIONS);
export const DEFAULTED = TABLE.filter(([, { chart }]) => chart !== undefined) as [
  DefaultedKey,
  DefaultedRow,
][];

/** The annotations without a chart default whose value the sidecar reads, with its variable. */
export const PASSED = TABLE.flatMap(([key, { sidecarVariable: variable, ...row }]) =>
  variable === undefined ? [] : [{ key: key as keyof Rows, variable, row }],
);

/** One value for each annotation with a chart default. */
export function annotationDefaults(
  valueOf: (key: DefaultedKey, chart: ChartDefault<unknown>) => unknown,
): AnnotationDefaults {
  const values = DEFAULTED.map(([key, { chart }]) => [key, valueOf(key, chart)]);
  return Object.fromEntries(values) as AnnotationDefaults;
}

/** The sidecar's variables of annotations without a chart default. */
export function passedVariables(values: AnnotationValues): { name: string; value: string }[] {
  return PASSED.flatMap(({ key, variable: name }) => {
    const value = values[key];
    return value === undefined ? [] : [{ name, value: String(value) }];
  });
}

export interface AnnotationProblem {
  name: string;
  value: string;
  allowed: string;
}

export type AnnotationsResult =
  | { ok: true; values: AnnotationValues }
  | { ok: false; problems: AnnotationProblem[] };

/** Parses every annotation of the table and reports all invalid annotations at once. */
export function readAnnotations(annotations: Readonly<Record<string, string>>): AnnotationsResult {
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
