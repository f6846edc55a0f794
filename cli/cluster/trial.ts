import type { Fact } from '../../core/diagnosis/fact.ts';
import { known, notKnown } from '../../core/diagnosis/fact.ts';
import type { TrialFacts } from '../../core/diagnosis/facts.ts';
import { parseInjected } from '../../core/injection/injected.ts';
import { INJECTOR_WEBHOOK, NO_ANSWER, SIDECAR_CONTAINER } from '../../core/injection/names.ts';
import type { Pod } from '../../core/injection/pod.ts';
import type { KubeAnswer, KubeClient } from '../../kube/client.ts';
import { collectionPath, PODS } from '../../kube/resources.ts';

/** The API server waits for the injector, twice at most. */
const TIMEOUT_MS = 70_000;

export interface TrialPlace {
  namespace: string;
  /** Name of the release's ValidatingAdmissionPolicy. */
  guard: string;
}

/**
 * Asks for a pod as a dry run, which stores nothing: the whole way through the API server, the injector with the
 * certificate that it really serves, and the guard.
 */
export async function tryPod(
  client: KubeClient,
  { namespace, guard }: TrialPlace,
  inject: 'true' | 'maybe',
): Promise<Fact<TrialFacts>> {
  const answer = await client.send<Pod>({
    method: 'POST',
    path: collectionPath(PODS, namespace),
    query: { dryRun: 'All' },
    body: trialPod(namespace, inject),
    timeoutMs: TIMEOUT_MS,
  });
  return trialOf(answer, { namespace, guard });
}

/** What an answer says of the injector and the guard. */
export function trialOf(answer: KubeAnswer<Pod>, { namespace, guard }: TrialPlace): Fact<TrialFacts> {
  if (answer.ok) {
    const injected = parseInjected(answer.body.metadata);
    const sidecar = answer.body.spec.initContainers?.some(({ name }) => name === SIDECAR_CONTAINER);
    if (injected === null || sidecar !== true) return known({ outcome: 'admitted' });
    return known({ outcome: 'injected', version: injected.version, config: injected.config });
  }
  const { message, status } = answer;
  if (status === 401 || message.includes('cannot create resource "pods"'))
    return notKnown(`this needs the right to create pods in ${namespace} (as a dry run)`);
  if (status !== 422 && !/denied|PodSecurity|quota|webhook/.test(message))
    return notKnown(`cannot try a pod in ${namespace}: ${message}`);
  const noAnswer = message.includes(NO_ANSWER);
  return known({ outcome: 'refused', by: refuserIn(message, guard), message, noAnswer });
}

/** An API server that could not ask the injector names it too. */
function refuserIn(message: string, guard: string): 'guard' | 'injector' | 'other' {
  if (message.includes(`admission webhook "${INJECTOR_WEBHOOK}" denied the request`)) return 'injector';
  return message.includes(`ValidatingAdmissionPolicy '${guard}'`) ? 'guard' : 'other';
}

/** Restricted, as the canary's namespace wants it. */
function trialPod(namespace: string, inject: string): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'platform-check', namespace, annotations: { 'platform.io/inject': inject } },
    spec: {
      securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'agent',
          image: 'platform-check',
          ports: [{ name: 'http', containerPort: 8000 }],
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  };
}
