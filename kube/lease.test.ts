import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { silentLogger } from '../runtime/logger.ts';
import { startFakeApiServer, type FakeApiServer } from '../testing/cluster/fake-api-server.ts';
import { SteppingClock } from '../testing/time/stepping-clock.ts';
import { KubeClient } from './client.ts';
import { LeaderElection, microTime, type LeaderElectionOptions } from './lease.ts';
import { until } from '../testing/time/until.ts';

const COLLECTION = '/apis/coordination.k8s.io/v1/namespaces/n/leases';
const LEASE = { namespace: 'n', name: 'operator' };
const timing = { leaseMs: 15_000, renewWithinMs: 10_000, retryMs: 2_000, checkMs: 500 };

let server: FakeApiServer;
let client: KubeClient;
let clock: SteppingClock;
let elections: LeaderElection[];
let leading: string[];
let log: string[];

beforeEach(async () => {
  server = await startFakeApiServer();
  client = new KubeClient({ access: server.access, part: 'test' });
  clock = new SteppingClock('2026-03-01T10:00:00.000Z');
  [elections, leading, log] = [[], [], []];
});
afterEach(async () => {
  await Promise.all(elections.map((election) => election.close()));
  await client.close();
  await server.close();
});

function candidate(identity: string, options: Partial<LeaderElectionOptions> = {}): LeaderElection {
  const election = new LeaderElection({
    client,
    lease: LEASE,
    identity,
    logger: silentLogger,
    clock,
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
  // Each election sleeps between two checks or two renewals.
  clock.loops += 1;
  election.start();
  return election;
}

/** Lets time pass and runs everything that is due. */
const pass = (ms: number): Promise<void> => clock.pass(ms, 100);

async function end(election: LeaderElection): Promise<void> {
  clock.loops -= 1;
  await election.close();
}

const stored = () => server.get(`${COLLECTION}/operator`)!;
const spec = () => stored()?.['spec'] as Record<string, unknown>;

describe('leader election', () => {
  test('creates a missing lease and holds it', async () => {
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
    await pass(timing.retryMs);
    expect(spec()).toMatchObject({ acquireTime, renewTime: microTime(clock.now()) });
    expect(spec()['renewTime']).not.toBe(renewTime);
  });

  test('renews with one request', async () => {
    candidate('a');
    await until(() => leading.length === 1);
    const before = server.requests.length;
    await pass(3 * timing.retryMs);
    expect(server.requests.slice(before).map(({ method }) => method)).toEqual(['PUT', 'PUT', 'PUT']);
  });

  test.each([
    ['changed by another client', () => server.put(COLLECTION, { ...stored(), touched: true })],
    ['deleted', () => server.remove(COLLECTION, 'operator')],
  ])('keeps leadership when its Lease was %s', async (_what, change) => {
    const a = candidate('a');
    await until(() => leading.length === 1);
    change();
    await pass(3 * timing.retryMs);
    expect([a.isLeader(), log]).toEqual([true, ['a begins']]);
    expect(spec()['holderIdentity']).toBe('a');
  });

  test('acquires the empty lease that the chart installs', async () => {
    server.put(COLLECTION, { metadata: { name: 'operator', labels: { kept: 'yes' } } });
    candidate('a');
    await until(() => leading.length === 1);
    expect(server.get(`${COLLECTION}/operator`)?.metadata).toMatchObject({ labels: { kept: 'yes' } });
  });

  test('elects one of several candidates, and the next immediately when the leader stops', async () => {
    server.put(COLLECTION, { metadata: { name: 'operator' } });
    const all = ['a', 'b', 'c'].map((identity) => candidate(identity));
    await pass(3 * timing.retryMs);
    expect(leading).toHaveLength(1);
    const first = all.find((election) => election.isLeader())!;
    await end(first);
    expect(spec()['holderIdentity']).toBe('');
    expect(first.isLeader()).toBe(false);
    await pass(timing.checkMs);
    expect(leading).toHaveLength(1);
    expect(spec()['leaseTransitions']).toBe(1);
  });

  test('waits the whole lease duration for a silent leader, independent of the clock of that leader', async () => {
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
    candidate('a');
    await pass(timing.leaseMs);
    expect(leading).toEqual([]);
    await pass(timing.checkMs);
    expect(leading).toEqual(['a']);
  });

  test('loses leadership when it cannot renew, before another may acquire it, and becomes leader again later', async () => {
    const a = candidate('a');
    await until(() => leading.length === 1);
    let isUnavailable = true;
    const fail = () => {
      server.fail({
        when: () => {
          if (isUnavailable) queueMicrotask(fail);
          return isUnavailable;
        },
        response: { status: 503 },
      });
    };
    fail();
    await pass(timing.renewWithinMs - 100);
    expect([a.isLeader(), leading]).toEqual([true, ['a']]);
    await pass(100);
    expect([a.isLeader(), leading]).toEqual([false, []]);
    isUnavailable = false;
    await pass(timing.retryMs);
    expect([a.isLeader(), leading]).toEqual([true, ['a']]);
    expect(log).toEqual(['a begins', 'a ends', 'a begins']);
  });

  test('keeps leadership in an outage that is shorter than the renewal limit', async () => {
    const a = candidate('a');
    await until(() => leading.length === 1);
    for (let index = 0; index < 3; index += 1) server.fail({ when: () => true, response: 'cut' });
    await pass(timing.renewWithinMs + timing.retryMs);
    expect([a.isLeader(), log]).toEqual([true, ['a begins']]);
  });

  test('releases leadership when its task fails, so that another replica may try', async () => {
    candidate('broken', { lead: async () => Promise.reject(new Error('cannot work')) });
    await until(() => spec()?.['holderIdentity'] === '');
    candidate('good');
    await until(() => leading.includes('good'));
  });

  test('does not change a lease that another candidate has acquired meanwhile', async () => {
    const a = candidate('a');
    await until(() => leading.length === 1);
    server.put(COLLECTION, {
      metadata: { name: 'operator' },
      spec: { holderIdentity: 'b', leaseDurationSeconds: 60 },
    });
    await pass(timing.retryMs);
    expect(leading).toEqual([]);
    await end(a);
    expect(spec()['holderIdentity']).toBe('b');
  });
});
