import { describe, expect, test } from '@jest/globals';
import { workPerFrame, type TraceEvent } from './frames.ts';
import { quantile } from './report.ts';

const event = (name: string, ts: number, dur: number, more: Partial<TraceEvent> = {}): TraceEvent => ({
  ...{ name, ph: 'X', ts, dur, pid: 1, tid: 2 },
  ...more,
});
const MAIN = event('thread_name', 0, 0, { ph: 'M', args: { name: 'CrRendererMain' } });
const frame = (ts: number): TraceEvent => event('BeginMainThreadFrame', ts, 0);

describe('the work per frame', () => {
  test('is the time of scripts, styles and layout, without nested events and without painting', () => {
    const events = [
      MAIN,
      event('FunctionCall', 10, 5_000),
      frame(10_000),
      event('EventDispatch', 10_100, 3_000),
      event('FunctionCall', 10_200, 2_000),
      event('UpdateLayoutTree', 13_200, 500),
      event('Layout', 13_800, 700),
      event('Paint', 14_600, 9_000),
      frame(26_000),
      frame(42_000),
      event('TimerFire', 43_000, 1_000),
    ];
    expect(workPerFrame(events)).toEqual([4.2, 0, 1]);
  });

  test('is processor time where the trace has it', () => {
    expect(workPerFrame([MAIN, frame(0), event('Layout', 1, 8_000, { tdur: 2_000 })])).toEqual([2]);
  });

  test('is that of the page, not of another thread or process', () => {
    const spare = [
      event('thread_name', 0, 0, { ph: 'M', pid: 9, args: { name: 'CrRendererMain' } }),
      event('FunctionCall', 20, 9_000, { pid: 9 }),
    ];
    const worker = event('FunctionCall', 20, 9_000, { tid: 3 });
    expect(workPerFrame([...spare, MAIN, frame(10), worker, event('Layout', 30, 1_000)])).toEqual([1]);
  });

  test('is empty for a trace without frames', () => {
    expect(workPerFrame([])).toEqual([]);
  });
});

test.each([
  [[3, 1, 2], 0.5, 2],
  [[3, 1, 2], 1, 3],
  [[5], 0.99, 5],
  [[], 0.5, NaN],
])('of %p the quantile %p is %p', (values, share, expected) => {
  expect(quantile(values, share)).toBe(expected);
});
