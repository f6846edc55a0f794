/**
 * Removes the optional whitespace around header values and list members (RFC 9110 section 5.6.3). `trim` would remove too
 * much: each character of a header is a byte, and raw UTF-8 may end in 0xA0.
 */
export function withoutBlanks(member: string): string {
  let start = 0;
  let end = member.length;
  while (start < end && isBlank(member[start])) start += 1;
  while (end > start && isBlank(member[end - 1])) end -= 1;
  return member.slice(start, end);
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t';
}
