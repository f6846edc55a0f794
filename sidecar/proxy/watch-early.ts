import type { Socket } from 'node:net';
import { ChunkStore } from '../../runtime/chunk-store.ts';

/** Maximum bytes that a client may send before the other side has switched protocols. Normally there are none. */
const MAX_EARLY_BYTES = 16 * 1024;

/**
 * Reads a client that waits for the switch to another protocol: without reading, its disconnection would not be detected. `head`: the
 * bytes after its request.
 * @returns a function that ends this and puts the bytes back
 */
export function watchEarly(client: Socket, head: Buffer): () => void {
  const early = new ChunkStore();
  const take = (chunk: Buffer): void => {
    early.add(chunk);
    if (early.bytes > MAX_EARLY_BYTES) client.destroy();
  };
  if (head.length > 0) take(head);
  const leave = (): void => void client.destroy();
  client.on('data', take).on('end', leave);
  return () => {
    client.off('data', take).off('end', leave).pause();
    if (early.bytes > 0) client.unshift(early.take());
  };
}
