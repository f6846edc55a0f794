import { agentNameOf } from '../injection/agent-name.ts';
import { readAnnotations } from '../injection/annotations.ts';
import { optsIn } from '../injection/drift.ts';
import type { Pod } from '../injection/pod.ts';
import { podOfPlace, podPlacesOf } from '../injection/workloads.ts';

/** The key of a manifest in its ConfigMap. */
export const MANIFEST_KEY = 'agent.yaml';

/** A workload whose template opts in. */
export interface OptedIn {
  kind: string;
  namespace: string;
  name: string;
  /** null: its name or annotations are invalid, so its pods are rejected. */
  configMap: string | null;
}

/** The opt-in of a workload or bare pod; null: it does not opt in. `object` must have kind and apiVersion. */
export function optedInOf(object: unknown): OptedIn | null {
  const [place] = podPlacesOf(object);
  const pod: Partial<Pod> | undefined = place?.pod;
  if (place === undefined || !pod?.spec || !optsIn(pod.metadata?.annotations ?? {})) return null;
  const { kind, namespace, name } = place;
  const read = readAnnotations(pod.metadata?.annotations ?? {});
  if (!read.ok) return { kind, namespace, name, configMap: null };
  const whole = podOfPlace(place, pod as Pod, {});
  const agent = agentNameOf(whole.metadata ?? {}, read.values.agentName);
  const configMap = read.values.manifestConfigMap ?? (agent.ok ? `${agent.name}-manifest` : null);
  return { kind, namespace, name, configMap };
}
