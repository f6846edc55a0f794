import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../runtime/clock.ts';
import { silentLogger } from '../runtime/logger.ts';
import { startFakeApiServer, type FakeApiServer } from '../testing/fake-api-server.ts';
import { stopwatch } from '../testing/stopwatch.ts';
import { createKubeClient, type KubeClient } from './client.ts';
import { createLeaderElection, microTime, type LeaderElection, type LeaderElectionOptions } from './lease.ts';

const COLLECTION = '/apis/coordination.k8s.io/v1/namespaces/n/leases';
const LEASE = { namespace: 'n', name: 'operator' };
/** The product's 15, 10 and 2 seconds, twenty times as fast. */
const timing = { leaseMs: 3_000, renewWithinMs: 2_000, retryMs: 100, lookMs: 50 };

let server: FakeApiServer;
let client: KubeClient;
let elections: LeaderElection[];
let leading: string[];
let log: string[];

beforeEach(async () => {
  server = await startFakeApiServer();
  client = createKubeClient({ access: server.access, part: 'test' });
  [elections, leading, log] = [[], [], []];
});
afterEach(async () => {
  await Promise.all(elections.map((election) => election.close()));
  await client.close();
  await server.close();
});

function candidate(identity: string, options: Partial<LeaderElectionOptions> = {}): LeaderElection {
  const election = createLeaderElection({
    client,
    lease: LEASE,
    identity,
    logger: silentLogger,
    clock: systemClock,
    timing,
    lead: async (signal) => {
      leading.push(identity);
      log.push(`${identity} begins`);
      await delay(60_000, undefined, { signal }).catch(() => undefined);
      leading.splice(leading.indexOf(identity), 1);
      log.push(`${identity} ends`);
    },
    ...options,
  });
  elections.push(election);
  election.start();
  return election;
}

async function until(condition: () => boolean, ms = 30_000): Promise<number> {
  const elapsed = stopwatch();
  const began = performance.now();
  while (!condition()) {
    if (performance.now() - began > ms) throw new Error(`not in ${ms} ms; ${log.join(', ')}`);
    await delay(5);
  }
  return elapsed();
}

const spec = () => server.get(`${COLLECTION}/operator`)?.['spec'] as Record<string, unknown>;

describe('leader election', () => {
  test('makes a lease that is missing and holds it', async () => {
    const a = candidate('a');
    await until(() => leading.length === 1);
    expect(a.isLeader()).toBe(true);
    expect(spec()).toEqual({
      holderIdentity: 'a',
      leaseDurationSeconds: timing.leaseMs / 1_000,
      acquireTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      renewTime: expect.any(String),
      leaseTransitions: 0,
    });
    const { acquireTime, renewTime } = spec();
    await until(() => spec()['renewTime'] !== renewTime);
    expect(spec()['acquireTime']).toBe(acquireTime);
  });

  test('takes the empty lease that an installation brings', async () => {
    server.put(COLLECTION, { metadata: { name: 'operator', labels: { kept: 'yes' } } });
    candidate('a');
    await until(() => leading.length === 1);
    expect(server.get(`${COLLECTION}/operator`)?.metadata).toMatchObject({ labels: { kept: 'yes' } });
  });

  test('lets one of several lead, and the next at once when it stops', async () => {
    server.put(COLLECTION, { metadata: { name: 'operator' } });
    const all = ['a', 'b', 'c'].map((identity) => candidate(identity));
    await until(() => leading.length > 0);
    await delay(300);
    expect(leading).toHaveLength(1);
    const first = all.find((election) => election.isLeader())!;
    await first.close();
    expect(spec()['holderIdentity']).toBe('');
    expect(first.isLeader()).toBe(false);
    const took = await until(() => leading.length === 1);
    expect(took).toBeLessThan(5 * timing.retryMs);
    expect(spec()['leaseTransitions']).toBe(1);
  });

  test('waits the whole lease time for a leader that says nothing, whatever the clock of that leader shows', async () => {
    const renewTime = microTime(new Date(0));
    server.put(COLLECTION, {
      metadata: { name: 'operator' },
      spec: {
        holderIdentity: 'gone',
        leaseDurationSeconds: timing.leaseMs / 1_000,
        renewTime,
        acquireTime: renewTime,
      },
    });
    const began = performance.now();
    candidate('a');
    await until(() => leading.length === 1);
    expect(performance.now() - began).toBeGreaterThanOrEqual(timing.leaseMs);
  });

  test('stops leading when it cannot renew, before another may begin, and takes the lead again later', async () => {
    candidate('a');
    await until(() => leading.length === 1);
    let away = true;
    const refuse = () => {
      server.fail({
        when: () => {
          if (away) queueMicrotask(refuse);
          return true;
        },
        answer: { status: 503 },
      });
    };
    refuse();
    const refusedAt = performance.now();
    const ended = await until(() => leading.length === 0);
    expect(performance.now() - refusedAt).toBeGreaterThanOrEqual(timing.renewWithinMs - timing.retryMs);
    expect(ended).toBeLessThan(timing.leaseMs);
    away = false;
    await until(() => leading.length === 1);
    expect(log).toEqual(['a begins', 'a ends', 'a begins']);
  });

  test('rides over an outage that is shorter than the renewal limit', async () => {
    candidate('a');
    await until(() => leading.length === 1);
    for (let index = 0; index < 2; index += 1) server.fail({ when: () => true, answer: 'cut' });
    await delay(500);
    expect(log).toEqual(['a begins']);
  });

  test('gives the lead up when its work fails, so that another replica may try', async () => {
    candidate('broken', { lead: async () => Promise.reject(new Error('cannot work')) });
    await until(() => spec()?.['holderIdentity'] === '');
    candidate('good');
    await until(() => leading.includes('good'));
  });

  test('leaves a lease alone that another has taken meanwhile', async () => {
    const a = candidate('a');
    await until(() => leading.length === 1);
    server.put(COLLECTION, {
      metadata: { name: 'operator' },
      spec: { holderIdentity: 'b', leaseDurationSeconds: 60 },
    });
    await until(() => leading.length === 0);
    await a.close();
    expect(spec()['holderIdentity']).toBe('b');
  });
});
