import { ADMISSION_POLICIES, canaryConditionOf, isPassedWith } from '../../kube/canary-condition.ts';
import { KubeError } from '../../kube/client.ts';
import type { ClusterParts } from '../../kube/cluster-parts.ts';
import { getObject } from '../../kube/objects.ts';
import { describeError } from '../../runtime/logger.ts';
import type { LeafUse } from './leaf-use.ts';

export interface CurrentCaSources extends Omit<ClusterParts, 'clock'> {
  /** The ValidatingAdmissionPolicy with the canary's condition. */
  policy: string | null;
  leafUse: Pick<LeafUse, 'isUsed'>;
}

/**
 * Whether the operator's canary passed while the API server trusted exactly `trusted`, and the API server sent a review
 * to this process over the current certificate. Without a canary (`policy` is null) this cannot be tested: true. If the
 * policy cannot be read for lack of permission: false; certificates are still renewed.
 */
export async function isCurrentCaSufficient(
  trusted: string,
  { client, logger, policy, leafUse }: CurrentCaSources,
  signal: AbortSignal,
): Promise<boolean> {
  if (policy === null) return true;
  if (!leafUse.isUsed()) return false;
  try {
    const found = await getObject(client, ADMISSION_POLICIES, { name: policy }, signal);
    return isPassedWith(canaryConditionOf(found), trusted);
  } catch (error) {
    if (!(error instanceof KubeError) || error.status === 0) throw error;
    logger.warn('failed to read the canary condition, keeping the previous CA', {
      error: describeError(error),
    });
    return false;
  }
}
