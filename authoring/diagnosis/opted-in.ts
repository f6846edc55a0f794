import { agentNameOf } from '../../core/injection/agent-name.ts';
import { ANNOTATIONS, readAnnotations } from '../../core/injection/annotations.ts';
import { optsIn } from '../../core/injection/drift.ts';
import { NAME_LABEL } from '../../core/injection/names.ts';
import type { Pod } from '../../core/injection/pod.ts';
import { podOfPlace, podPlacesOf, type PodPlace } from '../../core/injection/workloads.ts';

/** The key of a manifest in its ConfigMap. */
export const MANIFEST_KEY = 'agent.yaml';

/** A workload whose template opts in. */
export interface OptedIn {
  kind: string;
  namespace: string;
  name: string;
  /** null: it cannot be derived. */
  agentName: string | null;
  /** null: its name or annotations are invalid, so its pods are rejected. */
  configMap: string | null;
}

/** The agent's name that the pods of a workload will have as label; null: none. */
export function selectedNameOf(place: PodPlace): string | null {
  const { labels = {}, annotations = {} } = (place.pod as Partial<Pod>).metadata ?? {};
  if (!optsIn(annotations)) return labels[NAME_LABEL] ?? null;
  const { metadata = {} } = podOfPlace(place, place.pod as unknown as Pod, {});
  const agent = agentNameOf(metadata, annotations[ANNOTATIONS.agentName.name]);
  return agent.ok ? agent.name : null;
}

/** The opt-in of a workload or bare pod; null: it does not opt in. `object` must have kind and apiVersion. */
export function optedInOf(object: unknown): OptedIn | null {
  const [place] = podPlacesOf(object);
  const pod: Partial<Pod> | undefined = place?.pod;
  if (place === undefined || !pod?.spec || !optsIn(pod.metadata?.annotations ?? {})) return null;
  const { kind, namespace, name } = place;
  const read = readAnnotations(pod.metadata?.annotations ?? {});
  if (!read.ok) return { kind, namespace, name, agentName: null, configMap: null };
  const agentName = selectedNameOf(place);
  const configMap = read.values.manifestConfigMap ?? (agentName === null ? null : `${agentName}-manifest`);
  return { kind, namespace, name, agentName, configMap };
}
