import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';

const COMPRESS = { br: promisify(brotliCompress), gzip: promisify(gzip) };
type Coding = keyof typeof COMPRESS | 'identity';

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/** One file of the dashboard, as it is served. */
export interface Asset {
  contentType: string;
  cacheControl: string;
  /** Weak, because all codings have the same one. */
  etag: string;
  /** Each coding is computed by its first request, off the main thread, and kept. */
  encoded(coding: Coding): Promise<Buffer>;
}

export function assetOf(name: string, text: string): Asset {
  const identity = Buffer.from(text);
  const codings = new Map<Coding, Promise<Buffer>>([['identity', Promise.resolve(identity)]]);
  return {
    contentType: TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
    // The name of a script or stylesheet has a hash of its content.
    cacheControl: name.startsWith('app-') ? 'public, max-age=31536000, immutable' : 'no-cache',
    etag: `W/"${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}"`,
    encoded(coding) {
      const known = codings.get(coding);
      if (known !== undefined || coding === 'identity') return known ?? Promise.resolve(identity);
      const made = COMPRESS[coding](identity);
      codings.set(coding, made);
      return made;
    },
  };
}
