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

/** Charsets in which names and numbers are ASCII, apart from zero bytes. */
const LIKE_ASCII = /charset\s*=\s*["']?\s*(?:utf-?(?:8|16|32)|(?:us-)?ascii|iso-8859|latin|windows-125)/i;

/** Whether names and numbers can be found in the bytes of a text of this content type. */
export function isLikeAscii(contentType: string | undefined): boolean {
  return contentType === undefined || !/charset/i.test(contentType) || LIKE_ASCII.test(contentType);
}
