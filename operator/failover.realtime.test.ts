// A leader that is killed or suspended while the API server is healthy, and its standby.
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import type { AuditedRequest } from '../testing/cluster/api-audit.ts';
import { makeAgents } from '../testing/fleet/fleet.ts';
import { agent, isReady, leads, openTeam, settled, startPair } from '../testing/cluster/operator-pair.ts';
import { until, type OperatorRig } from '../testing/cluster/operator-rig.ts';
import { IN_SOAK, withinLimit } from '../testing/time/real-time.ts';

async function standbyBecomesLeader(rig: OperatorRig): Promise<void> {
  // Created before there is a leader: the leader reconciles this agent once and has nothing left to do for it.
  await makeAgents(rig, [agent('before', 2)]);
  const [leader, standby] = await startPair(rig, 'one', 'two');
  await settled(rig, ['before']);
  await rig.inSync(leader);
  // The caches of the standby are synced, so it must not list again.
  const lists = () => rig.audit.entries('two').filter(({ verb }) => verb === 'list').length;
  const listed = lists();
  leader.kill('SIGKILL');
  const limit = withinLimit('take-over from a killed leader');
  const becameLeader = until('the new leader', () => leads(standby));
  await makeAgents(rig, [agent('between')]);
  limit(await becameLeader);
  await settled(rig, ['between']);
  expect(lists()).toBe(listed);
  expect(rig.audit.writes('two').filter(({ name }) => name === 'before')).toEqual([]);
}

/** Accepted writes of the account after another account had written the same object. */
function overwritten(writes: readonly AuditedRequest[], account: string): AuditedRequest[] {
  const changedByOthers = new Set<string>();
  return writes.filter((write) => {
    const { code, name, resource, verb } = write;
    if (code >= 400) return false;
    const object = `${resource.split('/')[0]}/${name}`;
    if (write.account !== account) changedByOthers.add(object);
    return write.account === account && verb !== 'create' && changedByOthers.has(object);
  });
}

async function suspendedLeaderIsFenced(rig: OperatorRig): Promise<void> {
  const [leader, standby] = await startPair(rig, 'one', 'two');
  const names = Array.from({ length: 100 }, (_, index) => `burst-${index}`);
  const already = rig.audit.writes('one').length;
  const created = makeAgents(
    rig,
    names.map((name) => agent(name)),
  );
  await until('some of its work', () => rig.audit.writes('one').length > already + 20);
  leader.kill('SIGSTOP');
  const limit = withinLimit('take-over from a killed leader');
  const becameLeader = until('the new leader', () => leads(standby));
  await created;
  limit(await becameLeader);
  const before = rig.audit.writes('one').length;
  leader.kill('SIGCONT');
  await until('its return', () => isReady(leader));
  await until('the loss of leadership', () => leader.output().includes('lost leadership'));
  await settled(rig, names);
  // JavaScript runs one thing at a time, so at most one request can be between the check for leadership and the socket
  // when the process is suspended. Its resourceVersion protects what another process wrote in the meantime.
  expect(rig.audit.writes('one').slice(before).length).toBeLessThanOrEqual(1);
  expect(overwritten(rig.audit.writes(), 'one')).toEqual([]);
  // Resolves when the process has ended.
  const ended = standby.stop();
  withinLimit('hand-over by a leader that stops')(await until('the hand-over', () => leads(leader)));
  await ended;
}

const TESTS: [string, (rig: OperatorRig) => Promise<void>][] = [
  [
    'a suspended leader overwrites nothing after another process became leader, and the next leader hands over when it stops',
    suspendedLeaderIsFenced,
  ],
];
// Runs only in soak tests, because its hand-over takes as long as in the test above.
if (IN_SOAK)
  TESTS.push([
    'the standby becomes leader after the leader is killed, and works immediately',
    standbyBecomesLeader,
  ]);

(whyNoControlPlane() ? describe.skip : describe)('two operators', () => {
  let rig: OperatorRig;

  beforeAll(async () => {
    rig = await openTeam();
  });
  afterEach(() => rig.stopAll());
  afterAll(() => rig?.close());

  test.each(TESTS)('%s', (_name, run) => run(rig));
});
