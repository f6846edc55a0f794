import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { stopId, type AgentStop } from '../../core/organisation/stops.ts';
import { aStop, HeldStops } from '../../testing/fleet/held-stops.ts';
import { recordingLogger, type LogEntry } from '../../testing/sidecar/recording-logger.ts';
import { SteppingClock } from '../../testing/time/stepping-clock.ts';
import { until } from '../../testing/time/until.ts';
import { Stops } from './stops.ts';

const START = '2026-03-01T10:00:00.000Z';
const SHOP = { namespace: 'team', name: 'shop' };

let storage: HeldStops;
let clock: SteppingClock;
let log: LogEntry[];
let stops: Stops;
let changes: number;

beforeEach(async () => {
  storage = new HeldStops();
  clock = new SteppingClock(START);
  log = [];
  stops = new Stops({ storage, rootNamespace: 'platform-system', clock, logger: recordingLogger(log) });
  changes = 0;
  stops.onChange(() => (changes += 1));
  await stops.start();
});
afterEach(() => stops.close());

const idOf = (stop: AgentStop | null | undefined): string | null | undefined => stop && stopId(stop);
const ofShop = (): string | null | undefined => idOf(stops.of(SHOP, clock.now()));
const states = (): [string, boolean][] | undefined =>
  stops.list(clock.now())?.map(({ stop, isStored }) => [stop.name, isStored]);
/** Lets the loop try again. */
const retry = async (): Promise<void> => {
  await until(() => clock.left().length === 1, 'the pause of the loop');
  await clock.pass(2_000);
};

describe('the stop of an agent', () => {
  test('is not known until the storage is', () => {
    storage.show(null);
    expect([ofShop(), stops.list(clock.now())]).toEqual([undefined, null]);
    storage.show([]);
    expect([ofShop(), states()]).toEqual([null, []]);
  });

  test('is one of its namespace or of the release, not of another namespace', () => {
    storage.show([aStop('other', { namespace: 'prod' })]);
    expect(ofShop()).toBeNull();
    storage.show([aStop('own', { namespace: 'team' }), aStop('fleet', { namespaces: ['prod'] })]);
    expect(ofShop()).toBe('team/own');
    expect(idOf(stops.of({ namespace: 'prod', name: 'x' }, clock.now()))).toBe('platform-system/fleet');
  });

  test('ends at its time, which is known ahead', async () => {
    const ends = [60, 30].map((seconds) => new Date(Date.parse(START) + seconds * 1_000).toISOString());
    storage.show(ends.map((end, index) => aStop(`s-${index}`, { until: end })));
    expect(stops.nextEndMs(clock.now()) - Date.parse(START)).toBe(30_000);
    await clock.pass(30_000, 30_000);
    expect(stops.nextEndMs(clock.now()) - Date.parse(START)).toBe(60_000);
    await clock.pass(30_000, 30_000);
    expect([ofShop(), stops.nextEndMs(clock.now())]).toEqual([null, Infinity]);
  });
});

describe('while the storage is unavailable, a stop', () => {
  beforeEach(() => {
    storage.mode = 'down';
  });

  test('applies at once, and is stored when it is back', async () => {
    expect(await stops.add(aStop('a'))).toMatchObject({ isStored: false });
    expect([ofShop(), states(), changes]).toEqual(['platform-system/a', [['a', false]], 1]);
    await retry();
    expect(storage.stops).toEqual([]);
    storage.mode = 'up';
    await retry();
    await until(() => storage.stops?.length === 1, 'the storage');
    expect([ofShop(), states()]).toEqual(['platform-system/a', [['a', true]]]);
    await until(() => clock.left().length === 0, 'the end of the loop');
    expect(log.map(([level, message]) => [level, message])).toEqual([
      ['warn', 'agent stop applies in memory only, storage unavailable'],
      ['info', 'agent stop stored after an outage'],
    ]);
  });

  test('applies also if the stops were never known', async () => {
    storage.show(null);
    await stops.add(aStop('a', { namespaces: ['team'] }));
    expect([ofShop(), idOf(stops.of({ namespace: 'x', name: 'x' }, clock.now()))]).toEqual([
      'platform-system/a',
      undefined,
    ]);
  });

  test('can be ended, also if an attempt to store it succeeded without a sign of it', async () => {
    const stop = aStop('a');
    await stops.add(stop);
    expect([await stops.remove(stop), ofShop(), await stops.remove(stop)]).toEqual([true, null, false]);
    // The attempt arrives late.
    storage.show([stop]);
    expect([ofShop(), states()]).toEqual([null, []]);
    storage.mode = 'up';
    await retry();
    await until(() => storage.stops?.length === 0, 'the removal');
    expect(ofShop()).toBeNull();
  });

  test('that is stored stays, because other replicas apply it', async () => {
    storage.show([aStop('a')]);
    await expect(stops.remove(aStop('a'))).rejects.toMatchObject({ status: 503 });
    expect(ofShop()).toBe('platform-system/a');
  });

  test('is dropped when its time is over', async () => {
    await stops.add(aStop('a', { until: '2026-03-01T10:00:01.000Z' }));
    storage.mode = 'up';
    await retry();
    await until(() => clock.left().length === 0, 'the end of the loop');
    expect(storage.stops).toEqual([]);
  });

  test('still applies if the storage, once it is back, rejects it; the log says so once', async () => {
    await stops.add(aStop('a'));
    storage.mode = 'rejects';
    for (let times = 0; times < 3; times += 1) await retry();
    expect(ofShop()).toBe('platform-system/a');
    expect(log.slice(1)).toEqual([
      [
        ...['error', 'agent stop rejected by the storage, applies in memory only'],
        { stop: 'platform-system/a', error: expect.stringContaining('a policy rejects it') },
      ],
    ]);
    storage.mode = 'up';
    await retry();
    await until(() => storage.stops?.length === 1, 'the storage');
  });

  test('that is lost with the process is logged', async () => {
    await stops.add(aStop('a'));
    await stops.close();
    expect(log.at(-1)).toEqual(['warn', 'stopped with agent stops that are not stored', { stops: 1 }]);
  });
});

describe('a stop that the storage', () => {
  test('does not store within two seconds applies meanwhile', async () => {
    storage.mode = 'hangs';
    const adding = stops.add(aStop('a'));
    await until(() => clock.left().length === 1, 'the wait');
    await clock.pass(2_000);
    expect(await adding).toMatchObject({ isStored: false });
    expect(ofShop()).toBe('platform-system/a');
    storage.mode = 'up';
    storage.response.resolve();
    await until(() => storage.stops?.length === 1, 'the storage');
    expect(states()).toEqual([['a', true]]);
  });

  test('rejects never applies', async () => {
    storage.mode = 'rejects';
    await expect(stops.add(aStop('a'))).rejects.toMatchObject({ status: 409 });
    expect([ofShop(), changes]).toEqual([null, 0]);
  });

  test('has stored applies before the storage shows it, but not forever', async () => {
    storage.mode = 'silent';
    expect(await stops.add(aStop('a'))).toMatchObject({ isStored: true });
    expect(ofShop()).toBe('platform-system/a');
    for (let seconds = 0; seconds < 32; seconds += 2) await retry();
    await until(() => ofShop() === null, 'the end of a stop that was deleted before it was seen');
  });
});
