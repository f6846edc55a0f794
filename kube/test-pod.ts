import { ANNOTATIONS } from '../core/injection/annotations.ts';
import type { Pod } from '../core/injection/pod.ts';

/** Meets the restricted Pod Security profile, so that the namespace's profile shows whether an injected pod still does. */
const CONTAINER_SECURITY = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};

/**
 * A typical agent pod for dry runs: a named port, a probe that uses the name, an init container and an API token.
 * `inject`: its annotation `platform.io/inject`.
 */
export function testPod({ name, namespace, inject }: Record<'name' | 'namespace' | 'inject', string>): Pod {
  // The image is never pulled: the pod is never stored.
  const common = { image: name, securityContext: CONTAINER_SECURITY };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, annotations: { [ANNOTATIONS.inject.name]: inject } },
    spec: {
      securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
      initContainers: [{ name: 'init', ...common }],
      containers: [
        {
          ...{ name: 'agent', ...common },
          ports: [{ name: 'http', containerPort: 8000 }],
          readinessProbe: { httpGet: { path: '/', port: 'http' } },
        },
      ],
    },
  };
}
