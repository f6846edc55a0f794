import { expect, test } from '@jest/globals';
import fc from '../../testing/random/properties.ts';
import { StreamDecoder } from './stream-decoder.ts';

const text = fc.string({ unit: fc.constantFrom('a', '"', '\n', 'é', '€', '😀', '\uFEFF') });
const bytes = fc.oneof(
  text.map((each) => new TextEncoder().encode(each)),
  fc.uint8Array({ maxLength: 20 }),
);

test('decodes chunks like one decoder of the whole stream', () => {
  fc.assert(
    fc.property(bytes, fc.array(fc.nat({ max: 5 })), (whole, lengths) => {
      const decoder = new StreamDecoder();
      let at = 0;
      let decoded = '';
      for (const length of [...lengths, whole.length]) {
        decoded += decoder.decode(whole.subarray(at, at + length));
        at += length;
      }
      expect(decoded + decoder.end()).toBe(new TextDecoder().decode(whole));
    }),
  );
});
