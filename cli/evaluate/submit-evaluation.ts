import type { EvaluationReport } from '../../authoring/evaluation/evaluation.ts';
import type { Environment } from '../../runtime/env.ts';
import { VERSION } from '../../runtime/version.ts';
import { postProof } from '../post-proof.ts';
import { proofTarget } from '../proof-target.ts';

/** The rule whose proof is a submitted evaluation. */
const RULE = 'EVAL-01';
const DAYS = 30;

/**
 * Posts the proof of EVAL-01: to the control plane if its URL and a credential are in the environment, else to the sidecar's
 * control port. Resolves with the receiver, or with an error for people. Never rejects.
 */
export async function submitEvaluation(
  agentName: string,
  report: EvaluationReport,
  { env, controlUrl, now }: { env: Environment; controlUrl: URL; now: Date },
): Promise<{ ok: true; receiver: string } | { ok: false; reason: string }> {
  const target = proofTarget(agentName, RULE, { env, controlUrl });
  if ('reason' in target) return { ok: false, reason: target.reason };
  return await postProof(target, {
    verifiedBy: `platform evaluate ${VERSION}`,
    method: methodOf(report),
    expiresAt: new Date(now.getTime() + DAYS * 86_400_000).toISOString(),
  });
}

function methodOf({ dataset, totalSamples, metrics, threshold, samples }: EvaluationReport): string {
  const passed = samples.filter((sample) => sample.passed).length;
  const gate = threshold === null ? 'no threshold' : `threshold ${threshold}`;
  return `Dataset ${dataset}: ${passed} of ${totalSamples} samples passed, pass_rate ${metrics.pass_rate.toFixed(3)}, ${gate}.`;
}
