import type { Evidence } from '../core/audit/earned.ts';
import {
  parseAuditPage,
  parseCompliant,
  parseProofList,
  parseProofWrites,
  parseReady,
} from '../core/observation/parse-evidence.ts';
import type { Manifest } from '../core/manifest/manifest.ts';
import type { Verdict } from '../core/shapes/verdict.ts';
import { PROOF_WRITES_HEADER, type ProofWrites } from '../core/evidence/proof.ts';
import type { ProofRecord } from '../core/shapes/proof.ts';
import { notFound } from './admin-key.ts';
import { printable } from './rendered.ts';
import {
  failureText,
  invalidResponse,
  requestJson,
  shownUrl,
  type ResponseHeaders,
} from './sidecar-request.ts';

interface EvidenceOptions {
  /** Local proofs count even if the sidecar does not accept them. */
  acceptLocal?: boolean;
  signal?: AbortSignal;
}

const PAGE = 200;

/**
 * Requests checks, audit ring, proofs and verdict from the sidecar at `base`, which may end with `/platform`. A failure, with
 * advice, also if the sidecar belongs to another agent than that of `manifest`. Never rejects.
 */
export async function evidenceFor(
  { metadata: { name } }: Manifest,
  base: URL,
  { acceptLocal = false, signal }: EvidenceOptions = {},
): Promise<{ ok: true; evidence: Evidence; compliant: Verdict } | { ok: false; reason: string }> {
  try {
    const [ready, guardrailsObserved, proofs, compliant] = await Promise.all([
      requestJson(base, '/health/ready', parseReady, signal),
      observedGuardrails(base, signal),
      requestJson(base, '/proof', parseProofs, signal),
      requestJson(base, '/gap', parseCompliant, signal),
    ]);
    const { agentName, checks } = ready;
    if (agentName !== name)
      return notFound(
        `the sidecar at ${shownUrl(base)} belongs to agent "${printable(agentName)}", but the manifest is for "${name}"`,
      );
    const trust = { writes: proofs.writes, acceptLocal };
    return { ok: true, evidence: { checks, guardrailsObserved, proofs: proofs.records, trust }, compliant };
  } catch (error) {
    return notFound(failureText(error));
  }
}

function parseProofs(
  value: unknown,
  headers: ResponseHeaders,
): { records: ProofRecord[]; writes: ProofWrites } | null {
  const records = parseProofList(value);
  const writes = parseProofWrites([headers[PROOF_WRITES_HEADER.toLowerCase()]].flat()[0]);
  return records === null || writes === null ? null : { records, writes };
}

/** Reads the whole ring page by page; it may have 100,000 entries. */
async function observedGuardrails(base: URL, signal: AbortSignal | undefined): Promise<Set<string>> {
  const observed = new Set<string>();
  for (let since = 0; ;) {
    const page = await requestJson(base, `/audit?since=${since}&limit=${PAGE}`, parseAuditPage, signal);
    for (const type of page.guardrails) observed.add(type);
    if (page.length < PAGE || page.last === null) return observed;
    // A server that ignores `since` would cause an endless loop.
    if (page.last <= since) throw invalidResponse(base, 'GET /audit');
    since = page.last;
  }
}
