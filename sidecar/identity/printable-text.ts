/** Characters of a name of a person. */
const MAX_NAME = 256;

/** Controls, invisible format characters such as a change of the direction of text, half surrogates, and line separators. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u;

/** A text of 1 to 256 printable characters, without blanks around it; null: the value is not such a text. */
export function printableText(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const text = value.trim();
  return text === '' || text.length > MAX_NAME || UNPRINTABLE.test(text) ? null : text;
}
