const FIRST_MS = 1_000;
const LONGEST_MS = 30_000;

/**
 * Time before the next attempt after `failures` failures: doubles up to 30 s. Half of it is random, so that the browsers of a
 * fleet do not return together after a restart of the server. `random`: 0..1
 */
export function backoffMs(failures: number, random: number): number {
  const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.max(0, failures - 1));
  return longest / 2 + (longest / 2) * random;
}
