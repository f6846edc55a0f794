import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { freePorts } from '../examples/demo/free-ports.ts';
import { isSettled, makeAgents, report } from '../testing/fleet.ts';
import { OperatorRig, until, type OperatorProcess } from '../testing/operator-rig.ts';

const NAMESPACE = 'team';
const [TAKEOVER_MS, HANDOVER_MS] = [20_000, 2_000];

const agent = (name: string, pods = 1) => ({ namespace: NAMESPACE, name, pods });

(whyNoControlPlane() ? describe.skip : describe)('two operators on a real API server', () => {
  let rig: OperatorRig;

  beforeAll(async () => {
    rig = await OperatorRig.open([NAMESPACE]);
    for (const name of ['one', 'two', 'three']) await rig.addAccount(name);
  }, 90_000);
  afterEach(() => rig.stopAll());
  afterAll(() => rig?.close());

  const leads = async (operator: OperatorProcess) =>
    (await operator.metric('leader_election_master_status')) === 1;
  const isReady = async (operator: OperatorProcess) => (await operator.readiness())?.status === 200;
  const settled = (names: readonly string[]) =>
    until('the observations', async () => {
      const found = (await rig.observations()).filter(isSettled).map(({ metadata }) => metadata.name);
      return names.every((name) => found.includes(name));
    });

  /** Leads, and beside it a standby that has seen the cluster. */
  async function pair(first: string, second: string): Promise<[OperatorProcess, OperatorProcess]> {
    const leader = await rig.startOperator(first);
    await until('the leader', () => leads(leader));
    const standby = await rig.startOperator(second);
    await until('the standby', () => isReady(standby));
    return [leader, standby];
  }

  /** Since the standby has seen the cluster it lists nothing anew: it follows. */
  const listsOf = (account: string) =>
    rig.audit.entries(account).filter(({ verb }) => verb === 'list').length;

  test('the standby takes over from a leader that is killed, and works at once', async () => {
    const [leader, standby] = await pair('one', 'two');
    await makeAgents(rig, [agent('before', 2)]);
    await settled(['before']);
    const lists = listsOf('two');
    leader.kill('SIGKILL');
    await makeAgents(rig, [agent('between')]);
    expect(await until('the takeover', () => leads(standby))).toBeLessThan(TAKEOVER_MS);
    await settled(['between']);
    expect(listsOf('two')).toBe(lists);
    expect(rig.audit.writes('two').filter(({ name }) => name === 'before')).toEqual([]);
  }, 90_000);

  test('a leader that was suspended writes nothing after another took over, and the lead is handed back at once', async () => {
    const [leader, standby] = await pair('one', 'two');
    const names = Array.from({ length: 100 }, (_, index) => `burst-${index}`);
    const made = makeAgents(
      rig,
      names.map((name) => agent(name)),
    );
    await until('some of its work', () => rig.audit.writes('one').length > 20);
    leader.kill('SIGSTOP');
    const took = until('the takeover', () => leads(standby));
    await made;
    expect(await took).toBeLessThan(TAKEOVER_MS);
    const before = rig.audit.writes('one').length;
    leader.kill('SIGCONT');
    await until('its return', () => isReady(leader));
    await settled(names);
    expect(rig.audit.writes('one').slice(before)).toEqual([]);
    expect(leader.output()).toContain('loses the lead');
    // Resolves as the process is gone.
    const ended = standby.stop();
    expect(await until('the handover', () => leads(leader))).toBeLessThan(HANDOVER_MS);
    await ended;
  }, 120_000);

  test('a restart of both operators and the control plane writes nothing', async () => {
    for (const name of ['before', 'between']) await report(rig, agent(name));
    const first = await pair('one', 'two');
    await settled(['before', 'between']);
    await rig.quiet();
    await Promise.all(first.map((operator) => operator.stop()));
    const before = await rig.observations();
    const writes = rig.audit.writes().length;
    const [[leader], controlPlane] = await Promise.all([pair('two', 'one'), startControlPlane()]);
    expect(controlPlane.output()).toContain('listens');
    await rig.inSync(leader);
    await rig.quiet();
    expect(await rig.observations()).toEqual(before);
    expect(rig.audit.writes().slice(writes)).toEqual([]);
  }, 120_000);

  async function startControlPlane(): ReturnType<OperatorRig['processes']['start']> {
    const [port = 0] = await freePorts(1);
    return rig.processes.start('control-plane', `http://127.0.0.1:${port}/readyz`, {
      PORT: String(port),
      STORE: 'kubernetes',
      KUBECONFIG: await rig.kubeconfigOf('three', rig.control.url),
    });
  }
});
