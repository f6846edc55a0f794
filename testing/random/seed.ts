/**
 * The random seed of all tests: constant, so that a test does not fail randomly on an unrelated change.
 * `make soak` uses a new seed for each run; `SEED=` repeats a run.
 */
export const SEED = seedOf(process.env['SEED']);

function seedOf(text = '1'): number {
  const seed = Number(text);
  if (!Number.isInteger(seed) || Math.abs(seed) >= 2 ** 31)
    throw new Error(`SEED=${text} must be a whole number of 32 bits`);
  return seed;
}
