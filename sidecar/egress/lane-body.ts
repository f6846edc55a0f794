import { PassThrough, type Readable } from 'node:stream';
import { ChunkStore } from '../../runtime/chunk-store.ts';

export interface BodyReader {
  maxBytes: number;
  /** Reserves memory; false: there is none. */
  keep: (bytes: number) => boolean;
  onWhole: (body: Buffer) => void;
  /** The body is too large to be read: `rest` has all of it. */
  onTooLarge: (rest: Readable) => void;
}

/** Reads the body of a request into memory. A body above the limit passes on without being read to its end. */
export function readBody(request: Readable, { maxBytes, keep, onWhole, onTooLarge }: BodyReader): void {
  const store = new ChunkStore();
  const stop = (): void => void request.off('data', take).off('end', end);
  const take = (chunk: Buffer): void => {
    store.add(chunk);
    if (store.bytes <= maxBytes && keep(chunk.length)) return;
    stop();
    request.pause();
    const rest = passed(request);
    rest.write(store.take());
    onTooLarge(rest);
  };
  const end = (): void => {
    stop();
    onWhole(store.take());
  };
  request.on('data', take).on('end', end);
}

/** A body to send as it is. */
export const unread = (body: Buffer | Readable): Buffer | Readable =>
  Buffer.isBuffer(body) ? body : passed(body);

/** The body as a stream of its own: a client library destroys the body of a request that it no longer sends. */
function passed(request: Readable): PassThrough {
  const body = new PassThrough();
  body.on('error', () => undefined);
  // Not `pipeline`, which would destroy the request.
  return request.pipe(body);
}
