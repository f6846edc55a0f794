import { expect, test } from '@jest/globals';
import { applyPatch } from '../../testing/cluster/json-patch.ts';
import { injectionCases, outcomeOfCase } from '../../testing/cluster/injection-case.ts';
import { decide } from './decide.ts';
import { inject, uninject } from './inject.ts';
import { patchBetween } from './patch.ts';
import { podProblem } from './parse-review.ts';
import type { Pod } from './pod.ts';
import { injectionSettings } from '../../testing/cluster/pods.ts';

const CASES = injectionCases();

test('finds the cases', () => {
  expect(CASES.length).toBeGreaterThan(50);
});

test.each(CASES)('%s', (_name, { about, settings, before, ...expected }) => {
  expect(about).not.toBe('');
  expect(podProblem(before, 'before')).toBeNull();
  expect(outcomeOfCase({ settings, before })).toEqual(expected);
});

const INJECTED = CASES.flatMap(([name, { settings, before, after }]) =>
  after ? [{ name, settings, before, after }] : [],
);

test.each(INJECTED)(
  'injection of $name is idempotent, patchable and reversible',
  ({ name, settings: overrides, before, after }) => {
    const settings = injectionSettings(overrides);
    const again = decide(after, settings);
    if (again.action !== 'inject') throw new Error('not injected again');
    expect(inject(after, again, settings)).toEqual(after);
    expect(applyPatch(before, patchBetween(before, after))).toEqual(after);
    // Uninject removes the forged record of this case.
    if (name !== 'hostile-record')
      expect(withoutEmpties(uninject(after))).toEqual(withoutEmpties(uninject(before)));
  },
);

function withoutEmpties({ spec: { initContainers = [], volumes = [], ...spec }, ...pod }: Pod): unknown {
  return {
    ...pod,
    spec: {
      ...spec,
      ...(initContainers.length > 0 && { initContainers }),
      ...(volumes.length > 0 && { volumes }),
    },
  };
}
