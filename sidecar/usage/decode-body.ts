import { brotliDecompressSync, constants, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import type { Coding, Decode } from '../../core/usage/coding.ts';

/** 8 MiB, the maximum for HTTP (RFC 9659). With Node's own limit, a frame of a few bytes could allocate 128 MiB. */
export const ZSTD_PARAMS = { [constants.ZSTD_d_windowLogMax]: 23 };

/** The flush options decode a truncated body as far as possible, because its tokens were used anyway. */
const DECODERS: Record<Coding, (body: Uint8Array, maxOutputLength: number) => Buffer> = {
  gzip: (body, maxOutputLength) => gunzipSync(body, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength }),
  deflate: (body, maxOutputLength) =>
    inflateSync(body, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength }),
  br: (body, maxOutputLength) =>
    brotliDecompressSync(body, { finishFlush: constants.BROTLI_OPERATION_FLUSH, maxOutputLength }),
  zstd: (body, maxOutputLength) =>
    zstdDecompressSync(body, {
      finishFlush: constants.ZSTD_e_flush,
      params: ZSTD_PARAMS,
      maxOutputLength,
    }),
};

/** Decodes a copy of a complete response body of at most 1 MiB; the forwarded bytes are not changed. */
export const decodeBody: Decode = (coding, body, maxBytes) => {
  try {
    return DECODERS[coding](body, maxBytes);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'too-large' : null;
  }
};
