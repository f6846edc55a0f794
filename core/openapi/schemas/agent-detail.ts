import { DRIFT_SUMMARIES } from '../../injection/drift.ts';
import { WORST_FIRST } from '../../facts/check.ts';
import { PHASES, RUNTIMES, POLICY_MODES } from '../../shapes/values.ts';
import {
  AMOUNT,
  closed,
  COUNT,
  enumOf,
  FLAG,
  listOf,
  orNull,
  ref,
  TEXT,
  TIME,
} from '../../untrusted/json-schema.ts';
import type { JsonSchema } from '../../untrusted/json-schema.ts';
import { EGRESS_SUMMARY, OPTIONAL_EGRESS_SUMMARY } from './egress.ts';
import { EVIDENCE_SUMS, GRADE, SCORE, SOURCE, USAGE_WINDOW } from './reports.ts';

type Members = Readonly<Record<string, JsonSchema>>;

const PHASE: JsonSchema = enumOf(PHASES);
const TRUE: JsonSchema = { type: 'boolean', enum: [true] };
const DAY: JsonSchema = { type: 'string', pattern: String.raw`^\d{4}-\d{2}-\d{2}$`, description: 'UTC day.' };

/** The description of a schema in its use. */
const said = (schema: JsonSchema, description: string): JsonSchema => ({ ...schema, description });

const COUNTERS: Members = {
  name: said(TEXT, 'Name of the pod, or of the instance of a registered agent.'),
  startedAt: said(TIME, 'Start of the sidecar or the reporter.'),
  seq: said({ type: 'integer' }, 'Number of its last heartbeat since `startedAt`.'),
  lastHeartbeat: TIME,
  intervalSeconds: said(COUNT, 'Seconds between two heartbeats, as the instance reports them.'),
  tokensToday: said(COUNT, 'Tokens of `day`.'),
  costTodayUsd: said(AMOUNT, 'Cost of `day`; 0 without prices in the manifest.'),
  day: DAY,
};
const OPTIONAL_COUNTERS: Members = {
  uid: said(TEXT, 'UID of the pod.'),
  outcomes: ref('OutcomeCounts'),
};

/** The state of one instance. */
const INSTANCE: Members = {
  phase: PHASE,
  score: SCORE,
  violations: said(
    COUNT,
    'Distinct reasons of policy denials between its last two heartbeats or in its last gap report.',
  ),
  criticalIssues: said(COUNT, 'Critical issues in its last gap report.'),
  deniedInWindow: said(COUNT, 'Requests that the policy denied between its last two heartbeats.'),
};
const OPTIONAL_INSTANCE: Members = {
  scoreWithoutLocalProofs: said(SCORE, 'Absent: no local proof counts in the score.'),
  localProofsUnknown: said(TRUE, 'Its sidecar (0.1.0) does not report whether local proofs count.'),
  sidecarVersion: TEXT,
  manifestHash: TEXT,
  evidence: closed(
    {
      ...EVIDENCE_SUMS,
      notShown: said({ ...listOf(TEXT), maxItems: 5 }, 'The first items without evidence.'),
    },
    { shownWithoutLocalProofs: AMOUNT },
  ),
  audit: closed({ declared: SCORE, proved: SCORE }),
  reporterInvalid: said(TRUE, 'Its last gap report has the issue `reporter.invalid`.'),
  agentReachable: said(FLAG, 'Absent: unknown.'),
  modelStatus: enumOf(WORST_FIRST),
  policyState: said(
    enumOf(['none', 'unreachable', 'not-loaded', 'answered']),
    'The last state of its policy engine.',
  ),
};

