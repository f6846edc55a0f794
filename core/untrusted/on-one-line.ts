/** A text of another party for a message: without control characters, on one line, and cut so that it cannot flood a status. */
export const onOneLine = (text: string, longest = 2_048): string =>
  text
    .slice(0, longest)
    // Not by a regular expression: each start in a long run of spaces would read the run again.
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('; ')
    .replaceAll(/\p{C}+/gu, ' ');
