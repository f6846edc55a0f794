/** An event of Chromium's trace. Times in microseconds. */
export interface TraceEvent {
  name: string;
  ph: string;
  ts: number;
  pid: number;
  tid: number;
  dur?: number;
  /** Processor time of the thread; not affected by other load of the machine. */
  tdur?: number;
  args?: { name?: string };
}

/** Scripts, styles and layout: what a page itself causes on the main thread. Painting is left out. */
const WORK = new Set([
  ...['FunctionCall', 'EvaluateScript', 'FireAnimationFrame', 'TimerFire', 'EventDispatch', 'RunMicrotasks'],
  ...['MinorGC', 'MajorGC'],
  ...['UpdateLayoutTree', 'RecalculateStyles', 'Layout'],
]);
const FRAME = 'BeginMainThreadFrame';

/** Milliseconds of scripts, styles and layout in each frame of the page, in order. Frames without work count. */
export function workPerFrame(events: readonly TraceEvent[]): number[] {
  const main = mainThreadOf(events);
  const mine = events.filter(({ pid, tid }) => `${pid}/${tid}` === main).sort((a, b) => a.ts - b.ts);
  const frames: number[] = [];
  let end = 0;
  for (const { name, ts, dur = 0, tdur } of mine) {
    if (name === FRAME) {
      frames.push(0);
      end = 0;
    }
    const last = frames.length - 1;
    // An event inside of another one is part of its time. Work before the first frame belongs to no frame.
    if (!WORK.has(name) || last < 0 || ts < end) continue;
    end = ts + dur;
    frames[last] = (frames[last] ?? 0) + (tdur ?? dur) / 1000;
  }
  return frames;
}

/** The main thread of the page: the browser has renderers without a page too. */
function mainThreadOf(events: readonly TraceEvent[]): string | undefined {
  const counts = new Map<string, number>();
  for (const { name, args, pid, tid } of events)
    if (name === 'thread_name' && args?.name === 'CrRendererMain') counts.set(`${pid}/${tid}`, 0);
  for (const { name, pid, tid } of events) {
    const count = counts.get(`${pid}/${tid}`);
    if (count !== undefined && name === FRAME) counts.set(`${pid}/${tid}`, count + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}
