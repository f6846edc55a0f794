// The built command loads this module only if a command needs a cluster (scripts/build.mjs), because the Kubernetes
// client is larger than the rest of the command.
export { runCheck } from './run-check.ts';
export { readKagentAgent } from './read-kagent.ts';
export { findLeftovers } from './run-uninstall.ts';
export { withClusterStops } from './stop-agents.ts';
