import type { EvaluationReport } from '../../core/evaluation/evaluation.ts';
import { exchange } from '../../probe/http-exchange.ts';
import { detailOf, urlBelow } from '../../push/push-heartbeat.ts';
import type { Environment } from '../../runtime/env.ts';
import { VERSION } from '../../runtime/version.ts';
import { shownUrl } from '../sidecar-evidence.ts';

/** The rule whose proof is a submitted evaluation. */
const RULE = 'EVAL-01';
const DAYS = 30;
const TIMEOUT_MS = 15_000;

/**
 * Posts the proof of EVAL-01: to the control plane if its URL and admin key are in the environment, else to the sidecar's
 * control port. Resolves with an error for people, or null. Never rejects.
 */
export async function submitEvaluation(
  agentName: string,
  report: EvaluationReport,
  { env, controlUrl, now }: { env: Environment; controlUrl: URL; now: Date },
): Promise<{ ok: true; receiver: string } | { ok: false; reason: string }> {
  const target = targetOf(agentName, env, controlUrl);
  if ('reason' in target) return { ok: false, reason: target.reason };
  const receiver = shownUrl(target.url);
  const response = await exchange(target.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...target.headers },
    body: JSON.stringify({
      verifiedBy: `platform evaluate ${VERSION}`,
      method: methodOf(report),
      expiresAt: new Date(now.getTime() + DAYS * 86_400_000).toISOString(),
    }),
    maxBytes: 64 * 1024,
    timeoutMs: TIMEOUT_MS,
  });
  if (!response.answered) return { ok: false, reason: `cannot connect to ${receiver}: ${response.reason}` };
  if (response.status === 201) return { ok: true, receiver };
  const detail = detailOf(response.body?.toString() ?? '');
  return {
    ok: false,
    reason: `${receiver} rejected the proof (${response.status}${detail && `: ${detail}`})`,
  };
}

function targetOf(
  agentName: string,
  env: Environment,
  controlUrl: URL,
): { url: URL; headers: Record<string, string> } | { reason: string } {
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
