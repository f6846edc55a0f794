import { POINTS } from '../gap/finding.ts';
import type { InstanceStatus } from './observation.ts';

type Scored = Pick<InstanceStatus, 'score' | 'scoreWithoutLocalProofs' | 'localProofsUnknown'>;

/** The score of an instance without local proofs, as far as the instance reports them. */
export function provedScore({ score, scoreWithoutLocalProofs = score }: Scored): number {
  return Math.min(score, scoreWithoutLocalProofs);
}

/**
 * Like `provedScore`, but assumes one local proof if the sidecar does not report whether local proofs count. Such a proof hides
 * one issue of severity low.
 */
export function worstCaseProvedScore(instance: Scored): number {
  const hidden = instance.localProofsUnknown === true ? POINTS.low : 0;
  return Math.max(0, provedScore(instance) - hidden);
}
