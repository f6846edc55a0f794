import type { JsonObject } from './equal.ts';
import type { Pod } from './pod.ts';
import { own } from '../untrusted/fields.ts';

/** The admission request for one pod. */
export interface PodReview {
  uid: string;
  namespace: string;
  /** The API server will not store the pod; the response is the same. */
  dryRun: boolean;
  /** null: the request is not the creation of a pod, and is allowed unchanged. */
  pod: Pod | null;
}

/** The admission request for one ConfigMap. */
export interface ManifestReview {
  uid: string;
  namespace: string;
  /** Text of the key `agent.yaml`; null: the ConfigMap has none. */
  text: string | null;
  /** The key is in `binaryData`. */
  isBinary: boolean;
}

export type ParsedReview<T = PodReview> = { ok: true; review: T } | { ok: false; problem: string };

/** The type of a value, as far as injection relies on it; members are optional unless `required` names them. */
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

/** Parses an AdmissionReview of admission.k8s.io/v1; the problem names the first invalid field. */
export function parseReview(body: unknown): ParsedReview {
  const parsed = parseRequest(body);
  if (!parsed.ok) return parsed;
  const request = parsed.review;
  const about = { uid: request.uid, namespace: request.namespace ?? '', dryRun: request.dryRun ?? false };
  if (!isPodCreation(request)) return { ok: true, review: { ...about, pod: null } };
  const wrongPod = podProblem(request.object, 'AdmissionReview.request.object');
  return wrongPod === null
    ? { ok: true, review: { ...about, pod: request.object as Pod } }
    : { ok: false, problem: wrongPod };
}

const entries: Shape = { object: { 'agent.yaml': 'string' } };
const configMap: Shape = { object: { data: entries, binaryData: entries } };

/** Parses an AdmissionReview of a ConfigMap; any other object has no manifest. */
export function parseManifestReview(body: unknown): ParsedReview<ManifestReview> {
  const parsed = parseRequest(body);
  if (!parsed.ok) return parsed;
  const { uid, namespace = '', kind, object } = parsed.review;
  const isConfigMap = (kind.group ?? '') === '' && kind.kind === 'ConfigMap';
  const wrong = isConfigMap ? mismatch(object, configMap) : null;
  if (wrong !== null) return { ok: false, problem: `AdmissionReview.request.object${wrong}` };
  const { data = {}, binaryData = {} } = isConfigMap ? (object as Record<string, JsonObject>) : {};
  const text = own(data, 'agent.yaml') as string | undefined;
  const isBinary = Object.hasOwn(binaryData, 'agent.yaml');
  return { ok: true, review: { uid, namespace, text: text ?? null, isBinary } };
}

function parseRequest(body: unknown): ParsedReview<RawReview['request']> {
  const wrong = mismatch(body, review);
  if (wrong !== null) return { ok: false, problem: `AdmissionReview${wrong}` };
  const { apiVersion, kind, request } = body as RawReview;
  if (apiVersion !== 'admission.k8s.io/v1' || kind !== 'AdmissionReview')
    return { ok: false, problem: 'the body is not an AdmissionReview of admission.k8s.io/v1' };
  if (request.uid === '') return { ok: false, problem: 'AdmissionReview.request.uid is empty' };
  return { ok: true, review: request };
}

/** The first invalid field of a pod, as a sentence; null when the pod is valid. */
export function podProblem(value: unknown, path: string): string | null {
  const wrong = mismatch(value, pod);
  return wrong === null ? null : path + wrong;
}

function isPodCreation({ operation, kind, subResource }: RawReview['request']): boolean {
  return operation === 'CREATE' && (kind.group ?? '') === '' && kind.kind === 'Pod' && !subResource;
}

/**
 * The first place where `value` does not match `shape`, as the rest of a sentence that begins with the path of `value`;
 * null when `value` matches. Paths are built only on a mismatch, because nearly all values are valid.
 */
function mismatch(value: unknown, shape: Shape): string | null {
  if (typeof shape === 'string') return isPrimitive(value, shape) ? null : ` is not ${SHAPE_NAMES[shape]}`;
  if ('list' in shape) return Array.isArray(value) ? mismatchInList(value, shape.list) : ' is not a list';
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return ' is not an object';
  if ('map' in shape) return mismatchInMap(value as JsonObject, shape.map);
  return mismatchInObject(value as JsonObject, shape.object, shape.required);
}

function mismatchInList(list: readonly unknown[], shape: Shape): string | null {
  for (let index = 0; index < list.length; index += 1) {
    const wrong = mismatch(list[index], shape);
    if (wrong !== null) return `[${index}]${wrong}`;
  }
  return null;
}

function mismatchInMap(map: JsonObject, shape: Shape): string | null {
  for (const key of Object.keys(map)) {
    const wrong = mismatch(map[key], shape);
    if (wrong !== null) return `.${key.slice(0, 100)}${wrong}`;
  }
  return null;
}

function mismatchInObject(
  object: JsonObject,
  shapes: Readonly<Record<string, Shape>>,
  required: readonly string[] = [],
): string | null {
  for (const key of required) if (!Object.hasOwn(object, key)) return `.${key} is missing`;
  for (const key of Object.keys(object)) {
    const shape = Object.hasOwn(shapes, key) ? shapes[key] : undefined;
    const wrong = shape === undefined ? null : mismatch(object[key], shape);
    if (wrong !== null) return `.${key}${wrong}`;
  }
  return null;
}

const SHAPE_NAMES = {
  string: 'text',
  boolean: 'true or false',
  integer: 'an integer',
  port: 'a port number or name',
  anything: 'anything',
} as const;

function isPrimitive(value: unknown, shape: keyof typeof SHAPE_NAMES): boolean {
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
