/** The factor of each suffix. As text, because a power of ten with a negative exponent is not exact. */
const SUFFIXES: Readonly<Record<string, number>> = Object.fromEntries([
  ...['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'].map((suffix, index) => [
    suffix,
    Number(`1e${3 * index - 9}`),
  ]),
  ...['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'].map((suffix, index) => [suffix, 2 ** (10 * (index + 1))]),
]) as Record<string, number>;

const QUANTITY = /^(\d{1,15}(?:\.\d{0,9})?|\.\d{1,9})(?:([eE][+-]?\d{1,2})|([numkMGTPE]|[KMGTPE]i))?$/;

/** The numeric value of a Kubernetes quantity such as `100m`, `1.5` or `192Mi`; null when the text is invalid or negative. */
export function parseQuantity(text: string): number | null {
  const match = QUANTITY.exec(text);
  if (!match) return null;
  const [, digits = '', exponent = '', suffix = ''] = match;
  return Number(digits + exponent) * (SUFFIXES[suffix] ?? 1);
}
