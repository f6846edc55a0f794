import { agentRef } from './agent-ref.ts';
import { observedStop } from './agent-stop.ts';
import { auditMembers } from './audit.ts';
import { amount, bigCount, count, score, sequence } from './common.ts';
import { condition } from './condition.ts';
import { departedToday } from './ended-process.ts';
import { drift } from './drift.ts';
import { egressMembers } from './egress.ts';
import { evidenceItem, evidenceSums, type EvidenceItem } from './evidence.ts';
import { inCrd, integer, isoTime, named, oneOf, text, type Field } from './field.ts';
import { issue } from './gap.ts';
import { check, healthSummary, type Check } from './health.ts';
import { briefInstance, instanceStatus, modelCheck, outcomes } from './instance.ts';
import { manifestChange } from './manifest-change.ts';
import { list, namedObject, object, type TypeOf } from './object.ts';
import { organisationStatus } from './organisation.ts';
import { proofRecord, tombstone } from './proof.ts';
import { MAX_MODELS, modelMembers, usageMembers, type ModelUsage } from './usage.ts';
import { CHECK_SEVERITIES, GRADES, PHASES, POLICY_MODES, REPORT_SOURCES } from './values.ts';

const specMembers = object(
  'The observed agent and the source of its reports. Written by the creator of the object. Users may set heartbeatSeconds.',
  {
    'agentRef?': agentRef,
    source: oneOf(
      'The source of the reports: sidecar (a pod of this cluster with an injected sidecar) or remote (an agent that registered at the control plane). Immutable; written by the creator of the object.',
      ['sidecar', 'remote'],
    ),
    'heartbeatSeconds?': integer(
      'Seconds between two heartbeats of one instance, 10 to 3600. If absent, the senders use their own interval, and 30 is assumed before the first report. Without a report for three times this interval, and at least two minutes, the phase becomes Unknown. Set by users; the product never writes it.',
      { min: 10, max: 3600 },
    ),
  },
);

/** The spec of an AgentObservation. */
export interface ObservationSpec extends TypeOf<typeof specMembers> {}
export const observationSpec: Field<ObservationSpec> = inCrd(specMembers, {
  'x-kubernetes-validations': [
    { rule: 'self.source == oldSelf.source', message: 'source is immutable' },
    {
      rule: "self.source == 'sidecar' ? has(self.agentRef) : !has(self.agentRef)",
      message: 'agentRef is required for source sidecar and not allowed for source remote',
    },
  ],
});

const item: Field<EvidenceItem> = namedObject('EvidenceItem', 'One declared item and its best evidence.', {
  ...evidenceItem.members,
  name: text("The name of the item, such as a tool's name or input.pii-detector."),
});

const listedCheck: Field<Check> = namedObject('Check', 'One health check.', {
  ...check.members,
  id: text('The id of the check, such as env:API_KEY, model:openai/gpt-x, service:redis or agent:upstream.'),
  severity: oneOf(
    'The effect of a failure: error makes the agent unhealthy, warning makes it degraded, info has no effect.',
    CHECK_SEVERITIES,
  ),
});

const usedModel: Field<ModelUsage> = namedObject('ModelUsage', 'Usage of one model.', {
  ...modelMembers,
  totalTokens: bigCount('Prompt and completion tokens together.'),
});

const criticalIssue = object('One critical issue.', {
  property: text('The affected property, such as tools.undeclared.delete_all.'),
  at: isoTime('Time of the last report with this issue.'),
});

/** A critical issue of a report. */
export interface CriticalIssue extends TypeOf<typeof criticalIssue> {}

const worstReport = object('The worst that the instances with one manifest reported.', {
  'manifestHash?': text('Hash of the manifest. Absent if the senders report none.'),
  score: score('The lowest score.'),
  grade: oneOf('The score as a letter.', GRADES),
  at: isoTime('Time of the last report with this score.'),
  criticalIssues: list('The critical issues, the latest first; at most 10.', criticalIssue, { max: 10 }),
});

