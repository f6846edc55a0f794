import type { Pod as CompletePod } from '../core/injection/pod.ts';
import type { KubeClient, KubeResponse } from './client.ts';
import { collectionPath, PODS } from './resources.ts';
import type { Pod } from './types.ts';

/** On mirror pods, which the kubelet creates for the static pods of its node. */
export const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';

/** All of the pod's containers have ended; the object stays until it is deleted. */
export function hasEnded(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

/** The pod runs or will run: it has neither ended nor is it being deleted. */
export function isLive(pod: Pod): boolean {
  return !hasEnded(pod) && pod.metadata.deletionTimestamp === undefined;
}

/** The API server calls the injector at most twice and waits for each call. */
const DRY_RUN_MS = 70_000;

/** Creates a pod as a dry run, which stores nothing: the API server, the injector and the guard handle it as usual. */
export function dryRunPod(
  client: KubeClient,
  namespace: string,
  pod: CompletePod,
  signal?: AbortSignal,
): Promise<KubeResponse<CompletePod>> {
  const path = collectionPath(PODS, namespace);
  const query = { dryRun: 'All' };
  return client.send({ method: 'POST', path, query, body: pod, signal, timeoutMs: DRY_RUN_MS });
}
