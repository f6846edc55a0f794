// A leader that is killed or suspended at a healthy API server, and its standby.
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { makeAgents } from '../testing/fleet.ts';
import { agent, isReady, leads, openTeam, settled, startPair } from '../testing/operator-pair.ts';
import { until, type OperatorRig } from '../testing/operator-rig.ts';
import { IN_SOAK, withinLimit } from '../testing/real-time.ts';

async function takesOver(rig: OperatorRig): Promise<void> {
  // Before anybody leads: the leader sees it whole, and has nothing left to do for it once it has settled.
  await makeAgents(rig, [agent('before', 2)]);
  const [leader, standby] = await startPair(rig, 'one', 'two');
  await settled(rig, ['before']);
  await rig.inSync(leader);
  // Since the standby has seen the cluster it lists nothing anew: it follows. */
  const lists = () => rig.audit.entries('two').filter(({ verb }) => verb === 'list').length;
  const listed = lists();
  leader.kill('SIGKILL');
  const limit = withinLimit('take-over from a killed leader');
  const took = until('the take-over', () => leads(standby));
  await makeAgents(rig, [agent('between')]);
  limit(await took);
  await settled(rig, ['between']);
  expect(lists()).toBe(listed);
  expect(rig.audit.writes('two').filter(({ name }) => name === 'before')).toEqual([]);
}

async function isFenced(rig: OperatorRig): Promise<void> {
  const [leader, standby] = await startPair(rig, 'one', 'two');
  const names = Array.from({ length: 100 }, (_, index) => `burst-${index}`);
  const already = rig.audit.writes('one').length;
  const made = makeAgents(
    rig,
    names.map((name) => agent(name)),
  );
  await until('some of its work', () => rig.audit.writes('one').length > already + 20);
  leader.kill('SIGSTOP');
  const limit = withinLimit('take-over from a killed leader');
  const took = until('the take-over', () => leads(standby));
  await made;
  limit(await took);
  const before = rig.audit.writes('one').length;
  leader.kill('SIGCONT');
  await until('its return', () => isReady(leader));
  await until('that it knows', () => leader.output().includes('loses the lead'));
  await settled(rig, names);
  expect(rig.audit.writes('one').slice(before)).toEqual([]);
  // Resolves as the process is gone.
  const ended = standby.stop();
  withinLimit('hand-over by a leader that stops')(await until('the hand-over', () => leads(leader)));
  await ended;
}

const TESTS: [string, (rig: OperatorRig) => Promise<void>][] = [
  [
    'a leader that was suspended writes nothing after another took over, and hands over when it stops',
    isFenced,
  ],
];
// Its take-over lasts as long as the one above.
if (IN_SOAK)
  TESTS.push(['the standby takes over from a leader that is killed, and works at once', takesOver]);

(whyNoControlPlane() ? describe.skip : describe)('two operators', () => {
  let rig: OperatorRig;

  beforeAll(async () => {
    rig = await openTeam();
  });
  afterEach(() => rig.stopAll());
  afterAll(() => rig?.close());

  test.each(TESTS)('%s', (_name, run) => run(rig));
});
