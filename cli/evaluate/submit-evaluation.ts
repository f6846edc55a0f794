import type { EvaluationReport } from '../../authoring/evaluation/evaluation.ts';
import { urlBelow } from '../../push/push-heartbeat.ts';
import type { Environment } from '../../runtime/env.ts';
import { VERSION } from '../../runtime/version.ts';
import { postProof, type ProofTarget } from '../post-proof.ts';

/** The rule whose proof is a submitted evaluation. */
const RULE = 'EVAL-01';
const DAYS = 30;

/**
 * Posts the proof of EVAL-01: to the control plane if its URL and admin key are in the environment, else to the sidecar's
 * control port. Resolves with the receiver, or with an error for people. Never rejects.
 */
export async function submitEvaluation(
  agentName: string,
  report: EvaluationReport,
  { env, controlUrl, now }: { env: Environment; controlUrl: URL; now: Date },
): Promise<{ ok: true; receiver: string } | { ok: false; reason: string }> {
  const target = targetOf(agentName, env, controlUrl);
  if ('reason' in target) return { ok: false, reason: target.reason };
  return await postProof(target, {
    verifiedBy: `platform evaluate ${VERSION}`,
    method: methodOf(report),
    expiresAt: new Date(now.getTime() + DAYS * 86_400_000).toISOString(),
  });
}

function targetOf(agentName: string, env: Environment, controlUrl: URL): ProofTarget | { reason: string } {
  const [base, key] = [env['PLATFORM_CONTROL_PLANE_URL'], env['PLATFORM_ADMIN_KEY']];
  if (!base || !key) return { url: urlBelow(controlUrl, `/proof/rule/${RULE}`), headers: {} };
  if (!URL.canParse(base)) return { reason: 'PLATFORM_CONTROL_PLANE_URL must be an http(s) URL' };
  const path = `/api/v1/agents/${encodeURIComponent(agentName)}/proof/rule/${RULE}`;
  return { url: urlBelow(new URL(base), path), headers: { 'x-admin-key': key.trim() } };
}

function methodOf({ dataset, totalSamples, metrics, threshold, samples }: EvaluationReport): string {
  const passed = samples.filter((sample) => sample.passed).length;
  const gate = threshold === null ? 'no threshold' : `threshold ${threshold}`;
  return `Dataset ${dataset}: ${passed} of ${totalSamples} samples passed, pass_rate ${metrics.pass_rate.toFixed(3)}, ${gate}.`;
}
