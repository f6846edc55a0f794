import { ANNOTATIONS } from '../core/injection/annotations.ts';
import { AGENT_LABEL, CA_ANNOTATION, INJECTED_ANNOTATION, MAX_LABELS } from '../core/injection/names.ts';
import {
  MIRRORED_AGENT_ANNOTATION,
  MIRRORED_FROM_ANNOTATION,
  MIRRORED_LABEL,
  MIRRORED_NAMESPACE_ANNOTATION,
} from '../core/observation/mirrored.ts';
import type { AgentObservation } from '../core/observation/observation.ts';
import { present } from '../core/untrusted/present.ts';
import { setNewest } from '../core/untrusted/set-newest.ts';
import { MAX_CA_LENGTH } from '../runtime/known-cas.ts';
import { MIRROR_ANNOTATION } from './pods.ts';
import type { ObjectMeta, OwnerReference } from './types.ts';

/** The injector's record has less. A longer value is not a valid one. */
const MAX_CHARACTERS = 16_384;
const MAX_OWNERS = 10;

/** Replaces a text that no component of the product accepts or writes. */
const short = (text: string, max = MAX_CHARACTERS): string => (text.length <= max ? text : '(too long)');

const BARS = [ANNOTATIONS.compliantGrade.name, ANNOTATIONS.compliantEvidence.name];
/** The annotations of a pod that the operator reads. */
const OF_PODS = [
  ...[ANNOTATIONS.inject.name, ANNOTATIONS.agentName.name, ANNOTATIONS.manifestConfigMap.name, ...BARS],
  ...[INJECTED_ANNOTATION, MIRROR_ANNOTATION],
];
const OF_OBSERVATIONS = [
  ...[MIRRORED_AGENT_ANNOTATION, MIRRORED_FROM_ANNOTATION, MIRRORED_NAMESPACE_ANNOTATION, ...BARS],
];
/** The labels that the agent's name depends on. */
const NAMING = [AGENT_LABEL, 'pod-template-hash'];

/** Reduces a pod's metadata to the cached fields, whose size is bounded. Services select pods by any label. */
export function keepPodMetadata(metadata: ObjectMeta): ObjectMeta {
  const labels = metadata.labels && [...new Set([...NAMING, ...Object.keys(metadata.labels)])];
  const owners = metadata.ownerReferences?.filter((owner) => owner.controller === true);
  const ca = metadata.annotations?.[CA_ANNOTATION];
  return {
    ...keepIdentity(metadata),
    ...present({ labels: labels && pick(metadata.labels, labels), ownerReferences: owners?.map(keepOwner) }),
    annotations: {
      ...pick(metadata.annotations, OF_PODS),
      ...(ca !== undefined && { [CA_ANNOTATION]: sharedCa(ca) }),
    },
  };
}

/** Reduces an observation to its status, its spec and the metadata that the product reads. */
export function keepObservation({ metadata, ...observation }: AgentObservation): AgentObservation {
  const { namespace, generation, labels, annotations, ownerReferences } = metadata;
  return {
    ...observation,
    metadata: {
      ...keepIdentity(metadata),
      namespace,
      ...present({
        generation,
        labels: labels && pick(labels, [MIRRORED_LABEL]),
        annotations: annotations && pick(annotations, OF_OBSERVATIONS),
        ownerReferences: ownerReferences?.slice(0, MAX_OWNERS).map(keepOwner),
      }),
    },
  };
}

const MAX_SHARED_CAS = 100;
const sharedCas = new Map<string, string>();

/** One copy of each CA in memory, because almost all pods have the same. A text that is too long is never a known CA. */
function sharedCa(text: string): string {
  const shared = sharedCas.get(text);
  if (shared !== undefined || text.length > MAX_CA_LENGTH) return shared ?? '';
  setNewest(sharedCas, [text, text], MAX_SHARED_CAS);
  return text;
}

function keepIdentity({ name, namespace, uid, resourceVersion, deletionTimestamp }: ObjectMeta): ObjectMeta {
  return { name, ...present({ namespace, uid, resourceVersion, deletionTimestamp }) };
}

function pick(values: Record<string, string> = {}, names: readonly string[]): Record<string, string> {
  const known = names.filter((name) => Object.hasOwn(values, name)).slice(0, MAX_LABELS);
  return Object.fromEntries(known.map((name) => [name, short(values[name] ?? '')]));
}

function keepOwner({ apiVersion, kind, name, uid, controller }: OwnerReference): OwnerReference {
  const texts = { apiVersion, kind, name, uid };
  const kept = Object.entries(texts).map(([member, text]) => [member, short(text, 317)]);
  return { ...(Object.fromEntries(kept) as typeof texts), ...present({ controller }) };
}
