import type { ProofSubmission } from '../core/shapes/proof.ts';
import { jsonOf } from '../core/untrusted/fields.ts';
import { exchange } from '../probe/http-exchange.ts';
import { detailOf } from '../push/push-heartbeat.ts';
import { shownUrl } from './sidecar-request.ts';

const TIMEOUT_MS = 15_000;
const MAX_BYTES = 64 * 1024;

/** The proof route of a rule, at a sidecar or a control plane. */
export interface ProofTarget {
  url: URL;
  headers: Readonly<Record<string, string>>;
  signal?: AbortSignal;
}

/** `record`: the stored record, as received. */
export type Posted = { ok: true; receiver: string; record: unknown } | { ok: false; reason: string };

/** Posts one proof. Never rejects. */
export async function postProof(
  { url, headers, signal }: ProofTarget,
  submission: ProofSubmission,
): Promise<Posted> {
  const receiver = shownUrl(url);
  const response = await exchange(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(submission),
    maxBytes: MAX_BYTES,
    timeoutMs: TIMEOUT_MS,
    signal,
  });
  if (!response.answered) return { ok: false, reason: `cannot connect to ${receiver}: ${response.reason}` };
  const body = response.body?.toString() ?? '';
  if (response.status === 201) return { ok: true, receiver, record: jsonOf(body) };
  const detail = detailOf(body);
  return {
    ok: false,
    reason: `${receiver} rejected the proof (${response.status}${detail && `: ${detail}`})`,
  };
}
