// Planted violation: the product must not import test code.
export { aHeartbeat } from '../../fleet/heartbeat.ts';
