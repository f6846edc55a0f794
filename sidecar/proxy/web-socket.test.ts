import { expect, test } from '@jest/globals';
import { FrameEnds } from './web-socket.ts';

const frame = (bytes: number, isMasked = false): Buffer => {
  const mask = isMasked ? 0x80 : 0;
  const head =
    bytes < 126
      ? [0x81, mask | bytes]
      : bytes < 65_536
        ? [0x82, mask | 126, bytes >> 8, bytes & 0xff]
        : [0x82, mask | 127, 0, 0, 0, 0, ...[24, 16, 8, 0].map((shift) => (bytes >> shift) & 0xff)];
  return Buffer.concat([
    Buffer.from([...head, ...(isMasked ? [1, 2, 3, 4] : [])]),
    Buffer.alloc(bytes, 0x88),
  ]);
};

const FRAMES = [0, 1, 125, 126, 127, 65_535, 65_536].flatMap((bytes) => [frame(bytes), frame(bytes, true)]);

test.each([1, 2, 3, 7, 4_096, 1_000_000])('finds the ends of frames in chunks of %i bytes', (size) => {
  const ends = new Set<number>();
  let bytes = 0;
  for (const each of FRAMES) ends.add((bytes += each.length));
  const all = Buffer.concat(FRAMES);
  const reader = new FrameEnds();
  expect(reader.isAtEnd).toBe(true);
  for (let at = 0; at < all.length; at += size) {
    reader.read(all.subarray(at, at + size));
    const end = Math.min(at + size, all.length);
    if (reader.isAtEnd !== ends.has(end)) throw new Error(`wrong after ${end} bytes`);
  }
  expect(reader.isAtEnd).toBe(true);
});
