import { describe, expect, test } from '@jest/globals';
import { LoadLimits, type Holder, type PipelineShare } from './load-limits.ts';

const MIB = 1024 * 1024;

/** The limits with 192 MiB, which the injector sets. */
const injected = (): LoadLimits => new LoadLimits(192 * MIB);

const holder = (shed: () => void = () => undefined): Holder => ({ shed });

describe('the limits follow from the memory limit', () => {
  test.each([
    [64, 455, 1365],
    [192, 1365, 4096],
    [1024, 7281, 21845],
  ])('%i MiB: %i first requests, %i connections', (mebibytes, requests, connections) => {
    const { maxRequests, maxConnections } = new LoadLimits(mebibytes * MIB);
    expect([maxRequests, maxConnections]).toEqual([requests, connections]);
  });
});

test('beyond the requests in flight a first request is refused and counted, until another one leaves', () => {
  const load = injected();
  for (let i = 0; i < load.maxRequests; i += 1) expect(load.admit()).toBe(true);
  expect([load.admit(), load.refused]).toEqual([false, 1]);
  load.leave();
  expect([load.admit(), load.refused]).toEqual([true, 1]);
});

describe('pipelined requests', () => {
  interface Connection extends PipelineShare {
    isCut: boolean;
  }
  const connectionOf = (load: LoadLimits): Connection => {
    const connection: Connection = {
      bytes: 0,
      isCut: false,
      shed: () => {
        connection.isCut = true;
        load.giveBack(connection, connection.bytes);
      },
    };
    return connection;
  };
  const fill = (load: LoadLimits, share: PipelineShare, most = Infinity): number => {
    let count = 0;
    while (count < most && load.admitWaiting(share, false) > 0) count += 1;
    return count;
  };

  test('of one connection take a quarter of the room', () => {
    const load = injected();
    expect(fill(load, connectionOf(load))).toBe(170);
    expect(load.refused).toBe(1);
  });

  test('of a client with few of them are admitted when others have filled the room: the largest is cut', () => {
    const load = injected();
    const hostile = Array.from({ length: 200 }, () => connectionOf(load));
    for (const each of hostile) fill(load, each, 64);
    const before = hostile.filter(({ isCut }) => isCut).length;
    const polite = connectionOf(load);
    expect(fill(load, polite, 5)).toBe(5);
    expect(hostile.filter(({ isCut }) => isCut).length - before).toBeLessThanOrEqual(1);
    expect(polite.isCut).toBe(false);
  });

  test('take nothing from first requests', () => {
    const load = injected();
    for (let i = 0; i < 200; i += 1) fill(load, connectionOf(load));
    expect(load.admit()).toBe(true);
  });

  test('give their room back', () => {
    const load = injected();
    const share = connectionOf(load);
    const bytes = load.admitWaiting(share, true) + load.startEarly(share);
    expect(share.bytes).toBe(bytes);
    load.giveBack(share, bytes);
    expect(fill(load, share)).toBe(170);
  });

  test('are sent ahead of their turn only while half of the room is free', () => {
    const load = injected();
    const early = (share: PipelineShare): number => {
      let count = 0;
      while (load.startEarly(share) > 0) count += 1;
      return count;
    };
    const counts = Array.from({ length: 10 }, () => early(connectionOf(load)));
    expect(counts).toEqual([4, 4, 4, 4, 0, 0, 0, 0, 0, 0]);
    expect(load.admitWaiting(connectionOf(load), false)).toBeGreaterThan(0);
    expect(load.refused).toBe(0);
  });
});

test('beyond the room for stuck exchanges the one that has been stuck for longest is cut and counted', () => {
  const load = injected();
  const cut: number[] = [];
  const holders = Array.from({ length: 100 }, (_, index) => holder(() => void cut.push(index)));
  const [first, second, ...others] = holders;
  load.hold(first!);
  load.hold(second!);
  load.release(first!);
  for (const each of others) load.hold(each);
  expect([cut, load.cut]).toEqual([Array.from({ length: 35 }, (_, index) => index + 1), 35]);
});

test('bytes that are kept for token usage are bounded, and always given back', () => {
  const load = injected();
  expect(load.keepForUsage(4 * MIB)).toBe(true);
  expect(load.keepForUsage(1)).toBe(false);
  expect(load.keepForUsage(-MIB)).toBe(true);
  expect(load.keepForUsage(MIB)).toBe(true);
});
