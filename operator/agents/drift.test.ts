import { describe, expect, test } from '@jest/globals';
import type { Pod } from '../../kube/types.ts';
import { ownConditions } from './conditions.ts';
import { driftIn } from './drift.ts';

const INSTALLED = { version: '1', configHash: 'c' };
const SIDECAR = { containers: [], initContainers: [{ name: 'platform-sidecar', restartPolicy: 'Always' }] };

function podOf(name: string, record: { version: string; config: string } | null): Pod {
  const injected = { ...record, agent: { container: 'agent', port: 8000 }, restore: [], ownLabel: false };
  const annotations = {
    'platform.io/inject': 'true',
    ...(record && { 'platform.io/injected': JSON.stringify(injected) }),
  };
  return { metadata: { name, namespace: 'n', annotations }, ...(record && { spec: SIDECAR }) };
}
const present = (name: string) => podOf(name, { version: '1', config: 'c' });
const old = (name: string) => podOf(name, { version: '0', config: 'c' });
const other = (name: string) => podOf(name, { version: '1', config: 'd' });
const bare = (name: string) => podOf(name, null);

describe('drift of an agent', () => {
  test.each<[string, Pod[], ReturnType<typeof driftIn>]>([
    ['is empty without outdated pods', [present('a'), present('b')], []],
    ['is empty without pods', [], []],
    [
      'is counted by reason, with the first pod by name, in any order',
      [bare('d'), other('f'), old('c'), bare('b'), present('a')],
      [
        { reason: 'sidecar-missing', pods: 2, example: 'b' },
        { reason: 'version-outdated', pods: 1, example: 'c' },
        { reason: 'configuration-outdated', pods: 1, example: 'f' },
      ],
    ],
  ])('%s', (_, pods, expected) => {
    expect(driftIn(pods, INSTALLED)).toEqual(expected);
    expect(driftIn([...pods].reverse(), INSTALLED)).toEqual(expected);
  });

  test.each<[string, Pod[], string]>([
    ['all current', [present('a')], 'True SidecarPresent every pod has the sidecar'],
    [
      'some outdated',
      [present('a'), old('c'), other('b')],
      'True SidecarOutdated 2 of 3 pods have a sidecar with another version or other settings, such as c; restart the workload',
    ],
    [
      'some missing, which takes precedence',
      [old('a'), bare('b')],
      'False SidecarMissing 1 of 2 pods run without the sidecar, such as b; restart the workload',
    ],
  ])('in the condition Injected: %s', (_, pods, expected) => {
    const agentState = { pods, workloads: [], services: [], installed: INSTALLED };
    const [injected] = ownConditions(agentState, [], new Date(0));
    expect(`${injected?.status} ${injected?.reason} ${injected?.message}`).toBe(expected);
  });
});
