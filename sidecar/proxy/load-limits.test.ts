import { describe, expect, test } from '@jest/globals';
import { costOfHead, LoadLimits, type Holder, type PipelineShare } from './load-limits.ts';

const MIB = 1024 * 1024;

/** The limits for 192 MiB, the injector's default memory limit. */
const injected = (): LoadLimits => new LoadLimits(192 * MIB);

const holder = (shed: () => void = () => undefined): Holder => ({ shed });

describe('derives the limits from the memory limit', () => {
  test.each([
    [64, 455, 1365],
    [192, 1365, 4096],
    [1024, 7281, 21845],
  ])('%i MiB: %i first requests, %i connections', (mebibytes, requests, connections) => {
    const { maxRequests, maxConnections } = new LoadLimits(mebibytes * MIB);
    expect([maxRequests, maxConnections]).toEqual([requests, connections]);
  });

  test.each([
    [64, 2_730, 2],
    [192, 8_192, 8],
    [4_096, 174_762, 170],
  ])('%i MiB: %i entries of the audit ring, %i HTTP/2 sessions', (mebibytes, entries, sessions) => {
    const { maxAuditEntries, maxHttp2Sessions } = new LoadLimits(mebibytes * MIB);
    expect([maxAuditEntries, maxHttp2Sessions]).toEqual([entries, sessions]);
  });
});

test('rejects and counts first requests above the limit, until another request ends', () => {
  const load = injected();
  for (let i = 0; i < load.maxRequests; i += 1) expect(load.admit(0)).toBe(true);
  expect([load.admit(0), load.refused]).toEqual([false, 1]);
  load.leave();
  expect([load.admit(0), load.refused]).toEqual([true, 1]);
});

test('counts an unusually large head with its request', () => {
  const load = injected();
  expect(costOfHead('/', ['Host', 'a'])).toBe(0);
  const head = costOfHead(
    '/',
    Array.from({ length: 512 }, () => 'x'.repeat(32)),
  );
  expect(head).toBeGreaterThan(48 * 1024);
  let count = 0;
  while (load.admit(head)) count += 1;
  expect(count).toBeLessThan(load.maxRequests / 2);
  load.leave();
  load.giveBackHead(head);
  expect(load.admit(head)).toBe(true);
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
    while (count < most && load.admitWaiting(share, 0, 0) > 0) count += 1;
    return count;
  };

  test('of one connection can use a quarter of the budget', () => {
    const load = injected();
    expect(fill(load, connectionOf(load))).toBe(170);
    expect(load.refused).toBe(1);
  });

  test('of a client with few requests are admitted when others fill the budget: the largest connection is cut', () => {
    const load = injected();
    const hostile = Array.from({ length: 200 }, () => connectionOf(load));
    for (const each of hostile) fill(load, each, 64);
    const before = hostile.filter(({ isCut }) => isCut).length;
    const polite = connectionOf(load);
    expect(fill(load, polite, 5)).toBe(5);
    expect(hostile.filter(({ isCut }) => isCut).length - before).toBeLessThanOrEqual(1);
    expect(polite.isCut).toBe(false);
  });

  test.each([
    ['of unknown length', Infinity, 26],
    ['of 100 bytes', 100, 169],
    ['of 1 MiB', 1024 * 1024, 26],
  ])('with bodies %s count with the bytes that can have been read', (_title, bodyBytes, most) => {
    const load = injected();
    const share = connectionOf(load);
    let count = 0;
    while (load.admitWaiting(share, 0, bodyBytes) > 0) count += 1;
    expect(count).toBe(most);
  });

  test('stop reading of their connection before a request is rejected', () => {
    const load = injected();
    const share = connectionOf(load);
    fill(load, share, 127);
    expect(load.isNearlyFull(share)).toBe(false);
    fill(load, share, 2);
    expect([load.isNearlyFull(share), load.isNearlyFull(connectionOf(load)), load.refused]).toEqual([
      true,
      false,
      0,
    ]);
  });

  test('of connections that were cut count until they are closed: as many again may be held', () => {
    const load = injected();
    const cut: Connection[] = [];
    const connect = (): Connection => {
      const connection: Connection = { bytes: 0, isCut: false, shed: () => void cut.push(connection) };
      return connection;
    };
    let held = 0;
    for (let i = 0; i < 400; i += 1) held += fill(load, connect(), 100);
    // 12 KiB each, of two times 8 MiB.
    expect(held).toBeLessThanOrEqual(2 * 682);
    expect(cut.length).toBeGreaterThan(0);
    for (const connection of cut) load.giveBack(connection, connection.bytes);
    expect(fill(load, connect(), 5)).toBe(5);
  });

  test('do not use the budget of first requests', () => {
    const load = injected();
    for (let i = 0; i < 200; i += 1) fill(load, connectionOf(load));
    expect(load.admit(0)).toBe(true);
  });

  test('release their budget', () => {
    const load = injected();
    const share = connectionOf(load);
    const bytes = load.admitWaiting(share, 0, Infinity) + load.startEarly(share);
    expect(share.bytes).toBe(bytes);
    load.giveBack(share, bytes);
    expect(fill(load, share)).toBe(170);
  });

  test('are sent before their turn only while half of the budget is free', () => {
    const load = injected();
    const early = (share: PipelineShare): number => {
      let count = 0;
      while (load.startEarly(share) > 0) count += 1;
      return count;
    };
    const counts = Array.from({ length: 10 }, () => early(connectionOf(load)));
    expect(counts).toEqual([4, 4, 4, 4, 0, 0, 0, 0, 0, 0]);
    expect(load.admitWaiting(connectionOf(load), 0, 0)).toBeGreaterThan(0);
    expect(load.refused).toBe(0);
  });
});

test('cuts and counts the longest stuck exchanges above the limit', () => {
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

test('limits the bytes kept for token usage, and always releases them', () => {
  const load = injected();
  expect(load.keepForUsage(4 * MIB)).toBe(true);
  expect(load.keepForUsage(1)).toBe(false);
  expect(load.keepForUsage(-MIB)).toBe(true);
  expect(load.keepForUsage(MIB)).toBe(true);
});

test('releases the bytes kept of paused responses for other responses, the longest paused first', () => {
  const load = injected();
  const forgotten: number[] = [];
  const pause = (index: number, hasRoom: boolean): void => {
    let kept = MIB;
    expect(load.keepForUsage(kept)).toBe(true);
    const forget = (): void => {
      if (kept === 0) return;
      forgotten.push(index);
      load.keepForUsage(-kept);
      kept = 0;
    };
    load.hold({ ...holder(), forget, hasRoom });
  };
  expect(load.keepForUsage(MIB)).toBe(true);
  pause(1, true);
  pause(2, false);
  pause(3, false);
  expect([load.keepForUsage(1), forgotten]).toEqual([true, [1]]);
  expect([load.keepForUsage(4 * MIB), forgotten]).toEqual([false, [1, 2, 3]]);
  expect(load.keepForUsage(2 * MIB)).toBe(true);
});
