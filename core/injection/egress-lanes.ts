import { parseBaseUrl, type BaseUrl } from '../egress/base-url.ts';
import type { NamedLane } from '../egress/lane-annotation.ts';
import { lanePath, VENDOR_LANES, type LaneId, type VendorLaneName } from '../egress/lane-variables.ts';
import type { NotRewritten } from '../shapes/egress.ts';
import { isRecord } from '../untrusted/fields.ts';
import { AZURE_VARIABLES } from '../vendors/azure.ts';
import type { VendorLane } from '../vendors/vendor.ts';
import { EGRESS_PORT } from '../egress/ports.ts';
import type { Container } from './pod.ts';
import type { WrittenVariable } from './rewrite-variables.ts';

/** What decides about the variables of a lane. */
type LaneAddress = Pick<VendorLane, 'upstream' | 'endings' | 'variables' | 'bareHostPort'>;

/** How the calls of a container get to its lanes. */
export interface LaneRoutes {
  written: WrittenVariable[];
  /** The base URL of the upstream of each lane, without a slash at the end of a vendor's. */
  upstreams: { lane: LaneId; upstream: string }[];
  notRewritten: NotRewritten[];
  /** Reasons to reject the pod. */
  problems: string[];
}

/** Where a container gets a variable from. `reference` and `envfrom`: the value is not known here. */
type Setting =
  | { kind: 'absent' }
  | { kind: 'envfrom' }
  | { kind: 'reference' }
  | { kind: 'literal'; value: string };

export function settingOf({ env = [], envFrom = [] }: Container, name: string): Setting {
  // The kubelet uses the last of several variables with one name.
  const own = env.findLast((variable) => variable.name === name);
  if (own === undefined) return { kind: mayHave(envFrom, name) ? 'envfrom' : 'absent' };
  const { value = '', valueFrom }: { value?: unknown; valueFrom?: unknown } = own;
  // `$(NAME)` stands for another variable of the container.
  return valueFrom === undefined && typeof value === 'string' && !value.includes('$(')
    ? { kind: 'literal', value }
    : { kind: 'reference' };
}

/** Whether a variable whose name begins with this text may come from a ConfigMap or Secret, whose prefix its name has. */
function mayHave(envFrom: readonly unknown[], start: string): boolean {
  return envFrom.some((source) => {
    const prefix = isRecord(source) && typeof source['prefix'] === 'string' ? source['prefix'] : '';
    return start.startsWith(prefix) || prefix.startsWith(start);
  });
}

/** The routes of the agent's container to these lanes. `port`: of the lanes on loopback. */
export function routeLanes(
  container: Container,
  lanes: readonly NamedLane[],
  port: number = EGRESS_PORT,
): LaneRoutes {
  const claimed = new Set(lanes.map(({ variable }) => variable));
  const azure = azureOf(container, lanes);
  const routes = lanes.map(({ id, variable }) => {
    if (variable !== null)
      return routeLane(container, id, { lane: namedLane(id, variable), port, azure: null });
    const vendor = VENDOR_LANES[id as VendorLaneName];
    const variables = vendor.variables.filter(({ name }) => !claimed.has(name));
    return routeLane(container, id, { lane: { ...vendor, variables }, port, azure });
  });
  return {
    written: routes.flatMap(({ written }) => written),
    upstreams: routes.flatMap(({ upstreams }) => upstreams),
    notRewritten: routes.flatMap(({ notRewritten }) => notRewritten),
    problems: routes.flatMap(({ problems }) => problems),
  };
}

const namedLane = (id: LaneId, name: string): LaneAddress => ({
  upstream: null,
  // The upstream of an MCP server is its endpoint, so nothing of the path stays in the variable.
  endings: id.startsWith('mcp:') ? [] : ['/v1'],
  variables: [{ name, added: null }],
});

