import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { injectionSettings } from '../../testing/pods.ts';
import { decide, type SkipCode } from './decide.ts';
import { inject } from './inject.ts';
import type { Pod } from './pod.ts';
import type { Refusal } from './refusals.ts';

/** One file of cases/: a pod as it is created, and what becomes of it. */
type Case = { about: string; before: Pod } & (
  { after: Pod } | { skipped: SkipCode } | { refused: Refusal[] }
);

const folder = join(import.meta.dirname, 'cases');
const cases = readdirSync(folder).map((file): [string, Case] => [
  file,
  parse(readFileSync(join(folder, file), 'utf8')) as Case,
]);

test.each(cases)('%s', (_file, { about: _about, before, ...expected }) => {
  const settings = injectionSettings();
  const decision = decide(before, settings);
  if (decision.action === 'inject')
    expect({ after: inject(before, decision.plan, settings) }).toEqual(expected);
  else if (decision.action === 'skip') expect({ skipped: decision.code }).toEqual(expected);
  else expect({ refused: decision.refusals }).toEqual(expected);
});
