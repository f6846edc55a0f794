import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { STATES } from '../../core/census/socket-table.ts';
import type { TableName } from '../../core/census/socket-census.ts';
import { holdTimers, type HeldTimers } from '../../testing/time/held-timers.ts';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import { countersOf, tableOf, type FixtureRow } from '../../testing/sidecar/proc-net.ts';
import { Census, type CensusOptions } from './census.ts';
import type { ProcNet, TakeRows } from './proc-files.ts';

const POD = '10.0.2.10';

/** Files of the kernel that a test writes; a scan takes `scanMs` of the clock. */
class FakeFiles implements ProcNet {
  activeOpens: number | null = 100;
  /** Changes the counters without a new connection. */
  packets = 0;
  reads = 0;
  counters = { bytes: Buffer.alloc(0), length: 0 };
  rows: FixtureRow[] = [];
  udp: FixtureRow[] = [];
  scanMs = 0;
  scans = { here: 0, thread: 0, ended: 0 };
  /** Scans that read the tables of TCP. */
  tcpScans = 0;
  names = ['lo', 'eth0'];
  readonly #clock: ManualClock;

  constructor(clock: ManualClock) {
    this.#clock = clock;
  }

  readCounters() {
    this.reads += 1;
    if (this.activeOpens === null) throw new Error('ENOENT');
    const bytes = Buffer.from(
      `${countersOf(this.activeOpens)}UdpLite: InDatagrams\nUdpLite: ${this.packets}\n`,
    );
    if (bytes.equals(this.counters.bytes)) return false;
    this.counters = { bytes, length: bytes.length };
    return true;
  }

  readTables(tables: readonly TableName[], take: TakeRows): void {
    this.scans.here += 1;
    this.#take(tables, take);
  }

  async readTablesInThread(tables: readonly TableName[], take: TakeRows): Promise<void> {
    this.scans.thread += 1;
    await Promise.resolve();
    this.#take(tables, take);
  }

  ownInodes = () => new Set<number>();
  interfaces = () => this.names;
  endThread = () => void (this.scans.ended += 1);
  close = () => undefined;

  #take(tables: readonly TableName[], take: TakeRows): void {
    if (tables.includes('tcp')) this.tcpScans += 1;
    for (const [table, rows] of [
      ['tcp', this.rows],
      ['udp', this.udp],
    ] as [TableName, FixtureRow[]][]) {
      if (!tables.includes(table)) continue;
      const buffer = Buffer.from(tableOf(rows));
      take(table, buffer, buffer.length);
    }
    this.#clock.advance(this.scanMs);
  }
}

let clock: ManualClock;
let files: FakeFiles;
let timers: HeldTimers;
let census: Census | null = null;
const results = new Map<string, string[] | Error>();
let asked: string[] = [];

beforeEach(() => {
  clock = new ManualClock('2026-11-23T12:00:00Z');
  files = new FakeFiles(clock);
  timers = holdTimers();
  results.clear();
  asked = [];
});
afterEach(() => {
  census?.close();
  timers[Symbol.dispose]();
});

function start(options: Partial<CensusOptions> = {}): Census {
  census = new Census({
    ...{ isOn: true, clock, files, ownPorts: [4000, 4001], sharedReason: () => null },
    logger: { info: () => undefined, warn: () => undefined },
    knownHosts: () => ({
      ...{ expected: new Set(['api.example']), others: new Set(['api.vendor.example']) },
      ...{ domains: [], isPartial: false, lanes: [] },
    }),
    lookup: (host) => {
      asked.push(host);
      const result = results.get(host) ?? [];
      return result instanceof Error ? Promise.reject(result) : Promise.resolve(result);
    },
    ...options,
  });
  census.start();
  return census;
}

