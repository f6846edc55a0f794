import { setTimeout as sleep } from 'node:timers/promises';
import { parseCollections, type Collections } from './gc-trace.ts';
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
 * Memory and garbage collection of the sidecar with the chart's heap: idle, and in six seconds of mixed load. Each round starts one
 * process for the memory and one that prints its collections. Those of the first six seconds count separately: V8 compiles then, in a
 * thread that shares the processor, and a scavenge that is interrupted takes a slice of the scheduler longer (4 ms).
 */
export async function measureHeap(
  opened: Started[],
  options: RoundOptions,
  target = TARGETS.find(({ name }) => name === SIDECAR),
): Promise<HeapResult> {
  if (target === undefined) throw new Error(`there is no target ${SIDECAR}`);
  const agent = await startAgent();
  opened.push(agent);
  pin(agent.pid, 'others');
  const readings: Reading[] = [];
  const scavenges: number[][] = [];
  const cold: number[][] = [];
  const others: number[] = [];
  for (let round = 1; round <= options.rounds; round++) {
    options.log(`memory and garbage collection, round ${round} of ${options.rounds}`);
    readings.push(await readMemory(target, agent, options));
    const { first, second } = await traceCollections(target, agent, options);
    cold.push(first.scavengesMs);
    scavenges.push(second.scavengesMs);
    others.push(second.otherMs);
  }
  return {
    idleMb: spreadOf(readings.map(({ idleMb }) => idleMb)),
    idleOwnMb: spreadOf(readings.map(({ idleOwnMb }) => idleOwnMb)),
    afterLoadMb: spreadOf(readings.map(({ afterLoadMb }) => afterLoadMb)),
    scavenges: spreadOf(scavenges.map(({ length }) => length)).median,
    coldScavengeP99Ms: spreadOf(cold.map((each) => quantile(each, 0.99))),
    scavengeP99Ms: spreadOf(scavenges.map((each) => quantile(each, 0.99))),
    scavengeMaxMs: spreadOf(scavenges.map((each) => Math.max(...each))),
    otherMs: spreadOf(others),
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

/** The collections in the first mixed load of a process, and in the second one. */
async function traceCollections(
  target: Target,
  agent: Agent,
  options: LoadOptions,
): Promise<{ first: Collections; second: Collections }> {
  let output = '';
  const underLoad = async (port: number): Promise<Collections> => {
    output = '';
    await mixedLoad(port, target, options);
    const collections = parseCollections(output);
    if (collections.scavengesMs.length === 0) throw new Error('the sidecar printed no garbage collections');
    return collections;
  };
  const onOutput = (text: string): void => void (output += text);
  const sidecar = await target.start({
    agent,
    directory: options.directory,
    flags: ['--trace-gc'],
    onOutput,
  });
  try {
    pin(sidecar.pid, 'target');
    return { first: await underLoad(sidecar.port), second: await underLoad(sidecar.port) };
  } finally {
    await sidecar.close();
  }
}

async function mixedLoad(port: number, { prefix }: Target, options: LoadOptions): Promise<void> {
  for (const scenario of SCENARIOS) await load({ port, prefix, scenario }, { ...options, seconds: SECONDS });
}
