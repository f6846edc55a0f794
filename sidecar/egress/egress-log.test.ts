import { describe, expect, test } from '@jest/globals';
import { auditLogOf } from '../../testing/sidecar/audit-log.ts';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import type { ConnectCall } from './connect-lane.ts';
import { EgressLog } from './egress-log.ts';
import { McpMemory } from './mcp-memory.ts';

const clock = new ManualClock('2026-03-01T10:00:00Z');
const logOf = (capacity: number, maxBytes: number): EgressLog =>
  new EgressLog({
    ...{ capacity, maxBytes, clock },
    lanes: [],
    audit: auditLogOf(clock),
    memory: new McpMemory(),
    onCall: null,
  });
const call = (path: string, toolsOffered: readonly string[] = []): ConnectCall => ({
  ...{ at: clock.now(), lane: 'connect', method: 'CONNECT', path, model: null, stream: false },
  ...{ toolsOffered, toolsCalled: [], toolsExecuted: [], usage: null, statusCode: 200, durationMs: 1 },
  ...{ violations: [], blocked: false },
});
const idsOf = (log: EgressLog, limit?: number): number[] => log.newest(limit).map(({ id }) => id);

test('keeps the newest calls, oldest first', () => {
  const log = logOf(3, Infinity);
  expect(idsOf(log)).toEqual([]);
  for (let count = 0; count < 8; count += 1) log.addConnect(call('a:443'));
  expect([idsOf(log), idsOf(log, 2), idsOf(log, 0)]).toEqual([[6, 7, 8], [7, 8], []]);
});

test('the reasons of denied tunnels are counted once each, up to 50 and cut', () => {
  const audit = auditLogOf(clock);
  const options = { capacity: 3, maxBytes: Infinity, clock, lanes: [], memory: new McpMemory() };
  const log = new EgressLog({ ...options, audit, onCall: null });
  for (const violations of [['host_not_declared'], ['host_not_declared'], ['x'.repeat(500)]])
    log.addConnect({ ...call('a:443'), violations });
  expect(audit.takeDenials()).toEqual(['host_not_declared', 'x'.repeat(128)]);
  log.addConnect({ ...call('a:443'), violations: Array.from({ length: 60 }, (_, index) => `r-${index}`) });
  expect([audit.takeDenials().length, audit.takeDenials()]).toEqual([50, []]);
});

describe('above the limit of bytes, the oldest calls are dropped:', () => {
  test('long paths', () => {
    const log = logOf(1_000, 256 * 1024);
    for (let count = 0; count < 1_000; count += 1) log.addConnect(call('a'.repeat(2_048)));
    // 2,560 bytes each.
    expect(idsOf(log)).toHaveLength(102);
    expect(idsOf(log).at(-1)).toBe(1_000);
    for (let count = 0; count < 1_000; count += 1) log.addConnect(call('a'));
    expect(idsOf(log)).toHaveLength(511);
  });

  test('different lists of tools, while a list that is sent again counts once', () => {
    const log = logOf(1_000, 256 * 1024);
    const names = Array.from({ length: 200 }, (_, index) => `tool-${index}`);
    for (let count = 0; count < 100; count += 1) log.addConnect(call('a', [...names]));
    expect(idsOf(log).length).toBeLessThan(30);
    for (let count = 0; count < 400; count += 1) log.addConnect(call('a', names));
    expect(idsOf(log).length).toBeGreaterThanOrEqual(400);
  });

  test('the newest call is kept in any case', () => {
    const log = logOf(10, 100);
    log.addConnect(call('a'));
    log.addConnect(call('b'));
    expect(idsOf(log)).toEqual([2]);
  });
});
