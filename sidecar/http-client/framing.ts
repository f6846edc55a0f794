import type { HeadReader } from './head-reader.ts';
import { InvalidResponse } from './invalid-response.ts';

/** How the end of a body is found. */
export type BodyEnd = 'none' | 'length' | 'chunks' | 'close';

/** The part of a response head that determines its end and the use of its connection. */
export type FramedHead = Pick<HeadReader, 'status' | 'isHttp11' | 'fields'>;

export interface ResponseFraming {
  end: BodyEnd;
  /** Bytes of a body with a length. */
  length: number;
  /** true: the connection may be used for another request. A response to HEAD must have a length or chunks, as any other. */
  persists: boolean;
  /** The value of Keep-Alive; an empty string: none. */
  keepAlive: string;
}

/**
 * Determines the framing of a response (RFC 9112 section 6.3). Refuses two lengths, a length with a transfer coding, and all
 * transfer codings except chunked, because the proxy does not pass them on.
 */
export function framingOf({ status, isHttp11, fields }: FramedHead, isHead: boolean): ResponseFraming {
  let length = -1;
  let isChunked = false;
  let closes = false;
  let keeps = false;
  let keepAlive = '';
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] ?? '';
    const value = fields[i + 1] ?? '';
    // The length of a name is compared first, because most names are of no interest here.
    switch (name.length) {
      case 10: {
        const lower = name.toLowerCase();
        if (lower === 'keep-alive') keepAlive = keepAlive === '' ? value : `${keepAlive},${value}`;
        else if (lower === 'connection') {
          closes ||= CLOSE.test(value);
          keeps ||= KEEP.test(value);
        }
        break;
      }
      case 14:
        if (name.toLowerCase() !== 'content-length') break;
        if (length >= 0) throw new InvalidResponse('the response has more than one Content-Length');
        length = lengthOf(value);
        break;
      case 17:
        if (name.toLowerCase() !== 'transfer-encoding') break;
        if (isChunked || value.toLowerCase() !== 'chunked')
          throw new InvalidResponse('the only supported Transfer-Encoding is chunked, once');
        isChunked = true;
    }
  }
  if (isChunked && length >= 0)
    throw new InvalidResponse('the response has a Content-Length and a Transfer-Encoding');
  const hasNoBody = status < 200 || status === 204 || status === 304;
  const isMarked = isChunked || length >= 0;
  const end = hasNoBody || isHead ? 'none' : isChunked ? 'chunks' : length >= 0 ? 'length' : 'close';
  // Some servers send a body with 204 or 304 if they also declare it. It would be read as the next response.
  const mayHaveBody = status >= 200 && hasNoBody && !isHead && (isChunked || length > 0);
  const persists = isHttp11 ? !closes : keeps && !closes && !isChunked;
  return { end, length, persists: persists && (hasNoBody || isMarked) && !mayHaveBody, keepAlive };
}

const CLOSE = /(?:^|,)[\t ]*close[\t ]*(?:,|$)/i;
const KEEP = /(?:^|,)[\t ]*keep-alive[\t ]*(?:,|$)/i;

function lengthOf(value: string): number {
  const length = /^\d+$/.test(value) ? Number(value) : NaN;
  if (!Number.isSafeInteger(length)) throw new InvalidResponse('the Content-Length is invalid');
  return length;
}
