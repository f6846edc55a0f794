import { describe, expect, test } from '@jest/globals';
import { parseDataset, selectSamples, type Sample } from './dataset.ts';

describe('parseDataset', () => {
  test('reads one sample per line, with tags, and ignores empty lines and other members', () => {
    const text =
      '\ufeff{"input":"a","expected":"b"}\r\n\n  {"input":"c","expected":"d","tags":["x"],"context":[1]}\n';
    expect(parseDataset(text)).toEqual({
      ok: true,
      samples: [
        { line: 1, input: 'a', expected: 'b', tags: [] },
        { line: 3, input: 'c', expected: 'd', tags: ['x'] },
      ],
    });
  });

  test.each([
    ['{"input":"a"', 1, /^is not valid JSON$/],
    ['  hello', 3, /^is not valid JSON$/],
    ['  [1]', 3, /^must be an object/],
    ['{"input":1,"expected":"b"}', 2, /^input must be/],
    ['{"expected":"b"}', 1, /^input must be/],
    ['{"input":"a","expected":""}', 14, /^expected must be/],
    ['{"input":"a","expected":"b","tags":"x"}', 29, /^tags must be/],
  ])('%s is a problem at column %i', (line, column, message) => {
    const parsed = parseDataset(`{"input":"a","expected":"b"}\n${line}\n`);
    expect(parsed).toEqual({
      ok: false,
      problems: [{ line: 2, column, message: expect.stringMatching(message) as unknown }],
    });
  });

  test('lists at most 20 problems', () => {
    const parsed = parseDataset('x\n'.repeat(30));
    expect(parsed.ok ? [] : parsed.problems).toHaveLength(20);
  });

  test('an empty dataset is a problem', () => {
    expect(parseDataset('\n \n')).toMatchObject({
      ok: false,
      problems: [{ message: 'the dataset has no sample' }],
    });
  });
});

describe('selectSamples', () => {
  const samples = Array.from({ length: 10 }, (_, index): Sample => ({
    line: index + 1,
    input: 'a',
    expected: 'b',
    tags: index % 2 === 0 ? ['even'] : [],
  }));
  test.each([
    [{ tag: null, size: null }, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
    [{ tag: null, size: 4 }, [1, 3, 6, 8]],
    [{ tag: 'even', size: null }, [1, 3, 5, 7, 9]],
    [{ tag: 'even', size: 2 }, [1, 5]],
    [{ tag: null, size: 99 }, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
    [{ tag: 'none', size: null }, []],
  ])('%j', (options, lines) => {
    expect(selectSamples(samples, options).map(({ line }) => line)).toEqual(lines);
  });
});
