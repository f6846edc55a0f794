import { SIDECAR_CONTAINER, TOKEN_AUDIENCE, VOLUMES } from './names.ts';

/** Images that a genuine sidecar may have: any version of a repository, as in the guard, and other images by full reference. */
export interface SidecarImages {
  repository: string;
  allowed: readonly string[];
}

/** The fields that are read from a live pod. */
interface PodSpec {
  initContainers?: readonly {
    name: string;
    image?: string;
    restartPolicy?: string;
    env?: readonly { name: string; value?: string }[];
    volumeMounts?: readonly { name: string }[];
  }[];
  volumes?: readonly {
    name: string;
    projected?: { sources?: readonly { serviceAccountToken?: { audience?: string } }[] };
  }[];
}

/** Why a pod does not contain the injected sidecar of this agent, as the end of a sentence; null: the pod contains it. */
export function sidecarProblem(
  spec: PodSpec | undefined,
  agentName: string,
  images: SidecarImages | null,
): string | null {
  const sidecar = spec?.initContainers?.find(({ name }) => name === SIDECAR_CONTAINER);
  if (sidecar?.restartPolicy !== 'Always') return 'has no injected sidecar';
  if (images !== null && !isTrusted(sidecar.image ?? '', images))
    return 'has a sidecar with an image that the injector does not use';
  const identity = spec?.volumes?.find(({ name }) => name === VOLUMES.identity);
  const hasToken = identity?.projected?.sources?.some(
    ({ serviceAccountToken }) => serviceAccountToken?.audience === TOKEN_AUDIENCE,
  );
  const isMounted = sidecar.volumeMounts?.some(({ name }) => name === VOLUMES.identity);
  if (hasToken !== true || isMounted !== true) return 'has a sidecar without an identity token';
  return sidecar.env?.some(({ name, value }) => name === 'AGENT_NAME' && value === agentName) === true
    ? null
    : 'has a sidecar of a different agent than the agent label';
}

function isTrusted(image: string, { repository, allowed }: SidecarImages): boolean {
  return allowed.includes(image) || image.startsWith(`${repository}:`) || image.startsWith(`${repository}@`);
}
