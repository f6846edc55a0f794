import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg, release } from 'node:os';
import type { Row, Spread } from './report.ts';

/** The result of a run. A section that was not run is missing. */
export interface Results {
  machine: Machine;
  settings: { rounds: number; pinned: boolean };
  /** Rows with the ratios to http-proxy and undici. */
  throughput?: Row[];
  /** An egress lane and a bare forwarder, in front of a vendor with TLS. */
  lanes?: Row[];
  /** The sidecar with an audit log, and the same without. */
  record?: Row[];
  latency?: LatencyRow[];
  start?: StartResult;
  heap?: HeapResult;
}

export interface Machine {
  processor: string;
  processors: number;
  kernel: string;
  node: string;
  date: string;
  commit: string;
  /** Of the minute before the run. */
  load: number;
}

/** A target at a constant rate. */
export interface LatencyRow {
  target: string;
  /** Minus the latency of direct connections in the same round. */
  addedP50Ms: Spread;
  addedP99Ms: Spread;
  /** 99th percentile of the delay of the load generator. */
  lateP99Ms: Spread;
}

/** From the start of the sidecar to its first response, divided by that of a bare server in the same round. */
export interface StartResult {
  ratio: Spread;
  /** The same of processor time. */
  cpuRatio: Spread;
}

export interface HeapResult {
  idleMb: Spread;
  /** Without what a process shares with the other sidecars of a machine. */
  idleOwnMb: Spread;
  afterLoadMb: Spread;
  scavengeP99Ms: Spread;
}

/** Describes this machine. */
export function machine(): Machine {
  const [first] = cpus();
  return {
    processor: first?.model.trim() ?? 'unknown',
    processors: cpus().length,
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
