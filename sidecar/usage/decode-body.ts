import {
  brotliDecompressSync,
  constants,
  gunzipSync,
  zstdDecompressSync,
  type BrotliOptions,
  type ZlibOptions,
  type ZstdOptions,
} from 'node:zlib';
import type { Coding, Decode } from '../../core/usage/create-usage-reader.ts';

/** Flush options that decode a truncated body as far as possible, because its tokens were used anyway. */
const GZIP: ZlibOptions = { finishFlush: constants.Z_SYNC_FLUSH };
const BROTLI: BrotliOptions = { finishFlush: constants.BROTLI_OPERATION_FLUSH };
const ZSTD: ZstdOptions = {
  finishFlush: constants.ZSTD_e_flush,
  // 8 MiB, the maximum for HTTP (RFC 9659). With Node's own limit, a frame of a few bytes could allocate 128 MiB.
  params: { [constants.ZSTD_d_windowLogMax]: 23 },
};

const DECODERS: Record<Coding, (body: Uint8Array, maxOutputLength: number) => Buffer> = {
  gzip: (body, maxOutputLength) => gunzipSync(body, { ...GZIP, maxOutputLength }),
  br: (body, maxOutputLength) => brotliDecompressSync(body, { ...BROTLI, maxOutputLength }),
  zstd: (body, maxOutputLength) => zstdDecompressSync(body, { ...ZSTD, maxOutputLength }),
};

/** Decodes a copy of a complete response body of at most 1 MiB; the forwarded bytes are not changed. */
export const decodeBody: Decode = (coding, body, maxBytes) => {
  try {
    return DECODERS[coding](body, maxBytes);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'too-large' : null;
  }
};
