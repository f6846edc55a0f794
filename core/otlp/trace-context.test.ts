import { describe, expect, test } from '@jest/globals';
import { parseTraceparent, traceparentOf } from './trace-context.ts';

const [TRACE, SPAN] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];

describe('a traceparent', () => {
  test.each([
    ['is valid', `00-${TRACE}-${SPAN}-01`],
    ['is valid without the sampled flag', `00-${TRACE}-${SPAN}-00`],
    ['of a later version is valid', `01-${TRACE}-${SPAN}-01`],
    ['of a later version may have more fields', `01-${TRACE}-${SPAN}-01-more`],
  ])('%s', (_, header) => {
    expect(parseTraceparent(header)).toEqual({ traceId: TRACE, parentId: SPAN });
  });

  test.each([
    ['that is empty', ''],
    ['of version ff', `ff-${TRACE}-${SPAN}-01`],
    ['of version 00 with more fields', `00-${TRACE}-${SPAN}-01-more`],
    ['with upper-case digits', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ['with a null trace', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['with a null parent', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['with a short trace', `00-${TRACE.slice(1)}-${SPAN}-01`],
    ['with a long flag', `00-${TRACE}-${SPAN}-011`],
    ['with a blank', ` 00-${TRACE}-${SPAN}-01`],
  ])('%s is not valid', (_, header) => {
    expect(parseTraceparent(header)).toBeNull();
  });

  test('that the sidecar creates is sampled', () => {
    expect(traceparentOf({ traceId: TRACE, parentId: SPAN })).toBe(`00-${TRACE}-${SPAN}-01`);
  });
});
