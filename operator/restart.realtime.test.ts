// A restart of operators and a control plane while the API server is healthy.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { freePorts } from '../examples/demo/free-ports.ts';
import { makeAgents, report } from '../testing/fleet/fleet.ts';
import { agent, openTeam, settled, startPair } from '../testing/cluster/operator-pair.ts';
import { until, type OperatorRig } from '../testing/cluster/operator-rig.ts';

async function startControlPlane(rig: OperatorRig): ReturnType<OperatorRig['processes']['start']> {
  const [port = 0] = await freePorts(1);
  return rig.processes.start('control-plane', `http://127.0.0.1:${port}/readyz`, {
    PORT: String(port),
    STORE: 'kubernetes',
    KUBECONFIG: await rig.kubeconfigOf('three', rig.control.url),
  });
}

(whyNoControlPlane() ? describe.skip : describe)('a restart of all processes', () => {
  let rig: OperatorRig;

  beforeAll(async () => {
    rig = await openTeam();
  });
  afterAll(async () => {
    await rig?.stopAll();
    await rig?.close();
  });

  test('writes nothing', async () => {
    const names = ['reports', 'reports-too'];
    await makeAgents(
      rig,
      names.map((name) => agent(name, 2)),
    );
    const first = await startPair(rig, 'one', 'two');
    await settled(rig, names);
    for (const name of names) await report(rig, agent(name));
    const healthy = () => first[0].metric('platform_operator_agents', /Healthy/);
    await until('the reports', async () => (await healthy()) === names.length);
    await rig.inSync(first[0]);
    await rig.quiet();
    await Promise.all(first.map((operator) => operator.stop()));
    const before = await rig.observations();
    const writes = rig.audit.writes().length;
    const [[leader], controlPlane] = await Promise.all([
      startPair(rig, 'two', 'one'),
      startControlPlane(rig),
    ]);
    expect(controlPlane.output()).toContain('listening');
    await rig.inSync(leader);
    await rig.quiet();
    expect(await rig.observations()).toEqual(before);
    expect(rig.audit.writes().slice(writes)).toEqual([]);
  });
});
