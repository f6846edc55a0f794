const LONGEST = 64;

/**
 * Number of typing mistakes (insert, delete, replace, swap of adjacent characters) between two words. A distance above
 * `limit` is returned as any number above `limit`.
 */
function distance(a: string, b: string, limit: number): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    let least = row;
    for (let column = 1; column <= b.length; column += 1) {
      const isSame = a[row - 1] === b[column - 1];
      let best = at(last, column - 1) + (isSame ? 0 : 1);
      if (at(last, column) < best) best = at(last, column) + 1;
      if (at(current, column - 1) < best) best = at(current, column - 1) + 1;
      const isSwap = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (isSwap && at(beforeLast, column - 2) < best) best = at(beforeLast, column - 2) + 1;
      current.push(best);
      if (best < least) least = best;
    }
    if (least > limit) return least;
    [beforeLast, last] = [last, current];
  }
  return at(last, b.length);
}

const at = (row: number[], column: number): number => row[column] ?? Number.POSITIVE_INFINITY;

const folded = (word: string): string => word.toLowerCase().replaceAll(/[-_\s]/g, '');

/** The candidate that `word` was probably meant to be; undefined if no candidate is similar enough. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > LONGEST) return undefined;
  const wanted = folded(word);
  const allowed = wanted.length <= 3 ? 1 : wanted.length <= 7 ? 2 : 3;
  let best: string | undefined;
  let fewest = allowed + 1;
  for (const candidate of candidates) {
    const other = folded(candidate);
    if (Math.abs(other.length - wanted.length) > allowed) continue;
    const mistakes = distance(wanted, other, allowed);
    // Two short words without a common letter are not similar, even though their distance is small.
    if (mistakes < fewest && mistakes < Math.max(wanted.length, 2)) [best, fewest] = [candidate, mistakes];
  }
  return best;
}
