import { setTimeout as sleep } from 'node:timers/promises';
import { parseScavenges } from './gc-trace.ts';
import { load, type LoadOptions } from './load.ts';
import { ownMb, pin, residentMb, type Started } from './processes.ts';
import { quantile, spreadOf } from './report.ts';
import type { HeapResult } from './results.ts';
import type { RoundOptions } from './rounds.ts';
import { SCENARIOS } from './scenarios.ts';
import { SIDECAR, startAgent, TARGETS, type Agent, type Target } from './targets.ts';

/** Memory of a process that has just started still changes. */
const SETTLE_MS = 3_000;
/** Seconds of each scenario. */
const SECONDS = 2;

interface Reading {
  idleMb: number;
  idleOwnMb: number;
  afterLoadMb: number;
}

/**
 * Memory and scavenges of the sidecar with the chart's heap: idle, and in six seconds of mixed load. Each round starts one process for
 * the memory and one that prints its scavenges. Those of its first six seconds do not count: V8 compiles then, in a thread that shares
 * the processor, and a scavenge that is interrupted takes a slice of the scheduler longer (4 ms).
 */
export async function measureHeap(opened: Started[], options: RoundOptions): Promise<HeapResult> {
  const target = TARGETS.find(({ name }) => name === SIDECAR);
  if (target === undefined) throw new Error(`there is no target ${SIDECAR}`);
  const agent = await startAgent();
  opened.push(agent);
  pin(agent.pid, 'others');
  const readings: Reading[] = [];
  const scavenges: number[][] = [];
  for (let round = 1; round <= options.rounds; round++) {
    options.log(`memory and garbage collection, round ${round} of ${options.rounds}`);
    readings.push(await readMemory(target, agent, options));
    scavenges.push(await traceScavenges(target, agent, options));
  }
  return {
    idleMb: spreadOf(readings.map(({ idleMb }) => idleMb)),
    idleOwnMb: spreadOf(readings.map(({ idleOwnMb }) => idleOwnMb)),
    afterLoadMb: spreadOf(readings.map(({ afterLoadMb }) => afterLoadMb)),
    scavengeP99Ms: spreadOf(scavenges.map((each) => quantile(each, 0.99))),
  };
}

async function readMemory(target: Target, agent: Agent, options: LoadOptions): Promise<Reading> {
  const sidecar = await target.start({ agent, directory: options.directory });
  try {
    pin(sidecar.pid, 'target');
    await sleep(SETTLE_MS);
    const idle = { idleMb: residentMb(sidecar.pid), idleOwnMb: ownMb(sidecar.pid) };
    await mixedLoad(sidecar.port, target, options);
    return { ...idle, afterLoadMb: residentMb(sidecar.pid) };
  } finally {
    await sidecar.close();
  }
}

/** Milliseconds of each scavenge in the second mixed load of a process. */
async function traceScavenges(target: Target, agent: Agent, options: LoadOptions): Promise<number[]> {
  let output = '';
  const onOutput = (text: string): void => void (output += text);
  const { directory } = options;
  const sidecar = await target.start({ agent, directory, flags: ['--trace-gc'], onOutput });
  try {
    pin(sidecar.pid, 'target');
    await mixedLoad(sidecar.port, target, options);
    output = '';
    await mixedLoad(sidecar.port, target, options);
    const scavenges = parseScavenges(output);
    if (scavenges.length === 0) throw new Error('the sidecar printed no garbage collections');
    return scavenges;
  } finally {
    await sidecar.close();
  }
}

async function mixedLoad(port: number, { prefix }: Target, options: LoadOptions): Promise<void> {
  for (const scenario of SCENARIOS) await load({ port, prefix, scenario }, { ...options, seconds: SECONDS });
}
