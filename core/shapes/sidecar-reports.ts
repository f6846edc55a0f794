import { analysisState } from './analysis-state.ts';
import { amount, count, score } from './common.ts';
import { censusReport } from './egress.ts';
import { evidenceItem, evidenceSums, shownWithoutLocalProofs } from './evidence.ts';
import { flag, named, nullable, oneOf, text } from './field.ts';
import { grade, issue, source } from './gap.ts';
import { check, healthSummary, reportMembers } from './health.ts';
import { list, namedObject, object, type ObjectOf, type TypeOf } from './object.ts';
import { modelMembers, modelUsage, usageMembers } from './usage.ts';
import { verdict } from './verdict.ts';

/** The reports that a sidecar returns. Their lists have no limit, because only stored and sent lists are cut. */

const members = object('The evidence of the last 24 hours for the declared items.', {
  ...evidenceSums,
  items: list('The items, the best evidence first.', evidenceItem),
  shownWithoutLocalProofs,
});
export const completeEvidence = named('EvidenceReport', members);

const gap = object('The differences between the declaration and the observations, and the score.', {
  compliant: verdict,
  score: score('0 to 100.'),
  grade,
  source,
  issues: list('The differences that cost points.', issue),
  evidence: completeEvidence,
  llm: analysisState,
  census: censusReport,
  'listened?': flag("With `agent=ended`: whether the agent's port accepted a connection of a probe."),
});
/** `GET /gap`. */
export const completeGap = named('GapReport', gap);

export const readyReport = namedObject('ReadyReport', 'The health of the agent.', {
  ...reportMembers,
  status: oneOf('Whether the agent is ready.', ['ready', 'degraded', 'not-ready']),
  summary: healthSummary,
  checks: list('The checks.', check),
  source,
  'note?': text("Why the agent's own report is not valid."),
});

/** `GET /health/ready`. */
export interface ReadyReport extends TypeOf<typeof readyReport> {}

const sums = { totalTokens: count('Sum of the tokens.'), totalCalls: count('Number of calls.') };

/** Calls and their tokens. */
export interface CallSum extends ObjectOf<typeof sums> {}

const costUsd = nullable(
  amount('US dollars, of the models whose price is known. null: the price of no model is known.'),
);

const USAGE_SOURCE = '`agent-sdk`: reported by the agent. `audit-ring`: from the newest requests.';

export const shownUsageReport = namedObject('AgentUsageReport', 'Usage that the agent itself reports.', {
  source: oneOf(USAGE_SOURCE, ['agent-sdk']),
  ...usageMembers,
  models: list('One entry per model.', modelUsage),
  costUsd,
  'processReport?': object(
    'Totals of the own report of the agent, which is that of one process. Present if the `model` events of the agent since the start of the sidecar have more tokens; the other members are then their sums.',
    sums,
  ),
});

/** `GET /usage` if the agent reports its own usage. */
export interface ShownUsageReport extends TypeOf<typeof shownUsageReport> {}

const { modelId, totalTokens, callCount } = modelMembers;
export const ringUsageReport = namedObject('RingUsageReport', 'Usage from the audit ring.', {
  source: oneOf(USAGE_SOURCE, ['audit-ring']),
  models: list(
    'One entry per model.',
    object('The calls of one model.', { modelId, totalTokens, callCount }),
  ),
  ...sums,
  costUsd,
  sampleSize: count('Entries with usage.'),
  callsWithoutUsage: count('Model responses whose usage could not be read.'),
  'withoutRequest?': object(
    'Calls reported without a request since the sidecar started, which are not in the sums. Absent: none.',
    sums,
  ),
});

/** `GET /usage` from the audit ring. */
export interface RingUsageReport extends TypeOf<typeof ringUsageReport> {}
