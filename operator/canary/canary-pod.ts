import type { Container, Pod } from '../../core/injection/pod.ts';

/** Meets the restricted Pod Security profile, so that the namespace's profile shows whether an injected pod still does. */
const CONTAINER_SECURITY = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};

const container = (name: string, rest: Omit<Container, 'name'> = {}): Container => ({
  name,
  // Never pulled: the pod is never stored.
  image: 'canary',
  securityContext: CONTAINER_SECURITY,
  ...rest,
});

/** A typical agent pod: a named port, a probe that uses the name, an init container and an API token. */
export function canaryPod(namespace: string): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'canary', namespace, annotations: { 'platform.io/inject': 'true' } },
    spec: {
      securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
      initContainers: [container('init')],
      containers: [
        container('agent', {
          ports: [{ name: 'http', containerPort: 8000 }],
          readinessProbe: { httpGet: { path: '/', port: 'http' } },
        }),
      ],
    },
  };
}
