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

/** Whether the pattern matches some text that begins with `start`. */
export function matchesSome(pattern: string, start: string): boolean {
  const star = pattern.indexOf('*');
  const head = star < 0 ? pattern : pattern.slice(0, star);
  // After a `*` everything can follow.
  return head.startsWith(start) || (star >= 0 && start.startsWith(head));
}

/** Whether every text of the narrower pattern matches: its own `*` can only be covered by a `*`. */
export const covers = (pattern: string, narrower: string): boolean => matches(pattern, narrower);

/** Whether one of the patterns matches. */
export const matchesAny = (patterns: readonly string[], text: string): boolean =>
  patterns.some((pattern) => matches(pattern, text));
