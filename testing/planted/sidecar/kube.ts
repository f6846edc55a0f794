// Planted violation: the sidecar must not import the Kubernetes I/O package.
export { fullJitter } from '../../../kube/backoff.ts';
