import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import type { Row, Spread } from './report.ts';

/** The result of a run. A section that was not run is missing. */
export interface Results {
  machine: Machine;
  settings: { rounds: number; seconds: number; connections: number; pinned: boolean };
  /** Rows with the ratios to http-proxy and undici. */
  throughput?: Row[];
  memory?: TargetMemory[];
  /** The same, in front of an agent with TLS. */
  tls?: Row[];
  /** An egress lane and a bare forwarder, in front of a vendor with TLS. */
  lanes?: Row[];
  latency?: LatencyRow[];
  streams?: StreamMemory;
  start?: StartRow[];
  heap?: HeapResult;
}

export interface Machine {
  processor: string;
  processors: number;
  memoryGb: number;
  kernel: string;
  node: string;
  date: string;
  commit: string;
  /** Of the minute before the run. */
  load: number;
}

/** Resident memory of a target before and after the rounds, in megabytes. */
export interface TargetMemory {
  target: string;
  idleMb: number;
  afterLoadMb: number;
}

/** A target at a constant rate. */
export interface LatencyRow {
  target: string;
  p50Ms: Spread;
  p99Ms: Spread;
  /** Minus the latency of direct connections in the same round. */
  addedP50Ms: Spread;
  addedP99Ms: Spread;
  /** Processor time by elapsed time, of one processor. */
  share: Spread;
  /** 99th percentile of the delay of the load generator. */
  lateP99Ms: Spread;
}

/** Resident memory of a sidecar, in megabytes. */
export interface StreamMemory {
  streams: number;
  beforeMb: number;
  /** The largest while the streams were open. */
  openMb: number;
}

/** From the start of a process to its first answer. */
export interface StartRow {
  target: string;
  ms: Spread;
  cpuMs: Spread;
  /** Divided by the bare server of the same round. */
  ratio: Spread;
  cpuRatio: Spread;
}

export interface HeapResult {
  idleMb: Spread;
  /** Without what a process shares with the other sidecars of a machine. */
  idleOwnMb: Spread;
  afterLoadMb: Spread;
  scavenges: number;
  scavengeP99Ms: Spread;
  /** In the first load of the process. */
  coldScavengeP99Ms: Spread;
  scavengeMaxMs: Spread;
  /** Sum of all other collections on the main thread. */
  otherMs: Spread;
}

/** Describes this machine. */
export function machine(): Machine {
  const [first] = cpus();
  return {
    processor: first?.model.trim() ?? 'unknown',
    processors: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    // The major and the minor version: the rest names the build.
    kernel: release().split('.').slice(0, 2).join('.'),
    node: process.version,
    date: new Date().toISOString().slice(0, 10),
    commit: commit(),
    load: loadavg()[0] ?? NaN,
  };
}

/** The commit of the measured sources; `unknown` outside a repository. */
function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short=8', 'HEAD'], { encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
}

/** The results of the run that the documentation shows. */
export const SAVED_RESULTS = new URL('results.json', import.meta.url).pathname;

export function readSavedResults(): Results {
  return JSON.parse(readFileSync(SAVED_RESULTS, 'utf8')) as Results;
}
