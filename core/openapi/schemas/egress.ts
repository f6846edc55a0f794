import { CENSUS_STATES } from '../../shapes/values.ts';
import { MAX_REPORT } from '../../shapes/egress.ts';
import { closed, COUNT, enumOf, listOf, orNull, ref, TEXT, TIME } from '../../untrusted/json-schema.ts';
import type { JsonSchema } from '../../untrusted/json-schema.ts';

type Members = Readonly<Record<string, JsonSchema>>;

const said = (schema: JsonSchema, description: string): JsonSchema => ({ ...schema, description });

/** The members of an EgressSummary. */
export const EGRESS_SUMMARY: Members = {
  lanes: said(listOf(TEXT), 'Ids of the lanes.'),
  calls: said(COUNT, 'Calls of models in the last 24 hours.'),
  models: said(listOf(TEXT), 'The models with the most calls.'),
  tools: said(listOf(TEXT), 'The tools with the most calls.'),
  undeclared: said(COUNT, 'Observed items that the manifest does not declare.'),
  undeclaredNames: said(listOf(TEXT), 'The first of them.'),
  neverSeen: said(COUNT, 'Declared items that were never seen.'),
  misreported: said(COUNT, 'Items whose report differs from the observation.'),
};
export const OPTIONAL_EGRESS_SUMMARY: Members = {
  failedOpen: said(COUNT, 'Calls that the policy engine could not evaluate, and that passed.'),
  unseenEgress: said(COUNT, 'Addresses that nothing explains; absent: no census.'),
  unexplainedOpens: said(COUNT, 'Connections whose address was not seen; absent: no census.'),
};

const CENSUS_STATE: Members = {
  state: enumOf(CENSUS_STATES),
  reason: said(orNull(TEXT), 'Why the census is refused; else null.'),
};

const atMost = (maxItems: number, name: string): JsonSchema => ({ ...listOf(ref(name)), maxItems });

/** Schemas of what lanes and census observe. The sidecar and the control plane use them. */
export const EGRESS_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  CensusReport: {
    description: 'State and findings of the census.',
    ...closed({
      ...CENSUS_STATE,
      unseenEgress: said(
        orNull(listOf(ref('UnseenEgress'))),
        'The newest first; null: the census does not run.',
      ),
      unexplainedOpens: said(orNull(COUNT), 'Connections whose address was not seen; null: as above.'),
    }),
  },
  StoredEgress: {
    description: 'What lanes and census of an instance observed, as its last heartbeat has it.',
    ...closed({
      egress: orNull(
        closed(EGRESS_SUMMARY, {
          ...OPTIONAL_EGRESS_SUMMARY,
          rows: said(
            atMost(MAX_REPORT.rows, 'MatrixRow'),
            'The rows of the matrix, contradictions first if there are too many. Absent: not sent, or not kept by the store.',
          ),
          rowsTotal: said(COUNT, 'Number of rows; absent: `rows` has all of them.'),
          unseen: said(atMost(MAX_REPORT.unseen, 'UnseenEgress'), 'The newest first; absent: no census.'),
          unseenTotal: said(COUNT, 'Number of addresses; absent: `unseen` has all of them.'),
          notRewritten: said(
            atMost(MAX_REPORT.notRewritten, 'NotRewritten'),
            'Absent: the injector changed every variable.',
          ),
          census: said(closed(CENSUS_STATE), 'Absent: the sender is of an earlier version.'),
        }),
      ),
      receivedAt: TIME,
      instance: TEXT,
    }),
  },
};
