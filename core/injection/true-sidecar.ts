import { SIDECAR_CONTAINER, TOKEN_AUDIENCE, VOLUMES } from './names.ts';

/** Images that a true sidecar may have: a repository in any version, as the guard has it, and others by their full reference. */
export interface SidecarImages {
  repository: string;
  allowed: readonly string[];
}

/** What is read of a live pod. */
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

/** Why a pod does not carry the injected sidecar of this agent, as the end of a sentence; null: it does. */
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
  if (hasToken !== true || isMounted !== true) return 'has a sidecar without an identity of its own';
  return sidecar.env?.some(({ name, value }) => name === 'AGENT_NAME' && value === agentName) === true
    ? null
    : 'has the sidecar of another agent than its label names';
}

function isTrusted(image: string, { repository, allowed }: SidecarImages): boolean {
  return allowed.includes(image) || image.startsWith(`${repository}:`) || image.startsWith(`${repository}@`);
}
