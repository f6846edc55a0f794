// Planted violation: the sidecar must not reach into the room of Kubernetes I/O.
export { fullJitter } from '../../../kube/backoff.ts';
