// What the built command loads only when a command needs a cluster (scripts/build.mjs): the client for Kubernetes is
// larger than everything else in it.
export { lookAtCluster } from './run-check.ts';
export { lookForLeftovers } from './run-uninstall.ts';
