/** Supported content codings. A body with another coding, or with several codings, is not read. */
const CODINGS = ['gzip', 'deflate', 'br', 'zstd'] as const;
export type Coding = (typeof CODINGS)[number];

/**
 * Decodes a copy of a body or of its start. `too-large`: the result would exceed `maxBytes`; null: the body does not have
 * this coding. A truncated body is decoded as far as possible.
 */
export type Decode = (coding: Coding, body: Uint8Array, maxBytes: number) => Uint8Array | 'too-large' | null;

/** The coding in a `Content-Encoding` header. null: the body is not encoded; `unknown`: it cannot be decoded. */
export function codingOf(header: string | undefined): Coding | 'unknown' | null {
  const name = header?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity') return null;
  return CODINGS.find((coding) => coding === (name === 'x-gzip' ? 'gzip' : name)) ?? 'unknown';
}
