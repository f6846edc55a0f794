import { expect, test } from '@jest/globals';
import { ChunkStore, PIECE_BYTES } from './chunk-store.ts';

test('returns the stored bytes in order for chunks of any size', () => {
  const store = new ChunkStore();
  const sizes = [1, 1, 5_000, 3, PIECE_BYTES - 1, 2, PIECE_BYTES, 1, 1, 1];
  const chunks = sizes.map((size, index) => Buffer.alloc(size, 'a'.charCodeAt(0) + index));
  for (const chunk of chunks) store.add(chunk);
  expect(store.bytes).toBe(Buffer.concat(chunks).length);
  expect(store.take()).toEqual(Buffer.concat(chunks));
  expect([store.bytes, store.take()]).toEqual([0, Buffer.alloc(0)]);
});

test('does not copy a single chunk', () => {
  const store = new ChunkStore();
  const chunk = Buffer.from('{}');
  store.add(chunk);
  expect(store.take()).toBe(chunk);
});
