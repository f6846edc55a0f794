import { POINTS } from '../gap/finding.ts';
import type { InstanceStatus } from './observation.ts';

type Scored = Pick<InstanceStatus, 'score' | 'scoreWithoutLocalProofs' | 'localProofsUnknown'>;

/** The score of an instance without what it says that local proofs add to it. */
export function provedScore({ score, scoreWithoutLocalProofs = score }: Scored): number {
  return Math.min(score, scoreWithoutLocalProofs);
}

/** The same, where a sidecar that does not say it is taken to have a local proof: it keeps one low issue out of the gap. */
export function surelyProvedScore(instance: Scored): number {
  const hidden = instance.localProofsUnknown === true ? POINTS.low : 0;
  return Math.max(0, provedScore(instance) - hidden);
}
