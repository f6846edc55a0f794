import fc from 'fast-check';
import { SEED } from './seed.ts';

/** fast-check as every property test takes it: chance begins at the seed of the run. */
fc.configureGlobal({ seed: SEED });

export { default } from 'fast-check';
