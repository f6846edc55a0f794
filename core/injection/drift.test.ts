import { describe, expect, test } from '@jest/globals';
import type { DriftReason } from '../shapes/drift.ts';
import { DRIFT_SUMMARIES, driftOf, optsIn } from './drift.ts';
import { parseInjected } from './injected.ts';

const CURRENT = { version: '1', configHash: 'c' };
const record = (version: string, config: string): Record<string, string> => ({
  'platform.io/injected': JSON.stringify({
    version,
    config,
    agent: { container: 'agent', port: 8000 },
    restore: [],
    ownLabel: false,
  }),
});
const opted = { 'platform.io/inject': 'true' };

const pod = (hasSidecar: boolean, annotations: Record<string, string>) => ({
  hasSidecar,
  optedIn: optsIn(annotations),
  hasKnownCa: annotations['platform.io/ca'] === undefined ? null : annotations['platform.io/ca'] === 'own',
  injected: parseInjected({ annotations }),
});

const CASES: [string, boolean, Record<string, string>, DriftReason | null][] = [
  ['with the current injection', true, { ...opted, ...record('1', 'c') }, null],
  ['opted in without a sidecar', false, opted, 'sidecar-missing'],
  ['with an invalid annotation value', false, { 'platform.io/inject': 'yes' }, 'sidecar-missing'],
  ['without an annotation and without a sidecar', false, {}, 'not-opted-in'],
  ['opted out without a sidecar', false, { 'platform.io/inject': 'false' }, 'not-opted-in'],
  ['with a manually added sidecar', true, {}, 'not-injected'],
  ['that opted out later', true, { 'platform.io/inject': 'false', ...record('1', 'c') }, 'not-injected'],
  ['with another CA', true, { ...opted, ...record('1', 'c'), 'platform.io/ca': 'other' }, 'ca-unknown'],
  ['with a manually added sidecar and another CA', true, { 'platform.io/ca': 'other' }, 'ca-unknown'],
  ['opted in, with a sidecar but no record', true, opted, 'record-missing'],
  ['opted in, with an invalid record', true, { ...opted, 'platform.io/injected': '{' }, 'record-missing'],
  ['with an older version', true, { ...opted, ...record('0', 'c') }, 'version-outdated'],
  ['with other settings', true, { ...opted, ...record('1', 'd') }, 'configuration-outdated'],
];

describe('drift', () => {
  test.each(CASES)('of a pod %s', (_, hasSidecar, annotations, expected) => {
    expect(driftOf(pod(hasSidecar, annotations), CURRENT)).toBe(expected);
  });

  test('has a case for every reason', () => {
    const seen = new Set(CASES.flatMap(([, , , reason]) => reason ?? []));
    expect([...seen].sort()).toEqual(Object.keys(DRIFT_SUMMARIES).sort());
  });

  test('counts no pod as outdated if the current settings are unknown', () => {
    const of = (annotations: Record<string, string>) =>
      driftOf(pod(true, { ...opted, ...annotations }), null);
    expect([of(record('0', 'd')), of({})]).toEqual([null, 'record-missing']);
  });
});
