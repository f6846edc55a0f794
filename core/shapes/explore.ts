import { amount, count } from './common.ts';
import { censusReport, matrixRow, notRewritten, type NotRewritten } from './egress.ts';
import { flag, integer, nullable, oneOf, text, type Field } from './field.ts';
import { source } from './gap.ts';
import { list, namedObject, object, type TypeOf } from './object.ts';

const reachable = nullable(flag('null: unknown.'));
const latencyMs = nullable(amount('Milliseconds; null: not measured.'));

export const exploredPart = namedObject('ExploredPart', 'A declared or reported part of the agent.', {
  name: text('Its name.'),
  reachable,
  latencyMs,
});
export interface ExploredPart extends TypeOf<typeof exploredPart> {}

export const exploredEndpoint = namedObject('ExploredEndpoint', "The response of the agent's own port.", {
  path: text('The path that was probed.'),
  status: nullable(integer('null: no HTTP response.', { min: 0 })),
  latencyMs,
  'note?': text('Why the declared path was not probed, or why the response is not a capability card.'),
});
export interface ExploredEndpoint extends TypeOf<typeof exploredEndpoint> {}

const lanes: Field<readonly string[]> = list('Ids of the lanes; empty: no lane.', text('The id of a lane.'));
const unchanged: Field<readonly NotRewritten[]> = list(
  'The variables of the agent that the injector could not change, so that calls may bypass their lanes.',
  notRewritten,
);
const endpoint = nullable(exploredEndpoint);

export const exploreReport = namedObject('ExploreReport', 'The parts of the agent and their state.', {
  source,
  model: object('The declared model.', {
    provider: text('Its provider.'),
    id: text('Its id.'),
    reachable,
    latencyMs,
  }),
  tools: list(
    'The tools.',
    object('A declared or reported tool.', {
      name: text('Its name.'),
      declared: flag('Whether the manifest declares it.'),
      registered: reachable,
    }),
  ),
  memory: object('The memory.', { backend: nullable(text('null: none is declared.')), reachable }),
  services: list('The services.', exploredPart),
  mcpServers: list('The MCP servers.', exploredPart),
  endpoints: object("The responses of the agent's own port; null: not probed.", {
    health: endpoint,
    capabilities: endpoint,
    agentCard: endpoint,
  }),
  guardrails: object('Number of declared guardrails.', {
    input: count('For requests.'),
    output: count('For responses.'),
  }),
  declaredNotChecked: list(
    'Declarations that are recorded but cannot be checked.',
    text('A path in the manifest.'),
  ),
  egress: object("How the sidecar sees the agent's own calls.", {
    lanes,
    notRewritten: unchanged,
    census: censusReport,
    'connect?': oneOf('Mode of the CONNECT lane; absent: it is off.', ['log', 'deny']),
  }),
});

/** `GET /explore`. */
export interface ExploreReport extends TypeOf<typeof exploreReport> {}

export const matrixReport = namedObject(
  'MatrixReport',
  'What the manifest declares, what the agent reports, and what lanes and census observed.',
  { rows: list('The rows by kind.', matrixRow) },
);

/** `GET /explore?view=matrix`. */
export interface MatrixReport extends TypeOf<typeof matrixReport> {}
