/** Supported content codings. A body with another coding, or with several codings, is not read. */
export type Coding = 'gzip' | 'deflate' | 'br' | 'zstd';

/**
 * Decodes a copy of a body or of its start. `too-large`: the result would exceed `maxBytes`; null: the body does not have
 * this coding. A truncated body is decoded as far as possible.
 */
export type Decode = (coding: Coding, body: Uint8Array, maxBytes: number) => Uint8Array | 'too-large' | null;

const CODINGS: ReadonlyMap<string, Coding | null> = new Map([
  ['', null],
  ['identity', null],
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['br', 'br'],
  ['zstd', 'zstd'],
]);

/** The coding in a `Content-Encoding` header. null: the body is not encoded; `unknown`: it cannot be decoded. */
export function codingOf(header: string | undefined): Coding | 'unknown' | null {
  const coding = CODINGS.get(header?.trim().toLowerCase() ?? '');
  return coding === undefined ? 'unknown' : coding;
}
