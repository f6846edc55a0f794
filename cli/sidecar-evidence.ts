import type { Evidence } from '../core/audit/earned.ts';
import {
  parseAuditPage,
  parseProofList,
  parseProofWrites,
  parseReady,
} from '../core/audit/parse-evidence.ts';
import { PROOF_WRITES_HEADER, type ProofRecord, type ProofWrites } from '../core/proof/proof.ts';
import { exchange, type Exchange } from '../probe/http-exchange.ts';

/** What a sidecar said of its agent, or why it could not be asked and what to do. */
export type AskedSidecar =
  | { ok: true; agentName: string; evidence: Evidence }
  | { ok: false; reason: string; advice: string };

type Headers = (Exchange & { answered: true })['headers'];

/** A report probes for five seconds, whatever hangs. */
const TIMEOUT_MS = 15_000;
const MAX_BYTES = 32 * 1024 * 1024;
const PAGE = 200;

const ADVICE = {
  reach:
    'Is the sidecar running, and is this its control port (4001)? In a cluster: kubectl port-forward pod/<pod> 4001, then --url http://localhost:4001',
  other: 'Give the control port of a sidecar (4001), not its proxy (4000) nor the agent itself.',
  local:
    'It answers everybody only in part (CONTROL_ACCESS=local). Go through the pod: kubectl port-forward pod/<pod> 4001, then --url http://localhost:4001',
} as const;

class Rejection extends Error {
  readonly advice: string;

  constructor(reason: string, advice: keyof typeof ADVICE) {
    super(reason);
    this.advice = ADVICE[advice];
  }
}

/**
 * Requests checks, audit ring and proofs from the sidecar at `base`, with `/platform` at its end or without.
 * `acceptLocal`: local proofs count in any case. Never rejects.
 */
export async function askSidecar(base: URL, acceptLocal: boolean): Promise<AskedSidecar> {
  try {
    const [ready, guardrails, proofs] = await Promise.all([
      askFor(base, '/health/ready', parseReady),
      observedGuardrails(base),
      askFor(base, '/proof', parseProofs),
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
    return { ok: false, reason: `${shownUrl(base)} ${error.message}`, advice: error.advice };
  }
}

function parseProofs(
  value: unknown,
  headers: Headers,
): { records: ProofRecord[]; writes: ProofWrites } | null {
  const records = parseProofList(value);
  const writes = parseProofWrites([headers[PROOF_WRITES_HEADER.toLowerCase()]].flat()[0]);
  return records === null || writes === null ? null : { records, writes };
}

/** The whole ring, page by page: it may have a hundred thousand entries. */
async function observedGuardrails(base: URL): Promise<Set<string>> {
  const observed = new Set<string>();
  for (let since = 0; ;) {
    const page = await askFor(base, `/audit?since=${since}&limit=${PAGE}`, parseAuditPage);
    for (const type of page.guardrails) observed.add(type);
    if (page.length < PAGE || page.last === null) return observed;
    // Whoever ignores `since` would be asked for ever.
    if (page.last <= since) throw new Rejection('does not answer GET /audit as a sidecar does', 'other');
    since = page.last;
  }
}

async function askFor<T>(
  base: URL,
  path: string,
  parse: (value: unknown, headers: Headers) => T | null,
): Promise<T> {
  const answer = await exchange(new URL(`${base.pathname.replace(/\/+$/, '')}${path}`, base), {
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
  });
  if (!answer.answered) throw new Rejection(`cannot be asked: ${answer.reason}`, 'reach');
  const { status, body, headers } = answer;
  const route = `GET ${path.replace(/\?.*/, '')}`;
  if (status === 403) throw new Rejection(`answers ${route} with 403`, 'local');
  // Readiness is told with 503 when it is bad.
  if (status !== 200 && !(status === 503 && path === '/health/ready'))
    throw new Rejection(`is not the control port of a sidecar: it answers ${route} with ${status}`, 'other');
  if (body === null)
    throw new Rejection(`does not finish its answer to ${route} (${MAX_BYTES >> 20} MiB at most)`, 'reach');
  if (body.length === 0) throw new Rejection(`answers ${route} without a body`, 'local');
  const value = parse(jsonOf(body), headers);
  if (value === null) throw new Rejection(`does not answer ${route} as a sidecar does`, 'other');
  return value;
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

/** Without user and password, which an address may carry. */
export function shownUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}
