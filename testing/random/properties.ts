import fc from 'fast-check';
import { SEED } from './seed.ts';

/** fast-check for all property tests, with the seed of the run. */
fc.configureGlobal({ seed: SEED });

/** Number of runs of an expensive property: `count` with `SEED=`, as in `make soak`, else a third of it. */
export const runs = (count: number): number =>
  process.env['SEED'] === undefined ? Math.ceil(count / 3) : count;

/** Any code point except surrogates. fast-check's `binary` is equivalent but fills a table for seconds. */
export const anyCharacter = (): fc.Arbitrary<string> =>
  fc.integer({ min: 0, max: 0x10_f7_ff }).map((n) => String.fromCodePoint(n < 0xd800 ? n : n + 0x800));

export { default } from 'fast-check';
