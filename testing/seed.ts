/**
 * Where chance begins in every test: the same in each run, so that a change fails for what it changed and nothing else.
 * `make soak` begins elsewhere each time; `SEED=` repeats what it, or anything, found.
 */
export const SEED = seedOf(process.env['SEED']);

function seedOf(text = '1'): number {
  const seed = Number(text);
  if (!Number.isInteger(seed) || Math.abs(seed) >= 2 ** 31)
    throw new Error(`SEED=${text} must be a whole number of 32 bits`);
  return seed;
}
