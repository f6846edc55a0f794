import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { AgentObservation } from '../../../core/observation/observation.ts';
import type { ObservationStatus } from '../../../core/shapes/observation.ts';
import { statusOf } from '../../../core/observation/status-of.ts';
import { mergeHeartbeat } from '../../../core/observation/merge-heartbeat.ts';
import { silentLogger } from '../../../runtime/logger.ts';
import { aHeartbeat } from '../../../testing/fleet/heartbeat.ts';
import { ManualClock } from '../../../testing/time/manual-clock.ts';
import { ageRemoteAgents } from './age-remote.ts';

const START = '2026-03-01T10:00:00.000Z';
const EVERY_MS = 10_000;
const STALE_MS = 3_600_000;

let clock: ManualClock;
let stop: AbortController;
let sweeps: Promise<void>;
let written: string[];

beforeEach(() => {
  clock = new ManualClock(START);
  stop = new AbortController();
  written = [];
});
afterEach(async () => {
  stop.abort();
  await sweeps;
});

function start(objects: AgentObservation[]): void {
  sweeps = ageRemoteAgents({
    list: () => objects,
    write: async ({ name }) => void written.push(name),
    ...{ clock, logger: silentLogger, everyMs: EVERY_MS, signal: stop.signal },
  });
}

/** Runs one check. It has ended when the loop waits for the next one. */
async function check(): Promise<void> {
  (await clock.nextSleep()).wake();
  await clock.nextSleep();
}

/** The status of an agent that reported at the start. */
const REPORTED = mergeHeartbeat(undefined, aHeartbeat(), { instance: 'i-1' }, new Date(START));

interface Parts {
  source: 'sidecar' | 'remote';
  labels: Record<string, string>;
  status: ObservationStatus;
  /** Called when the status is read. */
  onRead: () => void;
}

function observation(
  name: string,
  { source = 'remote', labels = {}, status = REPORTED, onRead }: Partial<Parts> = {},
): AgentObservation {
  return {
    apiVersion: 'platform.io/v1',
    kind: 'AgentObservation',
    metadata: { namespace: 'team', name, labels },
    spec: { source },
    get status(): ObservationStatus {
      onRead?.();
      return status;
    },
  };
}

test.each<[string, Partial<Parts>, string[]]>([
  ['a registered agent', {}, ['shop']],
  ['a workload', { source: 'sidecar' }, []],
  ['a registered agent without a time of registration (0.1.0)', { status: { phase: 'Pending' } }, ['shop']],
  [
    'a registered agent that never reported',
    { status: statusOf(undefined, new Date(START), { hasStarted: true }) },
    ['shop'],
  ],
  ['a mirrored agent', { labels: { 'platform.io/mirrored': 'true' } }, []],
])('%s that no longer reports: written %j', async (_, parts, names) => {
  start([observation('shop', parts)]);
  clock.advance(STALE_MS);
  await check();
  expect(written).toEqual(names);
});

test('an agent that reports is not written', async () => {
  start([observation('shop')]);
  await check();
  expect(written).toEqual([]);
});

test('the status of a workload is not read, because a check of thousands would block heartbeats', async () => {
  const onRead = (): never => {
    throw new Error('the status was read');
  };
  start([observation('shop', { source: 'sidecar', onRead }), observation('pay')]);
  clock.advance(STALE_MS);
  await check();
  expect(written).toEqual(['pay']);
});

test('other work runs between slices of a large fleet', async () => {
  let read = 0;
  const fleet = Array.from({ length: 1_000 }, (_, index) =>
    observation(`agent-${index}`, { onRead: () => void (read += 1) }),
  );
  start(fleet);
  (await clock.nextSleep()).wake();
  const steps: number[] = [];
  while (steps.at(-1) !== read || read === 0) {
    steps.push(read);
    await nextTurn();
  }
  expect(steps.length).toBeGreaterThan(8);
});
