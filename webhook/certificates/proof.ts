import { ADMISSION_POLICIES, canaryConditionOf, isPassedWith } from '../../kube/canary-condition.ts';
import { KubeError, type KubeClient } from '../../kube/client.ts';
import { getObject } from '../../kube/objects.ts';
import { describeError, type Logger } from '../../runtime/logger.ts';
import type { LeafUse } from './leaf-use.ts';

export interface ProofSources {
  client: KubeClient;
  logger: Logger;
  /** The ValidatingAdmissionPolicy with the canary's condition. */
  policy: string | null;
  leafUse: LeafUse;
}

/**
 * Has the operator's canary passed while the API server trusted just `trusted`, and has the API server sent this process
 * a review over the certificate that is served now? Without a canary (`policy` is null) nobody can see it: true. Where its
 * policy may not be read, nothing is proven, and certificates are renewed all the same.
 */
export async function isProven(
  trusted: string,
  { client, logger, policy, leafUse }: ProofSources,
  signal: AbortSignal,
): Promise<boolean> {
  if (policy === null) return true;
  if (!leafUse.isAsked()) return false;
  try {
    const found = await getObject(client, ADMISSION_POLICIES, { name: policy }, signal);
    return isPassedWith(canaryConditionOf(found), trusted);
  } catch (error) {
    if (!(error instanceof KubeError) || error.status === 0) throw error;
    logger.warn('the previous authority stays, since it cannot be seen whether the canary passes', {
      error: describeError(error),
    });
    return false;
  }
}
