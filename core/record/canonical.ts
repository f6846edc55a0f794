/** A text as JSON. A surrogate without its pair has no UTF-8 form, so it becomes U+FFFD. */
export const jsonText = (text: string): string =>
  JSON.stringify(text.isWellFormed() ? text : text.toWellFormed());

/**
 * JSON with the members in the order of RFC 8785 (JCS). Members whose value is undefined are left out. Only for values of JSON
 * without lone surrogates in names.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'string') return jsonText(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    // The order of UTF-16 units, as RFC 8785 requires.
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${jsonText(name)}:${canonicalJson(member)}`).join(',')}}`;
}
