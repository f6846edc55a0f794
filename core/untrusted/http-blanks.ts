const SPACE = 32;
const TAB = 9;

/**
 * Returns the text between two positions without the optional whitespace around header values and list members (RFC 9110 section
 * 5.6.3). `trim` would remove too much: each character of a header is a byte, and raw UTF-8 may end in 0xA0.
 */
export function withoutBlanks(text: string, from = 0, to = text.length): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}
