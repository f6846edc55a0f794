import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { freePorts } from '../examples/demo/free-ports.ts';
import { AGENT_OBSERVATIONS, collectionPath } from '../kube/resources.ts';
import { apiServerOf, type ApiServerProcess } from '../testing/api-server-process.ts';
import { isSettled, makeAgents } from '../testing/fleet.ts';
import { OperatorRig, until, type OperatorProcess } from '../testing/operator-rig.ts';
import { startTcpRelay, type TcpRelay } from '../testing/tcp-relay.ts';

const NAMESPACE = 'team';
const OUTAGE_MS = 30_000;
const RECOVERY_MS = 10_000;
const AWAY = /^the API server is not heard: .*\bpods\b.*\bobservations\b.*\bservices$/;

(whyNoControlPlane() ? describe.skip : describe)('an operator and a control plane whose API server', () => {
  let rig: OperatorRig;
  let relay: TcpRelay;
  let apiServer: ApiServerProcess;
  let operator: OperatorProcess;
  let controlPlane: string;

  beforeAll(async () => {
    rig = await OperatorRig.open([NAMESPACE]);
    for (const name of ['operator', 'control-plane']) await rig.addAccount(name);
    apiServer = await apiServerOf(rig.control);
    const { hostname, port } = new URL(rig.control.url);
    relay = await startTcpRelay({ host: hostname, port: Number(port) });
    const url = `https://127.0.0.1:${relay.port}`;
    operator = await rig.startOperator('operator', url);
    const [free = 0] = await freePorts(1);
    controlPlane = `http://127.0.0.1:${free}/readyz`;
    await rig.processes.start('control-plane', controlPlane, {
      PORT: String(free),
      STORE: 'kubernetes',
      KUBECONFIG: await rig.kubeconfigOf('control-plane', url),
    });
    await makeAgents(rig, [{ namespace: NAMESPACE, name: 'first', pods: 1 }]);
    await observed('first');
  }, 120_000);

  afterAll(async () => {
    await relay?.close();
    await rig?.close();
  });

  const observed = (name: string) =>
    until(`the observation of ${name}`, async () =>
      (await rig.observations()).filter(isSettled).some(({ metadata }) => metadata.name === name),
    );

  /** Both say that they lag, and neither is to be restarted for it. */
  async function areUnready(): Promise<void> {
    await until('the truth', async () => {
      const said = await operator.readiness();
      return said?.status === 503 && AWAY.test(said.detail);
    });
    await until("the control plane's truth", async () => (await fetch(controlPlane)).status === 503);
    expect(await operator.isLive()).toBe(true);
  }

  const areReady = () =>
    until('readiness', async () => {
      const said = await operator.readiness();
      return said?.status === 200 && (await fetch(controlPlane)).ok;
    });

  test('was killed and started again', async () => {
    const began = performance.now();
    await apiServer.kill();
    await areUnready();
    await sleep(Math.max(0, OUTAGE_MS - (performance.now() - began)));
    await apiServer.start();
    await until('the API server', async () => {
      const listed = rig.client.send({ method: 'GET', path: collectionPath(AGENT_OBSERVATIONS) });
      return (await listed.catch(() => null))?.ok === true;
    });
    await makeAgents(rig, [{ namespace: NAMESPACE, name: 'after-kill', pods: 1 }]);
    expect(await observed('after-kill')).toBeLessThan(RECOVERY_MS);
    await areReady();
  }, 120_000);

  test('was not to be reached, without anybody having been told, and then only by new connections', async () => {
    relay.hang();
    await makeAgents(rig, [{ namespace: NAMESPACE, name: 'in-the-dark', pods: 1 }]);
    await areUnready();
    relay.heal();
    expect(await observed('in-the-dark')).toBeLessThan(RECOVERY_MS);
    await areReady();
  }, 120_000);

  test('cut every connection again and again', async () => {
    for (let round = 0; round < 5; round += 1) {
      relay.cut();
      await makeAgents(rig, [{ namespace: NAMESPACE, name: `cut-${round}`, pods: 1 }]);
    }
    expect(await observed('cut-4')).toBeLessThan(RECOVERY_MS);
    expect(await operator.metric('leader_election_master_status')).toBe(1);
  }, 60_000);
});
