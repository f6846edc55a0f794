import { describe, expect, test } from '@jest/globals';
import type { Pod } from '../../kube/types.ts';
import { ownConditions } from './conditions.ts';
import { driftIn } from './drift.ts';

const INSTALLED = { version: '1', configHash: 'c' };
const SIDECAR = { containers: [], initContainers: [{ name: 'platform-sidecar', restartPolicy: 'Always' }] };

const CAS = { has: (ca: string) => ca !== 'other' };

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
const withAnnotations = ({ metadata, spec }: Pod, annotations: Record<string, string>): Pod => ({
  metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
  ...(spec && { spec }),
});
const foreign = (name: string) => withAnnotations(present(name), { 'platform.io/ca': 'other' });
const manual = (name: string) => withAnnotations(present(name), { 'platform.io/inject': 'false' });
const unrecorded = (name: string) => withAnnotations(present(name), { 'platform.io/injected': '{' });

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
    [
      'shows pods that the injector did not inject as they are',
      [manual('d'), foreign('f'), unrecorded('e'), foreign('b')],
      [
        { reason: 'ca-unknown', pods: 2, example: 'b' },
        { reason: 'not-injected', pods: 1, example: 'd' },
        { reason: 'record-missing', pods: 1, example: 'e' },
      ],
    ],
  ])('%s', (_, pods, expected) => {
    expect(driftIn(pods, INSTALLED, CAS)).toEqual(expected);
    expect(driftIn([...pods].reverse(), INSTALLED, CAS)).toEqual(expected);
  });

  test('has no unknown CA while the CAs of the installation are unknown', () => {
    for (const cas of [null, { has: () => null }])
      expect(driftIn([foreign('a')], INSTALLED, cas)).toEqual([]);
  });

  test.each<[string, Pod[], string]>([
    ['all current', [present('a')], 'True SidecarPresent every pod has the sidecar'],
    [
      'some outdated',
      [present('a'), old('c'), other('b')],
      'True SidecarOutdated 2 of 3 pods, such as c, have a sidecar with another version or other settings; restart the workload',
    ],
    [
      'some not added by the injector',
      [old('a'), unrecorded('c'), manual('b')],
      'True SidecarNotInjected 2 of 3 pods, such as b, have a sidecar that the injector did not add; to let the injector add it, remove it from the manifest and set the annotation platform.io/inject',
    ],
    [
      'some of another CA',
      [old('a'), manual('b'), foreign('c')],
      'False CaUnknown 1 of 3 pods, such as c, have another CA in the annotation platform.io/ca than the control plane, which rejects their reports; restart the workload',
    ],
    [
      'some missing, which takes precedence',
      [foreign('a'), bare('b')],
      'False SidecarMissing 1 of 2 pods run without the sidecar, such as b; restart the workload',
    ],
  ])('in the condition Injected: %s', (_, pods, expected) => {
    const agentState = {
      ...{ pods, workloads: [], services: [], drift: driftIn(pods, INSTALLED, CAS) },
      ...{ misfit: null, rejectedChange: null, failedMountOf: () => null },
    };
    const [injected] = ownConditions(agentState, [], new Date(0));
    expect(`${injected?.status} ${injected?.reason} ${injected?.message}`).toBe(expected);
  });
});
