import { expect, test } from '@jest/globals';
import type { AgentObservation } from '../../../core/observation/observation.ts';
import { keptOf, recordOf } from './record.ts';

const observationOf = (heartbeatSeconds: number, managedFields?: object[]): AgentObservation => ({
  apiVersion: 'platform.io/v1',
  kind: 'AgentObservation',
  metadata: { namespace: 'team', name: 'shop', ...{ managedFields } },
  spec: { source: 'sidecar', heartbeatSeconds },
});
const OPERATOR = { manager: 'operator', fieldsV1: { 'f:spec': { 'f:agentRef': {}, 'f:source': {} } } };
const EDITOR = { manager: 'kubectl-edit', fieldsV1: { 'f:spec': { 'f:heartbeatSeconds': {} } } };

test.each<[string, AgentObservation, number | null]>([
  ['keeps an interval that a user set', observationOf(60, [OPERATOR, EDITOR]), 60],
  ['keeps an explicit 30', observationOf(30, [OPERATOR, EDITOR]), 30],
  ['drops a 30 that the CRD of 0.1.0 defaulted', observationOf(30, [OPERATOR, { manager: 'x' }]), null],
  ['keeps a 30 without managed fields', observationOf(30), 30],
])('keptOf %s', (_title, observation, expected) => {
  const kept = keptOf(observation);
  expect(kept.metadata).not.toHaveProperty('managedFields');
  const status = { phase: 'Pending' } as NonNullable<AgentObservation['status']>;
  expect(recordOf(kept, status).heartbeatSeconds).toBe(expected);
});