/** Whether the agent uses Azure (`azure`), or may use it by variables that are not known here (`envfrom`). */
function azureOf(
  { env = [], envFrom = [] }: Container,
  lanes: readonly NamedLane[],
): 'azure' | 'envfrom' | null {
  const isAzure =
    lanes.some(({ id }) => id === 'azure') ||
    env.some(({ name }) => AZURE_VARIABLES.some((start) => name.startsWith(start)));
  if (isAzure) return 'azure';
  return AZURE_VARIABLES.some((start) => mayHave(envFrom, start)) ? 'envfrom' : null;
}

function routeLane(
  container: Container,
  id: LaneId,
  { lane, port, azure }: { lane: LaneAddress; port: number; azure: 'azure' | 'envfrom' | null },
): LaneRoutes {
  const address = `http://127.0.0.1:${port}${lanePath(id)}`;
  const routes: LaneRoutes = { written: [], upstreams: [], notRewritten: [], problems: [] };
  const leave = (variable: string, reason: NotRewritten['reason']) =>
    routes.notRewritten.push({ lane: id, variable, reason });
  const settings = lane.variables.map((variable) => ({
    variable,
    setting: settingOf(container, variable.name),
  }));
  let upstream: BaseUrl | null = null;
  for (const { variable, setting } of settings) {
    if (setting.kind === 'reference') leave(variable.name, 'reference');
    if (setting.kind !== 'literal' || isUnset(setting)) continue;
    const parsed = parseBaseUrl(setting.value, lane.bareHostPort);
    if (!parsed.ok) {
      routes.problems.push(`the value of ${variable.name} ${parsed.problem}`);
      continue;
    }
    upstream ??= upstreamOf(parsed.url, id, lane);
    const rest = restOf(parsed.url, upstream);
    if (rest === null) leave(variable.name, 'other-upstream');
    else routes.written.push({ name: variable.name, value: address + rest });
  }
  const wanted = upstream === null ? lane.upstream : upstream.origin + upstream.path;
  if (wanted !== null) routes.upstreams.push({ lane: id, upstream: wanted });
  // An address of the lane in a further variable would send the calls of other clients to a gateway that they do not use now.
  const isUnknown = settings.some(({ setting }) => setting.kind === 'envfrom');
  const addsVariables =
    wanted !== null && wanted === lane.upstream && !isUnknown && routes.notRewritten.length === 0;
  for (const { variable, setting } of addsVariables ? settings : []) {
    if (variable.added === null || !isUnset(setting)) continue;
    if (variable.isWrongWithAzure === true && azure !== null) leave(variable.name, azure);
    else routes.written.push({ name: variable.name, value: address + variable.added });
  }
  const first = lane.variables.find(({ added }) => added !== null || lane.upstream === null);
  if (routes.written.length + routes.notRewritten.length + routes.problems.length === 0 && first)
    leave(first.name, isUnknown ? 'envfrom' : 'absent');
  return routes;
}

/** An empty value counts as unset. */
const isUnset = (setting: Setting): boolean =>
  setting.kind === 'absent' || (setting.kind === 'literal' && setting.value === '');

/** The upstream of a lane, from the value of a variable: without the ending that belongs to the vendor's API. */
function upstreamOf({ origin, path }: BaseUrl, id: LaneId, { upstream, endings }: LaneAddress): BaseUrl {
  if (origin === upstream) return { origin, path: '' };
  if (id.startsWith('mcp:')) return { origin, path };
  const plain = path.replace(/\/+$/, '');
  const ending = endings.find((each) => plain.endsWith(each)) ?? '';
  return { origin, path: plain.slice(0, plain.length - ending.length) };
}

/** The path of a value after the path of the lane's upstream; null: the value is not below the upstream. */
function restOf({ origin, path }: BaseUrl, upstream: BaseUrl): string | null {
  if (origin !== upstream.origin || !path.startsWith(upstream.path)) return null;
  const rest = path.slice(upstream.path.length);
  return rest === '' || rest.startsWith('/') ? rest : null;
}