/** The worst of the last 24 hours by manifest. Stays when the instances restart. */
export interface WorstReport extends TypeOf<typeof worstReport> {}

const observedEvidence = object(
  'Evidence of the last 24 hours for the items that the manifest declares. The numbers are from the instance with the least evidence; the items are from the instance in reportedBy. Absent while no instance sends evidence.',
  {
    percent: score('shown divided by declared, in whole percent, rounded down.'),
    ...evidenceSums,
    items: list(
      'The items by tier, at most 100. docs/reference/evidence.md lists the accepted evidence for each kind.',
      item,
      { max: 100 },
    ),
  },
);

/** Evidence for the declared items. */
export interface ObservedEvidence extends TypeOf<typeof observedEvidence> {}

const tokenHash = object('One valid token.', {
  hash: text("SHA-256 of the token's id."),
  expiresAt: isoTime('Expiry of the token.'),
});

/** A valid registration key of a remote agent. A key that is not listed is rejected. */
export interface TokenHash extends TypeOf<typeof tokenHash> {}

const members = object(
  'The aggregated last reports of all instances of the agent. Written by the control plane from heartbeats, and by the operator where a field says so. The next write overwrites manual changes.',
  {
    'observedGeneration?': sequence('metadata.generation of the object that this status refers to.'),
    phase: inCrd(
      oneOf(
        'The worst phase of the instances. Pending: no report is expected yet, or intentionally nothing runs. Healthy, Degraded, Unhealthy: from the health checks. Unknown: the reports have stopped, or never began. Written by the control plane with heartbeats, and by the operator when heartbeats stop or do not begin.',
        PHASES,
      ),
      { default: 'Pending' },
    ),
    'grade?': oneOf('The score as a letter: A from 90, B from 75, C from 60, D from 45, else F.', GRADES),
    'oldGrade?': text(
      "The grade with the note that it is of an earlier time, such as 'B (old)', because no instance reports. Shown in the column GRADE. Absent while an instance reports.",
    ),
    'score?': score(
      'The lowest score of the reporting instances, 0 to 100. The score starts at 100, and each issue deducts points. While no instance reports, the last known score.',
    ),
    'worst?': list(
      'The worst that was reported in the last 24 hours, by manifest, lowest score first; at most 5. It stays when the instances restart. While an instance has a manifest with critical issues here, Compliant is False. Absent if every report had a score of 100.',
      worstReport,
      { max: 5 },
    ),
    'source?': oneOf(
      "The basis of the last report: agent-sdk (the agent's own health report) or manifest-static (only what the sidecar can check from outside).",
      REPORT_SOURCES,
    ),
    'tokens?': bigCount('Tokens of the current UTC day over all instances, including terminated instances.'),
    'violations?': count(
      'Distinct reasons for which the policy denied requests or calls through lanes between the last two heartbeats, or the behaviour in the last gap report, of the instance with the most reasons.',
    ),
    'evidence?': observedEvidence,
    'audit?': object(
      'Results of the compliance rules. The scores are from the instance with the lowest proved score; the lists are from the instance in reportedBy. Absent while no instance sends results.',
      auditMembers,
    ),
    'egress?': object(
      'What the egress lanes and the socket census observed in the last 24 hours. From the instance in reportedBy. Absent if it has neither.',
      egressMembers,
    ),
    'organisation?': organisationStatus,
    'stop?': observedStop,
    'issues?': list(
      'Differences between the manifest and the observed behaviour, most severe first; at most 50. From the instance in reportedBy.',
      issue,
      { max: 50 },
    ),
    'issuesTotal?': count('Number of issues, including issues that are not listed.'),
    'checks?': list(
      'Health checks from the last report of the instance in reportedBy; at most 100.',
      listedCheck,
      { max: 100 },
    ),
    'proofs?': list(
      'Proof records of compliance rules that were tested from outside; at most 100. Written through the API of the control plane, or reported by heartbeats as local.',
      proofRecord,
      { max: 100, key: 'ruleId' },
    ),
    'usage?': object('Token usage of the window in the last heartbeat of the instance in reportedBy.', {
      ...usageMembers,
      models: list('Usage by model.', usedModel, { max: MAX_MODELS }),
    }),
    'outcomes?': outcomes,
    'summary?': healthSummary,
    'model?': object('The model that the manifest declares, and the result of its check.', {
      provider: text('The provider, such as openai.'),
      id: text("The provider's name of the model."),
      'status?': modelCheck,
      'latencyMs?': amount('Response time of its endpoint in milliseconds.'),
    }),
    'policyMode?': oneOf('How the sidecar handles policy denials.', POLICY_MODES),
    'manifestHash?': text('Hash of the manifest of the last report.'),
    'manifestChange?': manifestChange,
    'agentId?': text('The id that the control plane assigned to a registered agent. Only for source remote.'),
    'runtime?': text(
      'The runtime that a registered agent reports: k8s, docker, local, bedrock, vertex or other.',
    ),
    'tokenHashes?': list(
      "Hashes of the ids of this agent's valid tokens; never the tokens themselves.",
      tokenHash,
      { max: 100, key: 'hash' },
    ),
    'proofRevision?': bigCount(
      'Increases with every change of the proofs, so that a sidecar can detect whether its proofs are current.',
    ),
    'proofTombstones?': list('Removed proofs; prevents heartbeats from restoring them.', tombstone, {
      max: 100,
      key: 'ruleId',
    }),
    'instances?': list(
      'The pods or remote processes that report for this agent. Of more than 50 instances, the worst are listed here; the others are in unlisted.',
      instanceStatus,
      { max: 50, key: 'name' },
    ),
    'unlisted?': list(
      'The counted instances that are not among the 50 worst; at most 950. An instance moves to instances as soon as its report is worse than that of a listed instance, and is removed when it stops reporting.',
      briefInstance,
      { max: 950 },
    ),
    'unlistedCount?': integer('Number of instances in unlisted. Absent if every instance is listed.', {
      min: 1,
      max: 950,
    }),
    'reportedBy?': text(
      'The instance whose report is the source of issues, checks, the items of evidence, the lists of audit, egress, usage, summary, model and source. This is the worst instance, or for at most one interval the previous worst instance.',
    ),
    'departedToday?': departedToday,
    'awaitedSince?': isoTime(
      'The time since which an agent is expected to report. For a new agent, since its first pod has started, or since its registration; for an agent that was idle (scaled to zero, or between two runs), since it is active again. Absent while the agent reports or is idle. Written by the operator, or for registered agents by the control plane.',
    ),
    'drift?': list(
      'Live pods that the current installation would create differently, by reason; absent if there are none. Written by the operator. A restart of the workload replaces these pods.',
      drift,
      { max: 10, key: 'reason' },
    ),
    'instanceCount?': count(
      'Number of listed and unlisted instances, including silent instances while they are listed. At most 1,000.',
    ),
    'lastChecked?': isoTime('When the last report of the instance in reportedBy was received.'),
    'conditions?': list(
      'Ready, Reporting, AgentReachable, ModelReachable, PolicyLoaded, Allowed, Stopped and Compliant are written with the rest of the status. Injected, Routed, Conflict, ManifestValid and SidecarFits are written only by the operator. Other clients may add conditions of other types; the product does not change them.',
      condition,
      { max: 16, key: 'type' },
    ),
  },
);

/** The status subresource. Lists are cut at the limits. All aggregates can be computed from `instances`, `unlisted` and `departedToday`. */
export interface ObservationStatus extends TypeOf<typeof members> {}
export const observationStatus: Field<ObservationStatus> = inCrd(members, { default: { phase: 'Pending' } });

const { tokenHashes: _keys, proofTombstones: _removed, ...shownMembers } = members.members;
/** The status without the hashes of keys, and without the records of removed proofs, which only senders need. */
const shown = object(
  'The status of an AgentObservation. Values that were never reported are absent.',
  shownMembers,
);
export const shownStatus = named('ObservationStatus', shown);
