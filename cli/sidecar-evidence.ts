import type { Evidence } from '../core/audit/earned.ts';
import {
  parseAuditPage,
  parseProofList,
  parseProofWrites,
  parseReady,
} from '../core/audit/parse-evidence.ts';
import type { Manifest } from '../core/manifest/manifest.ts';
import { PROOF_WRITES_HEADER, type ProofRecord, type ProofWrites } from '../core/proof/proof.ts';
import { jsonOf } from '../core/untrusted/fields.ts';
import { exchange, type Exchange } from '../probe/http-exchange.ts';
import { printable } from './rendered.ts';

/** Evidence of a sidecar about its agent, or why the request failed and what to do. */
type EvidenceResult =
  | { ok: true; agentName: string; evidence: Evidence }
  | { ok: false; reason: string; advice: string };

interface EvidenceOptions {
  /** Local proofs count even if the sidecar does not accept them. */
  acceptLocal?: boolean;
  signal?: AbortSignal;
}

type Headers = (Exchange & { answered: true })['headers'];

/** The readiness report takes up to five seconds even if its probes hang. */
const TIMEOUT_MS = 15_000;
const MAX_BYTES = 32 * 1024 * 1024;
const PAGE = 200;

const ADVICE = {
  reach:
    'Check that the sidecar is running and that the URL is its control port (4001). In a cluster: kubectl port-forward pod/<pod> 4001, then use http://localhost:4001',
  other: 'Pass the control port of a sidecar (4001), not its proxy port (4000) or the agent.',
  local:
    'It restricts remote access (CONTROL_ACCESS=local). Use a port-forward: kubectl port-forward pod/<pod> 4001, then use http://localhost:4001',
} as const;

class Rejection extends Error {
  readonly advice: string;

  constructor(reason: string, advice: keyof typeof ADVICE) {
    super(reason);
    this.advice = ADVICE[advice];
  }
}

/**
 * Requests checks, audit ring and proofs from the sidecar at `base`, which may end with `/platform`.
 * Never rejects.
 */
async function fetchEvidence(
  base: URL,
  { acceptLocal = false, signal }: EvidenceOptions,
): Promise<EvidenceResult> {
  try {
    const [ready, guardrails, proofs] = await Promise.all([
      requestJson(base, '/health/ready', parseReady, signal),
      observedGuardrails(base, signal),
      requestJson(base, '/proof', parseProofs, signal),
    ]);
    const evidence = {
      checks: ready.checks,
      guardrailsObserved: guardrails,
      proofs: proofs.records,
      trust: { writes: proofs.writes, acceptLocal },
    };
    return { ok: true, agentName: ready.agentName, evidence };
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    return { ok: false, reason: error.message, advice: error.advice };
  }
}

/** Evidence about the agent of `manifest`; a failure, with advice, also if the sidecar belongs to another agent. Never rejects. */
export async function evidenceFor(
  { metadata: { name } }: Manifest,
  base: URL,
  options: EvidenceOptions = {},
): Promise<{ ok: true; evidence: Evidence } | { ok: false; reason: string }> {
  const fetched = await fetchEvidence(base, options);
  if (!fetched.ok) return { ok: false, reason: `${fetched.reason}\n${fetched.advice}` };
  if (fetched.agentName === name) return fetched;
  const other = printable(fetched.agentName);
  return {
    ok: false,
    reason: `the sidecar at ${shownUrl(base)} belongs to agent "${other}", but the manifest is for "${name}"`,
  };
}

function parseProofs(
  value: unknown,
  headers: Headers,
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
    if (page.last <= since)
      throw new Rejection(`${shownUrl(base)} returned an invalid response to GET /audit`, 'other');
    since = page.last;
  }
}

async function requestJson<T>(
  base: URL,
  path: string,
  parse: (value: unknown, headers: Headers) => T | null,
  signal: AbortSignal | undefined,
): Promise<T> {
  const server = shownUrl(base);
  const response = await exchange(new URL(`${base.pathname.replace(/\/+$/, '')}${path}`, base), {
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
    signal,
  });
  if (!response.answered) throw new Rejection(`cannot connect to ${server}: ${response.reason}`, 'reach');
  const { status, body, headers } = response;
  const route = `GET ${path.replace(/\?.*/, '')}`;
  if (status === 403) throw new Rejection(`${server} returned 403 for ${route}`, 'local');
  // Readiness returns 503 if the agent is not ready.
  if (status !== 200 && !(status === 503 && path === '/health/ready'))
    throw new Rejection(
      `${server} is not the control port of a sidecar: ${route} returned ${status}`,
      'other',
    );
  if (body === null)
    throw new Rejection(
      `${server} sent no complete response to ${route} (limit ${MAX_BYTES >> 20} MiB)`,
      'reach',
    );
  if (body.length === 0) throw new Rejection(`${server} returned no body for ${route}`, 'local');
  const value = parse(jsonOf(body.toString('utf8')), headers);
  if (value === null) throw new Rejection(`${server} returned an invalid response to ${route}`, 'other');
  return value;
}

/** The URL without user and password. */
export function shownUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}
