// Measures the dashboard while a fleet scrolls in Chromium: time of scripts, styles and layout per frame, from the browser's trace.
import { parseArgs } from 'node:util';
import { whyNoBrowser } from '../testing/debian-server.ts';
import { TestBrowser, type Visit } from '../testing/browser/chromium.ts';
import { ADMIN_KEY, DashboardPlane, NOW } from '../testing/browser/dashboard-plane.ts';
import { workPerFrame, type TraceEvent } from './frames.ts';
import { quantile } from './report.ts';

/** Agents of the two fleets: a ratio near 1 shows that the number of agents does not matter. */
const FLEETS = [1_000, 10_000] as const;
/** Milliseconds per frame. */
const LIMIT_MS = 10;
const CATEGORIES = [
  'devtools.timeline',
  'disabled-by-default-devtools.timeline',
  'disabled-by-default-devtools.timeline.frame',
  'v8',
];
/** Pixels, and pixels per second. */
const [DISTANCE, SPEED] = [24_000, 6_000];

const HELP = `Usage: npm run bench:dashboard -- [options]

Scroll fleets of ${FLEETS.join(' and ')} agents, down and up, and print the time of scripts and layout per frame.
Exit with 1 if a frame of the larger fleet needs more than ${LIMIT_MS} ms.

  --json    Print the result as JSON
  --help    Print this help`;

interface Result {
  agents: number;
  frames: number;
  medianMs: number;
  p99Ms: number;
  maxMs: number;
  /** Number of rows in the document after the scroll. */
  rows: number;
}

const log = (line: string): void => void process.stderr.write(`${line}\n`);

async function measure(browser: TestBrowser, agents: number): Promise<Result> {
  const plane = await DashboardPlane.open();
  try {
    await plane.addFleet(0);
    plane.cloneAgents(agents - 8);
    const visit = await browser.visit({ url: plane.url, key: ADMIN_KEY, now: NOW });
    await visit.page.getByText(`${agents.toLocaleString('en-GB')} shown`).waitFor();
    // The first pass compiles the scripts.
    await scroll(visit, -DISTANCE);
    await scroll(visit, DISTANCE);
    const frames = await traced(visit, async () => {
      await scroll(visit, -DISTANCE);
      await scroll(visit, DISTANCE);
    });
    const rows = await visit.page.locator('.grid-body [role="row"]').count();
    await browser.endTest();
    return {
      ...{ agents, frames: frames.length, rows },
      medianMs: quantile(frames, 0.5),
      p99Ms: quantile(frames, 0.99),
      maxMs: quantile(frames, 1),
    };
  } finally {
    await plane.close();
  }
}

/** Scrolls as a mouse wheel does, in the speed of a person who searches. */
async function scroll({ context, page }: Visit, yDistance: number): Promise<void> {
  const session = await context.newCDPSession(page);
  await session.send('Input.synthesizeScrollGesture', {
    ...{ x: 640, y: 600, yDistance, speed: SPEED },
    gestureSourceType: 'mouse',
  });
  await session.detach();
}

async function traced({ context, page }: Visit, work: () => Promise<void>): Promise<number[]> {
  const browser = context.browser();
  if (browser === null) throw new Error('the browser has ended');
  await browser.startTracing(page, { categories: CATEGORIES });
  await work();
  const trace = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  const frames = workPerFrame(trace.traceEvents);
  if (frames.length < 60) throw new Error(`the trace has ${frames.length} frames: nothing scrolled`);
  return frames;
}

const { values } = parseArgs({
  options: { json: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
});
const missing = whyNoBrowser();
if (values.help) console.log(HELP);
else if (missing !== undefined) log(`not measured: ${missing}`);
else {
  const browser = await TestBrowser.launch();
  const results: Result[] = [];
  try {
    for (const agents of FLEETS) {
      log(`scrolling ${agents} agents`);
      results.push(await measure(browser, agents));
    }
  } finally {
    await browser.close();
  }
  if (values.json) console.log(JSON.stringify(results, null, 2));
  else {
    const ms = (value: number): string => `${value.toFixed(2)} ms`;
    for (const { agents, frames, rows, ...times } of results)
      console.log(
        `${agents} agents: ${frames} frames, scripts and layout per frame: median ${ms(times.medianMs)}, p99 ${ms(times.p99Ms)}, max ${ms(times.maxMs)}; ${rows} rows in the document`,
      );
    const [small, large] = results;
    const ratio = (large?.medianMs ?? NaN) / (small?.medianMs ?? NaN);
    console.log(`median of ${FLEETS[1]} agents as a multiple of ${FLEETS[0]}: ${ratio.toFixed(2)}`);
  }
  if ((results.at(-1)?.maxMs ?? Infinity) > LIMIT_MS) process.exitCode = 1;
}
