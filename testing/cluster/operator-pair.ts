// Two operators, a leader and a standby, with an API server and the agents of one namespace.
import { isSettled } from '../fleet/fleet.ts';
import { OperatorRig, until, type OperatorProcess } from './operator-rig.ts';

const NAMESPACE = 'team';

/** An agent of the fleet with this number of pods. */
export const agent = (name: string, pods = 1) => ({ namespace: NAMESPACE, name, pods });

/** An API server with a namespace and three accounts: `one`, `two` and `three`. */
export async function openTeam(): Promise<OperatorRig> {
  const rig = await OperatorRig.open([NAMESPACE]);
  try {
    for (const name of ['one', 'two', 'three']) await rig.addAccount(name);
    return rig;
  } catch (error) {
    await rig.close();
    throw error;
  }
}

/** Whether the operator holds the Lease. */
export const leads = async (operator: OperatorProcess) =>
  (await operator.metric('leader_election_master_status')) === 1;
export const isReady = async (operator: OperatorProcess) => (await operator.readiness())?.status === 200;

/** Resolves when the observations of these agents are complete. */
export const settled = (rig: OperatorRig, names: readonly string[]) =>
  until('the observations', async () => {
    const found = (await rig.observations()).filter(isSettled).map(({ metadata }) => metadata.name);
    return names.every((name) => found.includes(name));
  });

/** Starts a leader, and then a standby whose caches are synced. */
export async function startPair(
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
