import {
  brotliDecompressSync,
  constants,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
} from 'node:zlib';
import type { Coding } from '../../core/usage/coding.ts';

/** 8 MiB, the maximum for HTTP (RFC 9659). With Node's own limit, a frame of a few bytes could allocate 128 MiB. */
export const ZSTD_PARAMS = { [constants.ZSTD_d_windowLogMax]: 23 };

/** The flush options decode a truncated body as far as possible, because its tokens were used anyway. */
const ZLIB = { finishFlush: constants.Z_SYNC_FLUSH };
const BROTLI = { finishFlush: constants.BROTLI_OPERATION_FLUSH };
const ZSTD = { finishFlush: constants.ZSTD_e_flush, params: ZSTD_PARAMS };

/** `deflate-raw`: without the header of zlib. */
const DECODERS: Record<Coding | 'deflate-raw', (body: Uint8Array, maxOutputLength: number) => Buffer> = {
  gzip: (body, maxOutputLength) => gunzipSync(body, { ...ZLIB, maxOutputLength }),
  deflate: (body, maxOutputLength) => inflateSync(body, { ...ZLIB, maxOutputLength }),
  'deflate-raw': (body, maxOutputLength) => inflateRawSync(body, { ...ZLIB, maxOutputLength }),
  br: (body, maxOutputLength) => brotliDecompressSync(body, { ...BROTLI, maxOutputLength }),
  zstd: (body, maxOutputLength) => zstdDecompressSync(body, { ...ZSTD, maxOutputLength }),
};

/** Decodes a copy of a complete body; the forwarded bytes are not changed. The results are those of `Decode`. */
export function decodeBody(
  coding: keyof typeof DECODERS,
  body: Uint8Array,
  maxBytes: number,
): Buffer | 'too-large' | null {
  try {
    return DECODERS[coding](body, maxBytes);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'too-large' : null;
  }
}
