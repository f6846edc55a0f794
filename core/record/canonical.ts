/** A text as JSON. A surrogate without its pair has no UTF-8 form, so it becomes U+FFFD. */
export const jsonText = (text: string): string =>
  JSON.stringify(text.isWellFormed() ? text : text.toWellFormed());

/** Events have six levels. Without a limit, a line of brackets would exceed the stack. */
const MAX_LEVELS = 100;

/**
 * JSON with the members in the order of RFC 8785 (JCS). Members whose value is undefined are left out. Only for values of JSON
 * without lone surrogates in names. Throws a RangeError for more than 100 levels.
 */
export function canonicalJson(value: unknown, levels = MAX_LEVELS): string {
  if (levels === 0) throw new RangeError(`nested more than ${MAX_LEVELS} levels deep`);
  if (typeof value === 'string') return jsonText(value);
  if (Array.isArray(value)) return `[${value.map((each) => canonicalJson(each, levels - 1)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    // The order of UTF-16 units, as RFC 8785 requires.
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${jsonText(name)}:${canonicalJson(member, levels - 1)}`).join(',')}}`;
}
