import { ADMISSION_POLICIES, canaryConditionOf, isPassedWith } from '../../kube/canary-condition.ts';
import type { KubeClient } from '../../kube/client.ts';
import { getObject } from '../../kube/objects.ts';
import type { LeafUse } from './leaf-use.ts';

/**
 * Has the operator's canary passed while the API server trusted just `trusted`, and has the API server sent this process
 * a review over the certificate that is served now? Without a canary (`policy` is null) nobody can see it: true.
 */
export async function isProven(
  trusted: string,
  { client, policy, leafUse }: { client: KubeClient; policy: string | null; leafUse: LeafUse },
  signal: AbortSignal,
): Promise<boolean> {
  if (policy === null) return true;
  if (!leafUse.isAsked()) return false;
  const found = await getObject(client, ADMISSION_POLICIES, { name: policy }, signal);
  return isPassedWith(canaryConditionOf(found), trusted);
}
