import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { AgentObservation } from '../../core/observation/observation.ts';
import type { AgentStop } from '../../core/organisation/stops.ts';
import type { ObservationStatus } from '../../core/shapes/observation.ts';
import type { KubeClient, KubeRequest } from '../../kube/client.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import { StopWork } from './agent-stops.ts';

const START = '2026-11-29T12:00:00Z';
const ROOT = 'platform-system';

const stop = (name: string, about: Partial<AgentStop> = {}): AgentStop => ({
  ...{ namespace: 'shop', name, since: START, spec: { reason: 'leak' } },
  ...about,
});
const agent = (
  name: string,
  {
    id,
    since = START,
    namespace = 'shop',
    source = 'sidecar',
  }: { id?: string; since?: string; namespace?: string; source?: 'sidecar' | 'remote' } = {},
): AgentObservation => ({
  ...{ apiVersion: 'platform.io/v1', kind: 'AgentObservation', metadata: { name, namespace } },
  spec: { source },
  status: {
    phase: 'Healthy',
    ...(id !== undefined && { stop: { id, since } as NonNullable<ObservationStatus['stop']> }),
  },
});

let clock: ManualClock;
let known: AgentStop[] | null;
let observations: AgentObservation[];
let removed: string[];
let reconciled: string[];
let written: [path: string, status: unknown][];
/** The response to the next write of a status. */
let response: { ok: boolean; status: number };
let work: StopWork;
let ending: AbortController;
let run: Promise<void>;

/** Begins to work as the leader. */
function lead(): void {
  ending = new AbortController();
  run = work.run(ending.signal);
}
/** Resolves when one round is done. */
const round = () => clock.nextSleep();
const nextRound = async () => {
  (await round()).wake();
  return round();
};

beforeEach(() => {
  clock = new ManualClock(START);
  [known, observations, removed, reconciled, written] = [[], [], [], [], []];
  response = { ok: true, status: 200 };
  const client = {
    send: (request: KubeRequest) => {
      written.push([request.path, (request.body as { status: unknown }).status]);
      return Promise.resolve({ ...response, message: '', reason: '', body: {} });
    },
  };
  work = new StopWork({
    ...{ client: client as unknown as KubeClient, clock, logger: silentLogger, rootNamespace: ROOT },
    stops: {
      list: () => known,
      removeSame: ({ name }) => {
        removed.push(name);
        return Promise.resolve(true);
      },
    },
    allObservations: () => observations,
    reconcile: (key) => reconciled.push(key),
  });
});
afterEach(async () => {
  ending.abort();
  await run;
});

describe('while this process is the leader', () => {
  test('the status of each AgentStop is written, once while it stays the same', async () => {
    known = [stop('a'), stop('fleet', { namespace: ROOT })];
    observations = [agent('chat'), agent('pay', { namespace: 'bank' })];
    lead();
    await nextRound();
    expect(written).toEqual([
      ['/apis/platform.io/v1/namespaces/shop/agentstops/a/status', { agents: 1, stopped: 0, pending: 1 }],
      [
        `/apis/platform.io/v1/namespaces/${ROOT}/agentstops/fleet/status`,
        { agents: 2, stopped: 0, pending: 2 },
      ],
    ]);
  });

  test('the status of an AgentStop that was created again under the same name is written', async () => {
    known = [stop('a')];
    lead();
    const sleep = await round();
    known = [stop('a', { since: '2026-11-29T12:00:05Z' })];
    sleep.wake();
    await round();
    expect(written).toHaveLength(2);
  });

  test('a change is worked on at once', async () => {
    lead();
    await round();
    known = [stop('a')];
    work.changed();
    await round();
    expect(written).toHaveLength(1);
  });

  test('a status that cannot be written is tried again, but not of a deleted AgentStop', async () => {
    known = [stop('a')];
    response = { ok: false, status: 500 };
    lead();
    const sleep = await nextRound();
    expect(written).toHaveLength(2);
    response = { ok: false, status: 404 };
    sleep.wake();
    (await round()).wake();
    await round();
    expect(written).toHaveLength(3);
  });

  test('an expired AgentStop is deleted, and its status is not written', async () => {
    const spec = { reason: 'leak', until: '2026-11-29T12:00:05Z' };
    known = [stop('short', { spec })];
    lead();
    await round();
    expect([removed, written.length]).toEqual([[], 1]);
    clock.advance(5_000);
    work.changed();
    await round();
    expect([removed, written.length]).toEqual([['short'], 1]);
  });

  test('agents whose status has another stop are reconciled', async () => {
    known = [
      stop('a', { spec: { reason: 'leak', agents: ['chat', 'new'] } }),
      stop('b', { namespace: 'bank' }),
    ];
    observations = [
      agent('chat', { id: 'shop/a' }),
      agent('new'),
      agent('resumed', { id: 'shop/gone' }),
      agent('chat', { id: 'bank/b', namespace: 'bank', since: '2026-11-29T11:00:00Z' }),
      agent('running'),
      agent('annotated', { id: 'pod-annotation' }),
      agent('outside', { source: 'remote' }),
    ];
    lead();
    await round();
    expect(reconciled).toEqual(['shop/new', 'shop/resumed', 'bank/chat']);
  });

  test('other work of the process runs between many agents and many AgentStops', async () => {
    observations = Array.from({ length: 1_000 }, (_, index) => agent(`a${index}`));
    known = Array.from({ length: 10 }, (_, index) => stop(`s${index}`));
    let turns = 0;
    const count = (): void => {
      turns += 1;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    lead();
    await round();
    clearImmediate(next);
    expect(turns).toBeGreaterThanOrEqual(20);
  });

  test('nothing is done before the AgentStops are known', async () => {
    known = null;
    observations = [agent('chat', { id: 'shop/a' })];
    lead();
    await round();
    expect([reconciled, written, work.stopAt('shop/chat')]).toEqual([[], [], undefined]);
  });
});

test('the stop of an agent is that of its namespace or of the fleet', () => {
  lead();
  known = [stop('a', { spec: { reason: 'leak', agents: ['chat'] } })];
  expect(work.stopAt('shop/chat')?.name).toBe('a');
  expect(work.stopAt('shop/pay')).toBeNull();
  expect(work.stopAt('bank/chat')).toBeNull();
  known = [stop('fleet', { namespace: ROOT })];
  expect(work.stopAt('bank/chat')?.name).toBe('fleet');
});
