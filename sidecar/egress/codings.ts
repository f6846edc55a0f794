import type { Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import { decodeBody, ZSTD_PARAMS } from '../usage/decode-body.ts';
import { valuesOf, type HeaderList } from '../proxy/headers.ts';

type Decoded = ReturnType<typeof decodeBody>;
type Decode = (body: Buffer, maxBytes: number) => Decoded;

/** The codings that clients and servers decode. Servers send `deflate` with and without the header of zlib. */
const DECODERS = {
  gzip: (body, max) => decodeBody('gzip', body, max),
  'x-gzip': (body, max) => decodeBody('gzip', body, max),
  br: (body, max) => decodeBody('br', body, max),
  zstd: (body, max) => decodeBody('zstd', body, max),
  deflate: (body, max) => decodeBody('deflate', body, max) ?? decodeBody('deflate-raw', body, max),
} as const satisfies Readonly<Record<string, Decode>>;

export type Coding = keyof typeof DECODERS;

const isCoding = (name: string): name is Coding => Object.hasOwn(DECODERS, name);

/** The codings of a body, in the order in which they were applied. Others are ignored, as clients do. */
export function codingsOf(raw: HeaderList): Coding[] {
  return valuesOf(raw, 'content-encoding')
    .flatMap((value) => value.split(','))
    .map((name) => name.trim().toLowerCase())
    .filter(isCoding);
}

/** More codings are not decoded. */
const MAX_CODINGS = 3;

/** The body without its codings. `too-large`: it has more than `maxBytes` without them; null: it does not have them. */
export function decodedBody(body: Buffer, codings: readonly Coding[], maxBytes: number): Decoded {
  if (codings.length > MAX_CODINGS) return null;
  let decoded: Decoded = body;
  for (const coding of codings.toReversed()) {
    decoded = DECODERS[coding](decoded, maxBytes);
    if (decoded === null || decoded === 'too-large') return decoded;
  }
  return decoded;
}

const ZLIB = { flush: constants.Z_SYNC_FLUSH };
const BROTLI = { flush: constants.BROTLI_OPERATION_FLUSH };
const ZSTD = { flush: constants.ZSTD_e_flush, params: ZSTD_PARAMS };
/** The method deflate in the header of zlib. */
const isZlib = (first = 0): boolean => (first & 0x0f) === 8;

/** A decoder by the first bytes of the body. */
export const DECODER_OF: Readonly<Record<Coding, (start: Buffer) => Transform>> = {
  gzip: () => createGunzip(ZLIB),
  'x-gzip': () => createGunzip(ZLIB),
  br: () => createBrotliDecompress(BROTLI),
  zstd: () => createZstdDecompress(ZSTD),
  deflate: ([first]) => (isZlib(first) ? createInflate(ZLIB) : createInflateRaw(ZLIB)),
};
