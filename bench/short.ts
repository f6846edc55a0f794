// The short form of the benchmark, for CI: fails if the sidecar needs considerably more processor time than in the saved results.
// Only processor times are judged, divided by those of bare undici, or of a bare server, in the same round. Elapsed time is not,
// because it depends on what else the machine does.
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { whyNoDebianServers } from '../testing/machine/debian-server.ts';
import { renderBars, judge, type Bar } from './bars.ts';
import { prioritize, type Started } from './processes.ts';
import type { Spread } from './report.ts';
import { readSavedResults, type Results } from './results.ts';
import { SCENARIOS } from './scenarios.ts';
import { measureStart } from './start.ts';
import { BUNDLE, SIDECAR, TARGETS, UNDICI } from './targets.ts';
import { measureThroughput } from './throughput.ts';

/** Exit code of a check that this machine cannot run (scripts/test-suites.ts). */
const CANNOT_RUN = 3;
/**
 * A regression is judged from this part of the saved ratio on. Other load on the machine can halve the ratio of a round, and never
 * improves it, so the best round counts (README.md).
 */
const PART = 0.5;
const ROUNDS = 3;
const STARTS = 5;
/** Series of rounds. Another one is measured only if the best rounds of all series so far are too slow. */
const SERIES = 3;

const log = (line: string): void => void process.stderr.write(`${line}\n`);

const speedOf = ({ throughput }: Results, scenario: string): Spread | undefined =>
  throughput?.find((row) => row.target === SIDECAR && row.scenario === scenario)?.against[UNDICI]?.cpu;
const startOf = ({ start }: Results): Spread | undefined => start?.cpuRatio;

function barsFrom(saved: Results): Bar[] {
  const speeds = SCENARIOS.flatMap(({ name }): Bar[] => {
    const value = speedOf(saved, name)?.median;
    if (value === undefined) return [];
    const what = `requests per processor time, ${name}, × ${UNDICI}, best round`;
    return [{ name: what, unit: '×', atLeast: value * PART, of: (results) => speedOf(results, name)?.max }];
  });
  const start = startOf(saved)?.median;
  if (start === undefined || speeds.length < SCENARIOS.length)
    throw new Error('bench/results.json is not complete: run make bench SAVE=1');
  const name = 'processor time of the start, × a bare node:http server, best round';
  return [...speeds, { name, unit: '×', atMost: start / PART, of: (results) => startOf(results)?.min }];
}

async function measure(): Promise<Pick<Results, 'throughput' | 'start'>> {
  const directory = await mkdtemp(join(tmpdir(), 'bench-'));
  const opened: Started[] = [];
  try {
    const targets = TARGETS.filter(({ name }) => name === SIDECAR || name === UNDICI);
    const options = { rounds: ROUNDS, directory, log, warmUpRequests: 8_000 };
    const throughput = await measureThroughput(targets, opened, options);
    const start = await measureStart(opened, { directory, log, rounds: STARTS });
    return { throughput, start };
  } finally {
    for (const each of opened.toReversed()) await each.close();
    await rm(directory, { recursive: true });
  }
}

async function main(): Promise<number> {
  if (!existsSync(BUNDLE)) throw new Error(`${BUNDLE} does not exist; run make build`);
  const missing =
    process.platform === 'linux'
      ? whyNoDebianServers()
      : 'processor time is read from /proc, which this system does not have';
  if (missing !== undefined) {
    log(missing);
    return CANNOT_RUN;
  }
  prioritize();
  const saved = readSavedResults();
  let missed = barsFrom(saved);
  for (let series = 1; series <= SERIES && missed.length > 0; series++) {
    const judged = judge({ ...saved, ...(await measure()) }, missed);
    console.log(renderBars(judged));
    missed = missed.filter(({ name }) => judged.some((each) => each.name === name && !each.isMet));
  }
  if (missed.length === 0) return 0;
  log(
    `The limits are ${PART} of bench/results.json, a run of ${saved.machine.date}. Compare both versions: bench/README.md, "Noise".`,
  );
  return 1;
}

process.exitCode = await main().catch((error: unknown) => {
  log((error as Error).message);
  return 1;
});
