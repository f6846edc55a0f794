import type { HeartbeatReply } from '../../core/shapes/heartbeat-reply.ts';
import type { Heartbeat } from '../../core/shapes/heartbeat.ts';
import type { ProofRecord } from '../../core/shapes/proof.ts';
import { proofSetOf } from '../../core/observation/proofs.ts';
import { othersToday } from '../../core/observation/tokens.ts';
import { isSameStop, stopDirectiveOf, type AgentStop } from '../../core/organisation/stops.ts';
import { ANNOTATION_STOP } from '../../core/shapes/agent-stop.ts';
import { withExpiry } from '../../core/evidence/proof-expiry.ts';
import { isInSync } from '../../core/evidence/proof-set.ts';
import type { Prepared } from '../organisation/organisation.ts';
import type { AgentRecord } from '../stores/store.ts';

export interface ReplyInput {
  heartbeat: Heartbeat;
  instance: string;
  at: Date;
  rateLimitSeconds: number;
  prepared: Prepared;
  /** null: the agent may run; undefined: the stops are not known. */
  stop: AgentStop | null | undefined;
}

/** The bounds of an interval, in seconds. */
const INTERVAL = { min: 10, max: 3600 };

/** The reply to a merged heartbeat; null: nothing to report, which is a 204. */
export function replyTo(agent: AgentRecord, input: ReplyInput): HeartbeatReply | null {
  const { heartbeat, instance, at } = input;
  const { status } = agent;
  const proofs = proofSetOf(status);
  const sent = { revision: heartbeat.proofRevision, proofs: heartbeat.proof };
  const others = othersToday(status, instance, at);
  const intervalSeconds = wantedInterval(agent, input);
  const reply: HeartbeatReply = {
    ...(isInSync(proofs, sent)
      ? {}
      : { proof: withExpiry(proofs.proofs, at).map(withoutActor), proofRevision: proofs.revision }),
    ...(others.tokens === 0 && others.costUsd === 0 ? {} : { othersToday: others }),
    ...(intervalSeconds === heartbeat.intervalSeconds ? {} : { intervalSeconds }),
    ...organisationReply(heartbeat, input.prepared),
    ...stopReply(heartbeat, input.stop),
  };
  return Object.keys(reply).length === 0 ? null : reply;
}

/** An agent does not need to know the persons who approve its proofs. */
function withoutActor({ actor: _, ...proof }: ProofRecord): ProofRecord {
  return proof;
}

/** What a sidecar needs of the rules. A reporter has no lanes and does not send manifests. */
function organisationReply(
  { sidecarVersion, organisationRevision, manifestHash }: Heartbeat,
  { directive, isManifestKnown, hasRules }: Prepared,
): Pick<HeartbeatReply, 'organisation' | 'manifest'> {
  if (sidecarVersion === null) return {};
  // A sidecar of a fleet without rules has no revision.
  const isNew = directive !== null && (hasRules || organisationRevision !== null);
  return {
    ...(isNew && directive.revision !== organisationRevision && { organisation: directive }),
    ...(hasRules && !isManifestKnown && manifestHash !== null && { manifest: 'wanted' }),
  };
}

/** The stop, if the sidecar applies another one or none. A stop by the annotation of its pod is its own. */
function stopReply(
  { sidecarVersion, stop: applied }: Heartbeat,
  wanted: ReplyInput['stop'],
): Pick<HeartbeatReply, 'stop'> {
  if (sidecarVersion === null || wanted === undefined) return {};
  if (wanted === null) return applied === null || applied.id === ANNOTATION_STOP ? {} : { stop: null };
  const directive = stopDirectiveOf(wanted);
  return applied !== null && isSameStop(applied, directive) ? {} : { stop: directive };
}

/** The configured interval of the agent, else the sender's own; at least the rate limit. */
function wantedInterval(agent: AgentRecord, { heartbeat, rateLimitSeconds }: ReplyInput): number {
  const wanted = agent.heartbeatSeconds ?? heartbeat.intervalSeconds;
  return Math.min(Math.max(wanted, rateLimitSeconds, INTERVAL.min), INTERVAL.max);
}
