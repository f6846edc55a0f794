/**
 * Whether the text matches a pattern, in which `*` stands for any characters. Never a RegExp: the texts come from manifests, whose
 * authors must not choose the cost. At most pattern × text steps.
 */
export function matches(pattern: string, text: string): boolean {
  let at = 0;
  let star = -1;
  let resume = 0;
  for (let index = 0; index < text.length;) {
    if (pattern[at] === '*') {
      star = at++;
      resume = index;
    } else if (pattern[at] === text[index]) {
      at++;
      index++;
    } else if (star >= 0) {
      at = star + 1;
      index = ++resume;
    } else return false;
  }
  while (pattern[at] === '*') at++;
  return at === pattern.length;
}

/** Whether some text matches both patterns. */
export function overlap(a: string, b: string): boolean {
  if (!b.includes('*')) return matches(a, b);
  /** Whether the ends of the patterns, from the next place of `a` and from each place of `b`, have a common text. */
  let below: boolean[] = [];
  for (let i = a.length; i >= 0; i--) {
    const row: boolean[] = [];
    for (let j = b.length; j >= 0; j--) {
      const bothEnd = i === a.length && j === b.length;
      const hasStar = a[i] === '*' || b[j] === '*';
      const goesOn = hasStar
        ? below[j] === true || row[j + 1] === true
        : a[i] === b[j] && below[j + 1] === true;
      row[j] = bothEnd || goesOn;
    }
    below = row;
  }
  return below[0] === true;
}

/** Whether every text of the narrower pattern matches: its own `*` can only be covered by a `*`. */
export const covers = (pattern: string, narrower: string): boolean => matches(pattern, narrower);

/** Whether one of the patterns matches. */
export const matchesAny = (patterns: readonly string[], text: string): boolean =>
  patterns.some((pattern) => matches(pattern, text));
