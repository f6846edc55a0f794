import type { Pod } from './pod.ts';

/** What a Kubernetes API server asks about one pod. */
export interface PodReview {
  uid: string;
  namespace: string;
  /** Nothing of it will be kept; the answer is the same. */
  dryRun: boolean;
  /** null: the question is about something else, which injection has no opinion on. */
  pod: Pod | null;
}

export type ParsedReview = { ok: true; review: PodReview } | { ok: false; problem: string };

/** What a value must look like, as far as injection relies on it; members are optional unless `required` names them. */
type Shape =
  | 'string'
  | 'boolean'
  | 'integer'
  | 'port'
  | 'anything'
  | { list: Shape }
  | { map: Shape }
  | { object: Readonly<Record<string, Shape>>; required?: readonly string[] };

const target: Shape = { object: { port: 'port' }, required: ['port'] };
const handler: Shape = { object: { httpGet: target, tcpSocket: target } };
const container: Shape = {
  object: {
    name: 'string',
    image: 'string',
    restartPolicy: 'string',
    ports: {
      list: {
        object: { name: 'string', containerPort: 'integer', protocol: 'string' },
        required: ['containerPort'],
      },
    },
    env: { list: { object: { name: 'string' }, required: ['name'] } },
    envFrom: { list: 'anything' },
    volumeMounts: { list: { object: { name: 'string' }, required: ['name'] } },
    livenessProbe: handler,
    readinessProbe: handler,
    startupProbe: handler,
    resources: { object: { requests: { map: 'anything' }, limits: { map: 'anything' } } },
    lifecycle: { object: { postStart: handler, preStop: handler } },
  },
  required: ['name'],
};

const pod: Shape = {
  object: {
    metadata: {
      object: {
        name: 'string',
        generateName: 'string',
        labels: { map: 'string' },
        annotations: { map: 'string' },
        ownerReferences: {
          list: {
            object: { kind: 'string', name: 'string', controller: 'boolean' },
            required: ['kind', 'name'],
          },
        },
      },
    },
    spec: {
      object: {
        containers: { list: container },
        initContainers: { list: container },
        volumes: { list: { object: { name: 'string' }, required: ['name'] } },
        hostNetwork: 'boolean',
        os: { object: { name: 'string' } },
        nodeSelector: { map: 'string' },
      },
      required: ['containers'],
    },
  },
  required: ['spec'],
};

const review: Shape = {
  object: {
    apiVersion: 'string',
    kind: 'string',
    request: {
      object: {
        uid: 'string',
        operation: 'string',
        namespace: 'string',
        dryRun: 'boolean',
        kind: { object: { group: 'string', kind: 'string' } },
        subResource: 'string',
        object: 'anything',
      },
      required: ['uid', 'operation', 'kind', 'object'],
    },
  },
  required: ['apiVersion', 'kind', 'request'],
};

interface RawReview {
  apiVersion: string;
  kind: string;
  request: {
    uid: string;
    operation: string;
    namespace?: string;
    dryRun?: boolean;
    kind: { group?: string; kind?: string };
    subResource?: string;
    object: unknown;
  };
}

/** Reads an AdmissionReview of admission.k8s.io/v1; the problem names the first field that is wrong. */
export function parseReview(body: unknown): ParsedReview {
  const wrong = mismatch(body, review, 'AdmissionReview');
  if (wrong !== null) return { ok: false, problem: wrong };
  const { apiVersion, kind, request } = body as RawReview;
  if (apiVersion !== 'admission.k8s.io/v1' || kind !== 'AdmissionReview')
    return { ok: false, problem: 'the body is not an AdmissionReview of admission.k8s.io/v1' };
  if (request.uid === '') return { ok: false, problem: 'AdmissionReview.request.uid is empty' };
  const about = { uid: request.uid, namespace: request.namespace ?? '', dryRun: request.dryRun ?? false };
  if (!isPodCreation(request)) return { ok: true, review: { ...about, pod: null } };
  const wrongPod = podProblem(request.object, 'AdmissionReview.request.object');
  return wrongPod === null
    ? { ok: true, review: { ...about, pod: request.object as Pod } }
    : { ok: false, problem: wrongPod };
}

/** The first field of a pod that injection could not rely on, as a sentence; null when there is none. */
export function podProblem(value: unknown, path: string): string | null {
  return mismatch(value, pod, path);
}

function isPodCreation({ operation, kind, subResource }: RawReview['request']): boolean {
  return operation === 'CREATE' && (kind.group ?? '') === '' && kind.kind === 'Pod' && !subResource;
}

/** The first place where `value` is not of `shape`, as a sentence; null when there is none. */
function mismatch(value: unknown, shape: Shape, path: string): string | null {
  if (typeof shape === 'string') return isPrimitive(value, shape) ? null : `${path} is not ${WORDS[shape]}`;
  if ('list' in shape) {
    if (!Array.isArray(value)) return `${path} is not a list`;
    return first(value.map((item, index) => () => mismatch(item, shape.list, `${path}[${index}]`)));
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return `${path} is not an object`;
  const members = Object.entries(value);
  if ('map' in shape)
    return first(
      members.map(
        ([key, member]) =>
          () =>
            mismatch(member, shape.map, `${path}.${key.slice(0, 100)}`),
      ),
    );
  const missing = shape.required?.find((key) => !Object.hasOwn(value, key));
  if (missing !== undefined) return `${path}.${missing} is missing`;
  return first(
    members.map(([key, member]) => () => {
      const inner = Object.hasOwn(shape.object, key) ? shape.object[key] : undefined;
      return inner === undefined ? null : mismatch(member, inner, `${path}.${key}`);
    }),
  );
}

const WORDS = {
  string: 'text',
  boolean: 'true or false',
  integer: 'an integer',
  port: 'a port number or name',
  anything: 'anything',
} as const;

function isPrimitive(value: unknown, shape: keyof typeof WORDS): boolean {
  switch (shape) {
    case 'anything':
      return true;
    case 'integer':
      return Number.isInteger(value);
    case 'port':
      return Number.isInteger(value) || typeof value === 'string';
    default:
      return typeof value === shape;
  }
}

function first(checks: readonly (() => string | null)[]): string | null {
  for (const check of checks) {
    const wrong = check();
    if (wrong !== null) return wrong;
  }
  return null;
}
