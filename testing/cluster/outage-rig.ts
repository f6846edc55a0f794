// An operator and two control planes, each with its own faulty network to one API server, for outage tests.
import { expect } from '@jest/globals';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { isSettled, makeAgents } from '../fleet/fleet.ts';
import { OperatorRig, until, type OperatorProcess } from './operator-rig.ts';
import type { RunningPart } from '../machine/process-rig.ts';
import { withinLimit } from '../time/real-time.ts';
import { openFaultyNetwork, type FaultyNetwork } from '../http/faulty-network.ts';

export const NAMESPACE = 'team';
/** Timeout of a readiness request in milliseconds. */
const RESPONSE_MS = 20_000;
const ADMIN_KEY = 'admin-key-of-a-test';
const UNREACHABLE = 'caches not up to date: pods, unlabelledPods, observations, services, mounts';

/** An agent with one pod. */
export const agent = (name: string) => ({ namespace: NAMESPACE, name, pods: 1 });

interface ControlPlaneProcess extends RunningPart {
  url: string;
}

type Client = 'operator' | 'first' | 'second';

export class OutageRig {
  readonly rig: OperatorRig;
  /** Networks of the operator and of the first and second control plane. */
  readonly ways: Record<Client, FaultyNetwork>;
  readonly operator: OperatorProcess;
  readonly controlPlanes: readonly ControlPlaneProcess[];

  private constructor(
    rig: OperatorRig,
    ways: Record<Client, FaultyNetwork>,
    [operator, ...controlPlanes]: [OperatorProcess, ...ControlPlaneProcess[]],
  ) {
    this.rig = rig;
    this.ways = ways;
    this.operator = operator;
    this.controlPlanes = controlPlanes;
  }

  /** Resolves when the operator is the leader and has reconciled the agent `first`. A failed start leaves nothing behind. */
  static async open(): Promise<OutageRig> {
    const rig = await OperatorRig.open([NAMESPACE]);
    try {
      const open = () => openFaultyNetwork(rig.control);
      const [operator, first, second] = await Promise.all([open(), open(), open()]);
      for (const name of ['operator', 'control-plane']) await rig.addAccount(name);
      const [processes] = await Promise.all([
        Promise.all([
          rig.startOperator('operator', operator.url),
          ...[first, second].map(({ url }) => startControlPlane(rig, url)),
        ]),
        makeAgents(rig, [agent('first')]),
      ]);
      const outage = new OutageRig(rig, { operator, first, second }, processes);
      await outage.#observed(['first']).catch((error: unknown) => {
        throw new Error(`${String(error)}; output of the operator:\n${outage.operator.output()}`);
      });
      return outage;
    } catch (error) {
      await rig.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.rig.close();
    await Promise.all(Object.values(this.ways).map((way) => way.close()));
  }

  heal(): void {
    for (const way of Object.values(this.ways)) way.heal();
  }

  async isLeading(): Promise<boolean> {
    return (await this.operator.metric('leader_election_master_status')) === 1;
  }

  async isReady(): Promise<boolean> {
    return (await this.operator.readiness())?.status === 200;
  }

  /** Names of the agents that each control plane lists. */
  agents(): Promise<string[][]> {
    return Promise.all(this.controlPlanes.map(({ url }) => agentsOf(url)));
  }

  /** Resolves when all processes are unready due to stale caches but still live, so that none is restarted. */
  async areUnready(): Promise<void> {
    await until('an operator that is not ready', async () => {
      const readiness = await this.operator.readiness();
      return readiness?.status === 503 && readiness.detail === UNREACHABLE;
    });
    for (const { url } of this.controlPlanes)
      await until('a control plane that is not ready', async () => (await statusOf(`${url}/readyz`)) === 503);
    await this.#areLive();
  }

  /** Removes all faults: the same processes must become ready and observe these agents within the limit. */
  async recover(made: Promise<void>, names: readonly string[]): Promise<void> {
    const took = withinLimit('recovery from an outage');
    await Promise.all([
      made.then(() => this.#observed(names)),
      until('readiness', () => this.isReady()),
      ...this.controlPlanes.map(({ url }) =>
        until("a control plane's readiness", async () => (await statusOf(`${url}/readyz`)) === 200),
      ),
    ]);
    took();
    await this.#areLive();
  }

  #observed(names: readonly string[]): Promise<unknown> {
    return until(`the observations of ${names.join(', ')}`, async () => {
      const found = (await this.rig.observations()).filter(isSettled).map(({ metadata }) => metadata.name);
      return names.every((name) => found.includes(name));
    });
  }

  async #areLive(): Promise<void> {
    expect(await this.operator.isLive()).toBe(true);
    for (const { url } of this.controlPlanes) expect(await statusOf(`${url}/livez`)).toBe(200);
  }
}

async function startControlPlane(rig: OperatorRig, apiServer: string): Promise<ControlPlaneProcess> {
  const [port = 0] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const started = await rig.processes.start('control-plane', `${url}/readyz`, {
    PORT: String(port),
    STORE: 'kubernetes',
    PLATFORM_ADMIN_KEY: ADMIN_KEY,
    KUBECONFIG: await rig.kubeconfigOf('control-plane', apiServer),
  });
  return { ...started, url };
}

async function agentsOf(url: string): Promise<string[]> {
  const headers = { 'x-admin-key': ADMIN_KEY };
  const response = await fetch(`${url}/api/v1/agents`, { headers, signal: AbortSignal.timeout(2_000) });
  return response.ok
    ? ((await response.json()) as { agentName: string }[]).map((each) => each.agentName)
    : [];
}

/** 0: no response in time. */
const statusOf = (url: string): Promise<number> =>
  fetch(url, { signal: AbortSignal.timeout(RESPONSE_MS) }).then(
    ({ status }) => status,
    () => 0,
  );
