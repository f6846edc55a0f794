/** A generator of reproducible random numbers in [0, 1). */
export function diceOf(seed: number): () => number {
  let state = seed & 0x7fffffff;
  // Math.imul is exact: a product of doubles loses its low bits, and the numbers repeat after about 11,000.
  return () => (state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff) / 0x80000000;
}

/** A random name, weighted. */
export function oneOf<T extends string>(dice: () => number, weights: Readonly<Record<T, number>>): T {
  const names = Object.keys(weights) as T[];
  const total = names.reduce((sum, name) => sum + weights[name], 0);
  let left = dice() * total;
  return names.find((name) => (left -= weights[name]) < 0) ?? names[0]!;
}
