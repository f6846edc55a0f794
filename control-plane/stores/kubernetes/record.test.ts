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
const SOMEBODY = { manager: 'kubectl-edit', fieldsV1: { 'f:spec': { 'f:heartbeatSeconds': {} } } };

test.each<[string, AgentObservation, number | null]>([
  ['an interval that somebody set', observationOf(60, [OPERATOR, SOMEBODY]), 60],
  ['an explicit 30', observationOf(30, [OPERATOR, SOMEBODY]), 30],
  ['30 that the definition of 0.1.0 filled in', observationOf(30, [OPERATOR, { manager: 'x' }]), null],
  ['30 whose owners are not known', observationOf(30), 30],
])('%s, of an observation as it is kept', (_what, observation, expected) => {
  const kept = keptOf(observation);
  expect(kept.metadata).not.toHaveProperty('managedFields');
  const status = { phase: 'Pending' } as NonNullable<AgentObservation['status']>;
  expect(recordOf(kept, status).heartbeatSeconds).toBe(expected);
});
