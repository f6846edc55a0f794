// Operators and a control plane that start and stop at a healthy API server.
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { freePorts } from '../examples/demo/free-ports.ts';
import { isSettled, makeAgents, report } from '../testing/fleet.ts';
import { OperatorRig, until, type OperatorProcess } from '../testing/operator-rig.ts';
import { IN_SOAK, withinLimit } from '../testing/real-time.ts';

const NAMESPACE = 'team';

const agent = (name: string, pods = 1) => ({ namespace: NAMESPACE, name, pods });

async function open(): Promise<OperatorRig> {
  const rig = await OperatorRig.open([NAMESPACE]);
  try {
    for (const name of ['one', 'two', 'three']) await rig.addAccount(name);
    return rig;
  } catch (error) {
    await rig.close();
    throw error;
  }
}

const leads = async (operator: OperatorProcess) =>
  (await operator.metric('leader_election_master_status')) === 1;
const isReady = async (operator: OperatorProcess) => (await operator.readiness())?.status === 200;

const settled = (rig: OperatorRig, names: readonly string[]) =>
  until('the observations', async () => {
    const found = (await rig.observations()).filter(isSettled).map(({ metadata }) => metadata.name);
    return names.every((name) => found.includes(name));
  });

/** Leads, and beside it a standby that has seen the cluster. */
async function pair(
  rig: OperatorRig,
  first: string,
  second: string,
): Promise<[OperatorProcess, OperatorProcess]> {
  const leader = await rig.startOperator(first);
  await until('the leader', () => leads(leader));
  const standby = await rig.startOperator(second);
  await until('the standby', () => isReady(standby));
  return [leader, standby];
}

async function startControlPlane(rig: OperatorRig): ReturnType<OperatorRig['processes']['start']> {
  const [port = 0] = await freePorts(1);
  return rig.processes.start('control-plane', `http://127.0.0.1:${port}/readyz`, {
    PORT: String(port),
    STORE: 'kubernetes',
    KUBECONFIG: await rig.kubeconfigOf('three', rig.control.url),
  });
}

async function takesOver(rig: OperatorRig): Promise<void> {
  // Before anybody leads: the leader sees it whole, and has nothing left to do for it once it has settled.
  await makeAgents(rig, [agent('before', 2)]);
  const [leader, standby] = await pair(rig, 'one', 'two');
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
  const [leader, standby] = await pair(rig, 'one', 'two');
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

async function changesNothing(rig: OperatorRig): Promise<void> {
  const names = ['reports', 'reports-too'];
  await makeAgents(
    rig,
    names.map((name) => agent(name, 2)),
  );
  const first = await pair(rig, 'one', 'two');
  await settled(rig, names);
  for (const name of names) await report(rig, agent(name));
  const healthy = () => first[0].metric('platform_operator_agents', /Healthy/);
  await until('that it sees the reports', async () => (await healthy()) === names.length);
  await rig.inSync(first[0]);
  await rig.quiet();
  await Promise.all(first.map((operator) => operator.stop()));
  const before = await rig.observations();
  const writes = rig.audit.writes().length;
  const [[leader], controlPlane] = await Promise.all([pair(rig, 'two', 'one'), startControlPlane(rig)]);
  expect(controlPlane.output()).toContain('listens');
  await rig.inSync(leader);
  await rig.quiet();
  expect(await rig.observations()).toEqual(before);
  expect(rig.audit.writes().slice(writes)).toEqual([]);
}

const TESTS: [string, (rig: OperatorRig) => Promise<void>][] = [
  [
    'a leader that was suspended writes nothing after another took over, and hands over when it stops',
    isFenced,
  ],
  ['a restart of both operators and the control plane writes nothing', changesNothing],
];
// Its take-over lasts as long as the one above.
if (IN_SOAK)
  TESTS.push(['the standby takes over from a leader that is killed, and works at once', takesOver]);

(whyNoControlPlane() ? describe.skip : describe)('operators that start and stop', () => {
  let rig: OperatorRig;

  beforeAll(async () => {
    rig = await open();
  });
  afterEach(() => rig.stopAll());
  afterAll(() => rig?.close());

  test.each(TESTS)('%s', (_name, run) => run(rig));
});
