import fc from 'fast-check';
import { SEED } from './seed.ts';

/** fast-check as every property test takes it: chance begins at the seed of the run. */
fc.configureGlobal({ seed: SEED });

/** Number of runs of an expensive property: `count` with `SEED=`, as in `make soak`, else a third of it. */
export const runs = (count: number): number =>
  process.env['SEED'] === undefined ? Math.ceil(count / 3) : count;

/** Any code point that is no half of a pair. fast-check's `binary` is the same, from a table of all that takes seconds to fill. */
export const anyCharacter = (): fc.Arbitrary<string> =>
  fc.integer({ min: 0, max: 0x10_f7_ff }).map((n) => String.fromCodePoint(n < 0xd800 ? n : n + 0x800));

export { default } from 'fast-check';
