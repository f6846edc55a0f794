export type Found<T> = { ok: true; value: T } | { ok: false; reason: string };

export const notFound = (reason: string) => ({ ok: false as const, reason });

/** A key that a header can carry. Messages never contain the key itself. @param source where it comes from, for the message */
export function usableKey(
  text: string,
  source: string,
  what: 'admin key' | 'token' = 'admin key',
): Found<string> {
  const value = text.trim();
  return /^[\x20-\x7e]{1,4096}$/.test(value)
    ? { ok: true, value }
    : notFound(`${source} does not contain a valid ${what}: expected one line of printable ASCII characters`);
}