/** Passes time in steps of the polls. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 200) {
    clock.advance(200);
    await timers.pass(200);
  }
}

function connected(count: number, address = '198.51.100.1'): FixtureRow[] {
  return Array.from({ length: count }, (_, index) => ({
    ...{ local: `${POD}:${20_000 + index}`, remote: `${address}:443` },
    ...{ state: STATES.established, uid: 1000, inode: index + 1 },
  }));
}

describe('the census', () => {
  test('scans when connections were opened, and every ten seconds', async () => {
    const running = start();
    expect(running.scans).toBe(1);
    await pass(5_000);
    expect(running.scans).toBe(1);
    files.activeOpens = 101;
    await pass(200);
    expect(running.scans).toBe(2);
    await pass(9_800);
    expect(running.scans).toBe(2);
    await pass(1_000);
    expect(running.scans).toBe(3);
  });

  test('lists a connection after it has resolved the names', async () => {
    results.set('api.example', ['203.0.113.10']).set('api.vendor.example', ['198.51.100.1']);
    const running = start();
    expect(running.facts()).toEqual({ unseenEgress: [], unexplainedOpens: 0 });
    expect(asked).toEqual([]);
    files.rows = [...connected(2), ...connected(1, '203.0.113.10')];
    files.activeOpens = 103;
    await pass(200);
    await pass(200);
    expect(asked.toSorted()).toEqual(['api.example', 'api.vendor.example']);
    expect(running.facts()).toEqual({
      unseenEgress: [
        {
          ...{
            address: '198.51.100.1',
            port: 443,
            name: 'api.vendor.example',
            verdict: 'undeclared',
            count: 2,
          },
          ...{ firstSeen: '2026-11-23T12:00:00.200Z', lastSeen: '2026-11-23T12:00:00.200Z' },
        },
      ],
      unexplainedOpens: 0,
    });
  });

  test('counts connections that it did not see', async () => {
    const running = start();
    files.activeOpens = 107;
    await pass(200);
    expect(running.facts()?.unexplainedOpens).toBe(7);
  });

  test('sees connected UDP sockets, which the counter does not contain', async () => {
    results.set('api.example', ['203.0.113.10']);
    const running = start();
    files.udp = connected(1, '198.51.100.9');
    await pass(10_200);
    expect(running.facts()?.unseenEgress).toMatchObject([{ address: '198.51.100.9', verdict: 'undeclared' }]);
  });

  test('resolves names less often while the results explain nothing', async () => {
    start();
    for (let index = 0; index < 60; index++) {
      files.rows = connected(1, `198.51.100.${index}`);
      files.activeOpens = 101 + index;
      await pass(5_000);
    }
    // At the start, then after 10, 20 and 40 seconds, then every 60 seconds, in 300 seconds.
    expect(asked.filter((host) => host === 'api.example')).toHaveLength(7);
  });

  test('keeps the state unknown while the lookup of a declared name fails', async () => {
    results.set('api.example', new Error('EAI_AGAIN'));
    const running = start();
    files.rows = connected(1);
    files.activeOpens = 101;
    await pass(200);
    expect(running.facts()?.unseenEgress).toMatchObject([{ verdict: 'unknown', name: null }]);
  });

  test('limits the time of scans to 0.8 % of a core', async () => {
    files.scanMs = 30;
    const running = start();
    for (let index = 0; index < 1_200; index++) {
      files.activeOpens = 101 + index;
      await pass(200);
    }
    const seconds = (clock.now().getTime() - Date.parse('2026-11-23T12:00:00Z')) / 1000;
    expect(running.scanSeconds).toBeLessThan(seconds * 0.008 + 0.2);
    expect(running.scanSeconds).toBeGreaterThan(seconds * 0.008);
  });

  test('reads large tables in another thread, at most once in a second, and ends the thread later', async () => {
    const running = start();
    files.rows = connected(1_001);
    files.activeOpens = 1_101;
    await pass(200);
    expect(files.scans).toEqual({ here: 2, thread: 0, ended: 0 });
    for (let index = 0; index < 15; index++) {
      files.activeOpens = 1_102 + index;
      await pass(200);
    }
    expect(files.scans).toEqual({ here: 2, thread: 3, ended: 0 });
    files.rows = [];
    await pass(10_000);
    expect(running.facts()?.unseenEgress).toMatchObject([{ count: 1_001 }]);
    await pass(120_000);
    expect(files.scans).toMatchObject({ thread: 4, ended: 1 });
  });

  test('reads only the tables of UDP every ten seconds, and all every minute', async () => {
    start();
    expect(files).toMatchObject({ tcpScans: 1, scans: { here: 1 } });
    await pass(59_000);
    expect(files).toMatchObject({ tcpScans: 1, scans: { here: 6 } });
    await pass(1_000);
    expect(files).toMatchObject({ tcpScans: 2, scans: { here: 7 } });
  });

  test('reads all tables every ten seconds while the counters cannot be read', async () => {
    start();
    files.activeOpens = null;
    await pass(30_200);
    expect(files).toMatchObject({ tcpScans: 4, scans: { here: 4 } });
  });

  test('continues after files could not be read', async () => {
    const running = start();
    files.activeOpens = null;
    await pass(20_000);
    files.activeOpens = 105;
    await pass(200);
    expect(running.facts()?.unexplainedOpens).toBe(5);
  });
});

describe('the pace of the census', () => {
  test.each([true, false])('is five readings per second; packets between them: %s', async (isActive) => {
    start();
    const before = files.reads;
    for (let index = 0; index < 5; index++) {
      if (isActive) files.packets += 1;
      await pass(200);
    }
    expect(files.reads - before).toBe(5);
  });

  test('stays the same while the counters cannot be read', async () => {
    start();
    files.activeOpens = null;
    await pass(3_000);
    const before = files.reads;
    await pass(1_000);
    expect(files.reads - before).toBe(5);
  });

  test('shows a connection at the next reading', async () => {
    const running = start();
    await pass(3_000);
    expect(running.scans).toBe(1);
    files.activeOpens = 101;
    await pass(200);
    expect(running.scans).toBe(2);
    await pass(3_000);
    expect(running.scans).toBe(2);
  });

  test('leaves a scan every ten seconds while other packets change the counters', async () => {
    const running = start();
    for (let second = 1; second < 10; second++) {
      files.packets += 1;
      await pass(1_000);
    }
    expect(running.scans).toBe(1);
    files.packets += 1;
    await pass(1_000);
    expect(running.scans).toBe(2);
  });

  test('does not delay a scan that had to wait, although the counters do not change again', async () => {
    start();
    files.rows = connected(1_001);
    files.activeOpens = 1_101;
    await pass(200);
    await pass(1_000);
    files.activeOpens = 1_102;
    await pass(200);
    files.activeOpens = 1_103;
    await pass(200);
    expect(files.scans.thread).toBe(1);
    await pass(800);
    expect(files.scans.thread).toBe(2);
  });
});

describe('the state of the census', () => {
  test.each<[what: string, options: Partial<CensusOptions>, change: () => void, state: object]>([
    ['off', { isOn: false }, () => undefined, { state: 'off', reason: null }],
    ['on', {}, () => undefined, { state: 'on', reason: null }],
    [
      'refused without files of the kernel',
      {},
      () => (files.activeOpens = null),
      { state: 'refused', reason: 'the socket tables of the kernel (/proc/net) cannot be read' },
    ],
    [
      'refused in the network namespace of a node',
      { sharedReason: (interfaces) => `has ${interfaces.join(' ')}` },
      () => (files.names = ['lo', 'eth0', 'veth12']),
      { state: 'refused', reason: 'has lo eth0 veth12' },
    ],
  ])('is %s', (_what, options, change, state) => {
    change();
    const created = start(options);
    expect(created.state).toEqual(state);
    expect(created.facts() === null).toBe(created.state.state !== 'on');
  });
});