const STATUS: Members = {
  observedGeneration: said({ type: 'integer' }, '`metadata.generation` of the AgentObservation.'),
  grade: GRADE,
  oldGrade: said(TEXT, 'For example `B (old)`. Absent while an instance reports.'),
  score: said(SCORE, 'The lowest score of the instances that report.'),
  worst: said(
    {
      ...listOf(
        closed(
          {
            score: SCORE,
            grade: GRADE,
            at: said(TIME, 'Of the last report with this score.'),
            criticalIssues: { ...listOf(closed({ property: TEXT, at: TIME })), maxItems: 10 },
          },
          { manifestHash: TEXT },
        ),
      ),
      maxItems: 5,
    },
    'The worst reports of the last 24 hours, by manifest. Absent: every report had a score of 100.',
  ),
  source: SOURCE,
  tokens: said(COUNT, 'Tokens of the current UTC day over all instances.'),
  violations: said(COUNT, 'Policy denials of the instance with the most denials.'),
  evidence: closed({
    percent: SCORE,
    ...EVIDENCE_SUMS,
    items: said(listOf(ref('EvidenceItem')), 'From `reportedBy`; the sums are those of the least evidence.'),
  }),
  audit: closed({
    declared: SCORE,
    proved: SCORE,
    failed: said(listOf(TEXT), 'Ids of the violated compliance rules.'),
    suppressions: listOf(ref('Suppression')),
  }),
  egress: said(
    closed(EGRESS_SUMMARY, OPTIONAL_EGRESS_SUMMARY),
    'What the egress lanes and the census of `reportedBy` observed.',
  ),
  issues: said({ ...listOf(ref('Issue')), maxItems: 50 }, 'The most severe issues of `reportedBy`.'),
  issuesTotal: said(COUNT, 'Number of issues, also of those that are not listed.'),
  checks: { ...listOf(ref('Check')), maxItems: 100 },
  proofs: listOf(ref('ProofRecord')),
  usage: closed(USAGE_WINDOW),
  outcomes: ref('OutcomeCounts'),
  summary: ref('HealthSummary'),
  model: closed(
    { provider: TEXT, id: TEXT },
    { status: enumOf(WORST_FIRST), latencyMs: said(AMOUNT, 'Of its endpoint.') },
  ),
  policyMode: enumOf(POLICY_MODES),
  manifestHash: TEXT,
  agentId: said(TEXT, 'Only of registered agents.'),
  runtime: TEXT,
  proofRevision: said(COUNT, 'Increases with each change of the proofs.'),
  instances: said({ ...listOf(ref('InstanceStatus')), maxItems: 50 }, 'The worst instances, by name.'),
  unlisted: said(
    { ...listOf(closed(COUNTERS, OPTIONAL_COUNTERS)), maxItems: 950 },
    'Further instances that report.',
  ),
  unlistedCount: said(COUNT, 'Absent: every instance is listed.'),
  reportedBy: said(TEXT, 'The instance whose report is shown: the worst one.'),
  departedToday: said(
    closed(
      { day: DAY, tokens: COUNT, costUsd: AMOUNT },
      {
        instances: listOf(
          closed({ name: TEXT, startedAt: TIME, tokens: COUNT, costUsd: AMOUNT }, { uid: TEXT }),
        ),
      },
    ),
    'Usage of this day by processes that do not exist any more.',
  ),
  awaitedSince: said(TIME, 'Since when a new agent, or one that was idle, is expected to report.'),
  drift: said(listOf(ref('Drift')), 'Absent: every live pod is as the installation would create it.'),
  instanceCount: said(COUNT, 'Number of listed and unlisted instances.'),
  lastChecked: said(TIME, 'When the report of `reportedBy` was received.'),
  conditions: listOf(ref('Condition')),
};

/** Schemas of `GET /agents/{name}`. */
export const AGENT_DETAIL_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  AgentDetail: {
    description: 'Everything that is stored about one agent.',
    ...closed({
      agentId: TEXT,
      agentName: TEXT,
      namespace: TEXT,
      runtime: enumOf(RUNTIMES),
      source: said(
        enumOf(['sidecar', 'remote']),
        '`sidecar`: a workload of the cluster. `remote`: registered with the admin key.',
      ),
      lastSeen: said(orNull(TIME), 'The last heartbeat; null: none yet.'),
      status: ref('ObservationStatus'),
    }),
  },
  ObservationStatus: {
    description: 'The status of an AgentObservation. Values that were never reported are absent.',
    ...closed({ phase: said(PHASE, 'The worst phase of the instances.') }, STATUS),
  },
  InstanceStatus: {
    description: 'A pod, or an instance of a registered agent.',
    ...closed({ ...COUNTERS, ...INSTANCE }, { ...OPTIONAL_COUNTERS, ...OPTIONAL_INSTANCE }),
  },
  Drift: {
    description: 'Live pods that the current installation would create differently.',
    ...closed({
      reason: enumOf(Object.keys(DRIFT_SUMMARIES)),
      pods: COUNT,
      example: said(TEXT, 'The first of these pods.'),
    }),
  },
  Condition: {
    description: 'A Kubernetes condition.',
    ...closed(
      {
        type: said(TEXT, 'For example `Ready`; other clients may add types.'),
        status: enumOf(['True', 'False', 'Unknown']),
        reason: TEXT,
        message: TEXT,
        lastTransitionTime: TIME,
      },
      { observedGeneration: { type: 'integer' } },
    ),
  },
};
