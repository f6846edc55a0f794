import { RULES } from '../audit/rules.ts';
import { excludesRule } from '../audit/suppressions.ts';
import { POINTS } from '../gap/finding.ts';
import { isVerified } from '../gap/gap.ts';
import type { EvaluatedSuppression } from '../shapes/audit.ts';
import { compliantOf } from '../observation/compliant-of.ts';
import type { AgentObservation } from '../observation/observation.ts';
import type { EvidenceItem } from '../shapes/evidence.ts';
import type { Issue } from '../shapes/gap.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import type { Severity } from '../shapes/values.ts';
import { present } from '../untrusted/present.ts';

/** The source of all reports and results. */
export const REPORT_SOURCE = 'agent-compliance';
const RESULTS = ['pass', 'fail', 'warn', 'error', 'skip'] as const;

/** One result of an OpenReports report, without its time. */
export interface OpenResult {
  source: string;
  /** A pack of rules, `gap`, `policy`, `evidence` or `observation`. */
  policy: string;
  rule: string;
  /** warn: declared, not proved. skip: suppressed. error: not known. */
  result: (typeof RESULTS)[number];
  scored: boolean;
  severity?: Severity;
  message: string;
  /** Only texts. */
  properties: Record<string, string>;
}

export interface OpenReport {
  /** The workload of the agent; absent: it has none, as a remote agent. */
  scope?: Record<string, string>;
  summary: Record<OpenResult['result'], number>;
  results: OpenResult[];
}

/** The results of an agent in the terms of OpenReports. They change only if the state of the agent changes. */
export function openReportOf({ metadata, spec, status }: AgentObservation): OpenReport {
  const { namespace, name } = metadata;
  const all =
    status === undefined
      ? []
      : [...unknown(status), ...rules(status), ...issues(status), ...evidence(status)];
  const grade = status?.grade;
  const results = all.map((each) => ({
    ...each,
    properties: {
      resultID: [namespace, name, each.rule].join('/'),
      ...(grade && { grade }),
      ...each.properties,
    },
  }));
  const count = (result: OpenResult['result']): number =>
    results.filter((each) => each.result === result).length;
  const { agentRef } = spec;
  return {
    ...(agentRef && { scope: { ...present({ ...agentRef }), namespace } }),
    summary: Object.fromEntries(RESULTS.map((each) => [each, count(each)])) as OpenReport['summary'],
    results,
  };
}

function result(
  [policy, rule, outcome]: readonly [policy: string, rule: string, outcome: OpenResult['result']],
  message: string,
  more: { severity?: Severity; properties?: Record<string, string> } = {},
): OpenResult {
  const scored = outcome === 'pass' || outcome === 'fail';
  return { source: REPORT_SOURCE, policy, rule, result: outcome, scored, message, properties: {}, ...more };
}

/** What is not known, because the agent is silent or its policy engine does not respond. */
function unknown(status: ObservationStatus): OpenResult[] {
  const isSilent = status.phase === 'Unknown';
  const hasNoEngine = status.instances?.some(({ policyState }) => policyState === 'unreachable') ?? false;
  return [
    ...(isSilent ? [result(['observation', 'Reporting', 'error'], compliantOf(status).message)] : []),
    ...(hasNoEngine ? [result(['policy', 'engine', 'error'], 'the policy engine is unreachable')] : []),
  ];
}

/** The rules that the manifest violates, and those that it suppresses. The packs of the manifest are not known here. */
function rules({ audit }: ObservationStatus): OpenResult[] {
  if (audit === undefined) return [];
  return RULES.flatMap(({ id, pack, severity, message, recommendation }) => {
    const suppression = audit.suppressions.find(({ rule, state }) => rule === id && excludesRule(state));
    if (suppression !== undefined)
      return [
        result([pack, id, 'skip'], suppression.reason, {
          severity,
          properties: suppressionProperties(suppression),
        }),
      ];
    if (!audit.failed.includes(id)) return [];
    return [result([pack, id, 'fail'], message, { severity, properties: { fix: recommendation } })];
  });
}

const suppressionProperties = ({
  state,
  approvedBy,
  expires,
}: EvaluatedSuppression): Record<string, string> => ({
  state,
  ...present({ owner: approvedBy, expires }),
});

function issues({ issues: all = [] }: ObservationStatus): OpenResult[] {
  return all.filter(isVerified).map(({ severity, property, description, recommendation, source }: Issue) => {
    const properties = {
      points: String(POINTS[severity]),
      ...(recommendation !== '' && { fix: recommendation }),
    };
    return result([source ?? 'gap', property, 'fail'], description, { severity, properties });
  });
}

function evidence({ evidence: shown }: ObservationStatus): OpenResult[] {
  return (shown?.items ?? []).map(({ kind, name, tier, shownBy, contradictedBy }: EvidenceItem) => {
    const isShown = tier !== 'none' && tier !== 'reported';
    const why = shownBy ?? contradictedBy;
    const message = isShown ? (why ?? tier) : `declared, not proved${why === undefined ? '' : `: ${why}`}`;
    return result(['evidence', `${kind}.${name}`, isShown ? 'pass' : 'warn'], message, {
      properties: { evidence: tier },
    });
  });
}
