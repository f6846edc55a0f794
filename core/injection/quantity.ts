const SUFFIXES: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

const QUANTITY = /^(\d{1,15}(?:\.\d{0,9})?|\.\d{1,9})(?:([eE][+-]?\d{1,2})|([numkMGTPE]|[KMGTPE]i))?$/;

/** The numeric value of a Kubernetes quantity such as `100m`, `1.5` or `192Mi`; null when the text is invalid or negative. */
export function parseQuantity(text: string): number | null {
  const match = QUANTITY.exec(text);
  if (!match) return null;
  const [, digits = '', exponent = '', suffix = ''] = match;
  return Number(digits + exponent) * (SUFFIXES[suffix] ?? 1);
}
