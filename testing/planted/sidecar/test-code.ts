// Planted violation: the product must not import what only its tests have.
export { aHeartbeat } from '../../heartbeat.ts';
