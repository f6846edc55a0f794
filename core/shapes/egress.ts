import { amount, count, cutText } from './common.ts';
import { flag, integer, isoTime, known, named, nullable, oneOf, text, type Field } from './field.ts';
import { list, namedObject, object, type TypeOf } from './object.ts';
import { CENSUS_STATES, MATRIX_KINDS, NOT_REWRITTEN, VERDICTS } from './values.ts';

/** Limits of the lists. */
export const MAX_SUMMARY = { lanes: 32, models: 10, tools: 20, undeclaredNames: 5 } as const;
/** UTF-16 units of a name. */
export const MAX_NAME = 200;
/** Limits of the lists. The largest report of ASCII names has about 34,000 bytes (report.test.ts). */
export const MAX_REPORT = { rows: 50, unseen: 20, lanesOfUnseen: 1, notRewritten: 20 } as const;

const shortText = (about: string): Field<string> => text(about, { cut: MAX_NAME });
const names = (about: string, name: string, max: number): Field<string[]> =>
  list(about, cutText(name), { max, cut: true });

const compared = (about: string): Field<boolean | null> => nullable(flag(`${about} null: cannot be known.`));

export const matrixRow = namedObject('MatrixRow', 'One item, as it is declared, reported and observed.', {
  kind: known('Kind of the item.', MATRIX_KINDS),
  name: shortText('Name of the item.'),
  verdict: known('Result of the comparison.', VERDICTS),
  declared: compared('Whether the manifest declares it.'),
  reported: compared('Whether the agent reports it.'),
  observed: compared('Whether a lane or the census observed it.'),
  'amount?': amount('Observed tokens, or US dollars for the cost.', Number.MAX_SAFE_INTEGER),
});

/** One item of the agent, as the manifest declares it, as the agent reports it, and as lanes and census observed it. */
export interface MatrixRow extends TypeOf<typeof matrixRow> {}
export const matrixMembers = matrixRow.members;

const unseenMembers = object('Connections that no lane, declared host or socket of the sidecar explains.', {
  // Longer than every IPv6 address.
  address: text('Address of the other end.', { max: 64 }),
  port: integer('Its port.', { min: 0, max: 65_535 }),
  name: nullable(shortText('null: no name is known for the address.')),
  verdict: known('`unknown`: the address may belong to a declared host.', ['undeclared', 'unknown']),
  firstSeen: isoTime('When the first connection was seen.'),
  lastSeen: isoTime('When the last connection was seen.'),
  count: count('Number of connections.'),
  'lanes?': names(
    'The lanes that the connections bypass: they go to the upstream of these lanes. Absent: the host is not an upstream.',
    'The id of a lane.',
    MAX_REPORT.lanesOfUnseen,
  ),
});

/** Connections that no lane, declared host or socket of the sidecar explains: to other hosts, or to a lane's upstream past the lane. */
export interface UnseenEgress extends TypeOf<typeof unseenMembers> {}
export const unseenEgress = named('UnseenEgress', unseenMembers);

export const notRewritten = namedObject(
  'NotRewritten',
  'A variable of the agent that the injector did not change, so that calls may bypass its lane.',
  {
    lane: shortText('The id of a lane, or `connect`.'),
    variable: shortText('Name of the variable.'),
    reason: known('Why the variable was not changed.', NOT_REWRITTEN),
  },
);
export interface NotRewritten extends TypeOf<typeof notRewritten> {}

export const censusMembers = {
  state: oneOf('Whether the sidecar lists the connections of its network namespace.', CENSUS_STATES),
  reason: nullable(cutText('Why the census is refused; else null.')),
};
const census = object('State of the census. Absent: the sender is of an earlier version.', censusMembers);
export interface CensusState extends TypeOf<typeof census> {}

const newest: Field<readonly UnseenEgress[] | null> = nullable(
  list('The newest first; null: the census does not run.', unseenEgress),
);
export const censusReport = namedObject('CensusReport', 'State and findings of the census.', {
  ...censusMembers,
  unseenEgress: newest,
  unexplainedOpens: nullable(count('Connections whose address was not seen; null: as above.')),
});

/** `census` of the reports of a sidecar. */
export interface CensusReport extends TypeOf<typeof censusReport> {}

/** What the lanes and the census observed. */
export const egressMembers = {
  lanes: names('The lanes.', 'The id of a lane, such as openai or mcp:files.', MAX_SUMMARY.lanes),
  calls: count('Number of calls of models.'),
  models: names('The requested models with the most calls.', 'A model id.', MAX_SUMMARY.models),
  tools: names('The tools with the most calls.', 'The name of a tool.', MAX_SUMMARY.tools),
  undeclared: count('Observed models, tools, MCP servers and hosts that the manifest does not declare.'),
  undeclaredNames: names(
    'The first of them.',
    'Kind and name, such as tool delete_all_orders.',
    MAX_SUMMARY.undeclaredNames,
  ),
  neverSeen: count('Declared items that were never seen.'),
  misreported: count('Items whose report by the agent differs from the observation.'),
  'failedOpen?': count(
    'Calls on lanes that passed because the policy engine could not evaluate them, since the sidecar started.',
  ),
  'unseenEgress?': count(
    'Addresses that no lane, no declared host and no socket of the sidecar explains. Absent without census.',
  ),
  'unexplainedOpens?': count('Connections whose address was not seen. Absent without census.'),
};

const egressSummary = object('What the egress lanes and the census observed.', egressMembers);

/** What the lanes and the census of one sidecar observed in the last 24 hours, for heartbeats and the AgentObservation. */
export interface EgressSummary extends TypeOf<typeof egressSummary> {}

export const egressReport = object(
  'What lanes and census observed in the last 24 hours; null: the sender has neither.',
  {
    ...egressMembers,
    'rowsTotal?': count('Number of rows; absent: `rows` has all of them.'),
    'unseenTotal?': count('Number of addresses; absent: `unseen` has all of them.'),
    'rows?': list(
      'The rows of the matrix, contradictions first if there are too many. Absent: not sent, or not kept by the store.',
      matrixRow,
      { max: MAX_REPORT.rows, cut: true },
    ),
    'unseen?': list('The newest first; absent: no census.', unseenEgress, {
      max: MAX_REPORT.unseen,
      cut: true,
    }),
    'notRewritten?': list('Absent: the injector changed every variable.', notRewritten, {
      max: MAX_REPORT.notRewritten,
      cut: true,
    }),
    'census?': census,
  },
);

/**
 * `egress` of a heartbeat: the summary, and what it sums up. The status of an AgentObservation has only the summary, because it
 * is stored in etcd. A sender of an earlier version sends only the summary.
 */
export interface EgressReport extends TypeOf<typeof egressReport> {}
