import { confirmedStop } from './agent-stop.ts';
import { auditLog } from './audit-log.ts';
import { auditSummary } from './audit.ts';
import { amount, count, cutText, score } from './common.ts';
import { egressReport } from './egress.ts';
import { evidenceReport } from './evidence.ts';
import { integer, isoTime, nullable, oneOf, text, withDefault } from './field.ts';
import { sentGap, type GapReport } from './gap.ts';
import { sentHealth, type HealthReport } from './health.ts';
import { list, object, type TypeOf } from './object.ts';
import { outcomeMembers } from './outcomes.ts';
import { sentProof } from './proof.ts';
import { usageTotals, usageWindow } from './usage.ts';
import { POLICY_MODES, REPORT_SOURCES } from './values.ts';

const MAX_MODEL_TEXT = 200;

/**
 * The body of a heartbeat. `health` and `gap` are required; the other members have defaults, so that a plain reporter can push.
 * Further entries are dropped and longer strings are cut, so that a heartbeat with too much data is still accepted.
 */
export const heartbeatBody = object('The state of one instance of an agent.', {
  version: withDefault(oneOf('Default: 1.', [1]), 1),
  instance: withDefault(
    text('The pod name, or another name that is unique among the instances of the agent.', { max: 253 }),
    'default',
  ),
  seq: nullable(
    count(
      'Increases by one with each heartbeat of a process. Together with `instance` and `startedAt` it makes a push idempotent. null: not numbered, every push counts as new.',
    ),
  ),
  intervalSeconds: withDefault(
    integer('Time to the next heartbeat. Default: 30.', { min: 1, max: 3_600 }),
    30,
  ),
  sentAt: nullable(isoTime('Time of sending; null: not reported.')),
  source: nullable(
    oneOf(
      'Whether the agent reported its own checks. Default: `gap.source`, else `manifest-static`.',
      REPORT_SOURCES,
    ),
  ),
  health: sentHealth,
  gap: sentGap,
  scoreWithoutLocalProofs: nullable(
    score('Gap score without local proofs; null: not reported (sidecar 0.1.0, or a sender without proofs).'),
  ),
  evidence: nullable(evidenceReport),
  audit: nullable(auditSummary),
  'auditLog?': auditLog,
  egress: nullable(egressReport),
  proof: withDefault(
    list('The proof records that the sender counts. Records of unknown rules are dropped.', sentProof, {
      max: 100,
      cut: true,
    }),
    [],
  ),
  proofRevision: withDefault(count('Revision of the list that the sender last received. Default: 0.'), 0),
  usage: nullable(usageWindow),
  totals: nullable(usageTotals),
  outcomes: nullable(
    object('Cumulative since `startedAt`; null: the sender is not a proxy.', outcomeMembers),
  ),
  'failOpenSeconds?': amount(
    'Seconds since `startedAt` in which requests passed because the policy engine was unavailable.',
  ),
  denials: nullable(
    list(
      'Distinct reasons of the denials since the previous heartbeat, on the proxy and on the lanes; null: not reported.',
      cutText('The reason of a denial.'),
      { max: 50, cut: true },
    ),
  ),
  policyMode: nullable(oneOf('Policy mode of the sender.', POLICY_MODES)),
  policyState: nullable(
    oneOf('State of the policy engine when the gap was computed; null: not reported.', [
      'none',
      'unreachable',
      'not-loaded',
      'answered',
    ]),
  ),
  manifestHash: nullable(text('SHA-256 of the manifest file, hex.', { max: 128 })),
  organisationRevision: nullable(
    text('Revision of the organisation rules that the lanes of the sender enforce; null: it has none.', {
      max: 64,
    }),
  ),
  stop: nullable(confirmedStop),
  model: nullable(
    object('Model that the manifest declares.', {
      provider: text('Provider of the model.', { max: MAX_MODEL_TEXT }),
      id: text('Id of the model.', { max: MAX_MODEL_TEXT }),
    }),
  ),
  sidecarVersion: nullable(text('Version of the sender.', { max: 64 })),
  startedAt: nullable(
    isoTime('Start of the sending process; null: not reported, so restarts are not detected.'),
  ),
});

type Sent = TypeOf<typeof heartbeatBody>;

/** HeartbeatV1, sent by a sidecar or a reporter, with what its receiver computes. */
export interface Heartbeat extends Omit<Sent, 'source' | 'health' | 'gap'> {
  source: GapReport['source'];
  health: HealthReport;
  gap: GapReport;
}
