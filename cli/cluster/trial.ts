import { known, notKnown, type Fact, type TrialFacts } from '../../authoring/diagnosis/facts.ts';
import { parseInjected } from '../../core/injection/injected.ts';
import { INJECTOR_WEBHOOK, NO_RESPONSE, SIDECAR_CONTAINER } from '../../core/injection/names.ts';
import type { Pod } from '../../core/injection/pod.ts';
import type { KubeResponse, KubeClient } from '../../kube/client.ts';
import { dryRunPod } from '../../kube/pods.ts';
import { testPod } from '../../kube/test-pod.ts';

export interface TrialPlace {
  namespace: string;
  /** Name of the release's ValidatingAdmissionPolicy. */
  guard: string;
}

/**
 * Creates a pod as a dry run, which stores nothing. This tests the full request path: the API server, the injector with
 * its live certificate, and the guard.
 */
export async function tryPod(
  client: KubeClient,
  { namespace, guard }: TrialPlace,
  inject: 'true' | 'maybe',
): Promise<Fact<TrialFacts>> {
  const pod = testPod({ name: 'platform-check', namespace, inject });
  return trialOf(await dryRunPod(client, namespace, pod), { namespace, guard });
}

/** Outcome of the dry run for the injector and the guard. */
export function trialOf(response: KubeResponse<Pod>, { namespace, guard }: TrialPlace): Fact<TrialFacts> {
  if (response.ok) {
    const injected = parseInjected(response.body.metadata);
    const sidecar = response.body.spec.initContainers?.some(({ name }) => name === SIDECAR_CONTAINER);
    if (injected === null || sidecar !== true) return known({ outcome: 'admitted' });
    return known({ outcome: 'injected', version: injected.version, config: injected.config });
  }
  const { message, status } = response;
  if (status === 401 || message.includes('cannot create resource "pods"'))
    return notKnown(`missing permission: create pods in ${namespace} (as a dry run)`);
  if (status !== 422 && !/denied|PodSecurity|quota|webhook/.test(message))
    return notKnown(`cannot create a test pod in ${namespace}: ${message}`);
  const noResponse = message.includes(NO_RESPONSE);
  return known({ outcome: 'refused', by: rejectedBy(message, guard), message, noResponse });
}

/** The API server also names the injector if it could not call the injector, so the whole phrase is compared. */
function rejectedBy(message: string, guard: string): 'guard' | 'injector' | 'other' {
  if (message.includes(`admission webhook "${INJECTOR_WEBHOOK}" denied the request`)) return 'injector';
  return message.includes(`ValidatingAdmissionPolicy '${guard}'`) ? 'guard' : 'other';
}
