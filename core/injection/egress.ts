import { LANE_ID, type NamedLane } from '../egress/lane-annotation.ts';
import { FAIL_MODE_PATTERN } from '../egress/fail-modes.ts';
import { UPSTREAM } from '../egress/base-url.ts';
import { routeLanes, settingOf, type LaneRoutes } from './egress-lanes.ts';
import { notRewrittenText } from '../egress/not-rewritten.ts';
import type { NotRewritten } from '../shapes/egress.ts';
import type { PolicyMode } from '../shapes/values.ts';
import { IDENTITY_PATH } from './names.ts';
import { EGRESS_CONNECT_PORT, EGRESS_PORT } from '../egress/ports.ts';
import type { Container, EnvVariable } from './pod.ts';
import type { WrittenVariable } from './rewrite-variables.ts';

export const CONNECT_MODES = ['off', 'log', 'deny'] as const;

/** What the agent's pod has to do with its own connections, from the pod's annotations. */
export interface EgressPlan {
  lanes: readonly NamedLane[];
  /** null: the mode of the proxy. */
  mode: PolicyMode | null;
  /** A value of EGRESS_FAIL_MODE; null: lanes fail open. */
  failMode: string | null;
  /** The ConfigMap with further CAs for the upstreams of lanes; null: none. */
  caConfigMap: string | null;
  connect: (typeof CONNECT_MODES)[number];
  census: boolean;
}

/** Without annotations. */
export const DEFAULT_EGRESS: EgressPlan = {
  lanes: [],
  mode: null,
  failMode: null,
  caConfigMap: null,
  connect: 'off',
  census: true,
};

export const usesEgressPorts = ({ lanes, connect }: EgressPlan): boolean =>
  lanes.length > 0 || connect !== 'off';

/** The file with further CAs in the sidecar's volume `identity`. */
export const EGRESS_CA_FILE = 'egress-ca.crt';

/** The ConfigMap with further CAs; null: none, or no lane that would use them. */
export const egressCaOf = ({ lanes, caConfigMap }: EgressPlan): string | null =>
  lanes.length > 0 ? caConfigMap : null;

const PROXY = `http://127.0.0.1:${EGRESS_CONNECT_PORT}`;
// Connections inside the pod and the cluster do not go through the CONNECT lane.
const DIRECT = '127.0.0.1,localhost,.svc,.cluster.local';

/** The variables for the CONNECT lane. Clients differ in the case that they read, and Node.js reads them only with the last one. */
export const CONNECT_VARIABLES: readonly WrittenVariable[] = [
  { name: 'HTTPS_PROXY', value: PROXY },
  { name: 'https_proxy', value: PROXY },
  { name: 'NO_PROXY', value: DIRECT },
  { name: 'no_proxy', value: DIRECT },
  { name: 'NODE_USE_ENV_PROXY', value: '1' },
];

const CONNECT_NAMES: ReadonlySet<string> = new Set(CONNECT_VARIABLES.map(({ name }) => name));

/** Whether injection may have written this variable, in this or another version. */
export const isEgressVariable = ({ name, value }: WrittenVariable): boolean =>
  value === PROXY || value.startsWith(`http://127.0.0.1:${EGRESS_PORT}/`) || CONNECT_NAMES.has(name);

/** The variables of the agent's container that send its calls to the lanes, and the upstreams of the lanes. */
export function routeEgress(container: Container, plan: EgressPlan): LaneRoutes {
  const lanes = routeLanes(container, plan.lanes);
  const connect = plan.connect === 'off' ? [] : connectConflict(container);
  return {
    ...lanes,
    written: [...lanes.written, ...(plan.connect === 'off' || connect.length > 0 ? [] : CONNECT_VARIABLES)],
    notRewritten: [...lanes.notRewritten, ...connect],
  };
}

/** A container with a proxy of its own keeps it: half of the variables would send its calls to two proxies. */
function connectConflict(container: Container): NotRewritten[] {
  for (const { name } of CONNECT_VARIABLES) {
    const { kind } = settingOf(container, name);
    if (kind === 'absent') continue;
    return [{ lane: 'connect', variable: name, reason: kind === 'envfrom' ? 'envfrom' : 'set' }];
  }
  return [];
}

/** The patterns of the sidecar's variables, for the guard. `{modes}` are the modes from the chart's minimum. */
export const EGRESS_PATTERNS = {
  EGRESS_LANES: `^${LANE_ID}=${UPSTREAM}(,${LANE_ID}=${UPSTREAM})*$`,
  EGRESS_CONNECT: '^(log|deny)$',
  EGRESS_MODE: '^({modes})$',
  EGRESS_FAIL_MODE: FAIL_MODE_PATTERN,
  EGRESS_CA_FILE: '^/var/run/secrets/platform[.]io/egress-ca[.]crt$',
  EGRESS_NOT_REWRITTEN: `^(connect|${LANE_ID})=[A-Za-z0-9_]+:[a-z-]+(,(connect|${LANE_ID})=[A-Za-z0-9_]+:[a-z-]+)*$`,
  CENSUS: '^on$',
} as const;

/** The sidecar's variables for an agent with this container, which has no variables of an injection. */
export function egressVariables(agent: Container, plan: EgressPlan): EnvVariable[] {
  const { upstreams, notRewritten } = routeEgress(agent, plan);
  const values: Record<keyof typeof EGRESS_PATTERNS, string> = {
    EGRESS_LANES: upstreams.map(({ lane, upstream }) => `${lane}=${upstream}`).join(','),
    EGRESS_CONNECT: plan.connect === 'off' ? '' : plan.connect,
    EGRESS_MODE: usesEgressPorts(plan) ? (plan.mode ?? '') : '',
    EGRESS_FAIL_MODE: plan.lanes.length > 0 ? (plan.failMode ?? '') : '',
    EGRESS_CA_FILE: egressCaOf(plan) === null ? '' : `${IDENTITY_PATH}/${EGRESS_CA_FILE}`,
    EGRESS_NOT_REWRITTEN: notRewrittenText(notRewritten),
    CENSUS: plan.census ? 'on' : '',
  };
  return Object.entries(values).flatMap(([name, value]) => (value === '' ? [] : [{ name, value }]));
}

/** With one of these variables, clients of lanes would send their calls to another proxy. */
const PLAIN_PROXIES: readonly string[] = ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'];

/** The variable with a proxy that gets the calls to the lanes, because `NO_PROXY` lacks their address. */
export function proxyOfLanes(agent: Container, { lanes, connect }: EgressPlan): string | undefined {
  if (lanes.length === 0 || (connect !== 'off' && connectConflict(agent).length === 0)) return undefined;
  const isDirect = ['NO_PROXY', 'no_proxy'].some((name) => {
    const setting = settingOf(agent, name);
    return setting.kind === 'literal' && setting.value.includes('127.0.0.1');
  });
  return isDirect
    ? undefined
    : PLAIN_PROXIES.find((name) => agent.env?.some((variable) => variable.name === name));
}
