import type { HealthReport, Check } from '../shapes/health.ts';
import { parseHealthReport } from '../health/parse-health-report.ts';
import { verdict, type Verdict } from '../shapes/verdict.ts';
import { type ProofWrites } from '../evidence/proof.ts';
import { PROOF_ORIGINS } from '../shapes/values.ts';
import { type ProofRecord, sentProof } from '../shapes/proof.ts';
import { count, cutText } from '../shapes/common.ts';
import { optional, parseWith } from '../shapes/field.ts';
import { list, object } from '../shapes/object.ts';
import { isRecord, own } from '../untrusted/fields.ts';

/** Parsers for the responses of sidecar routes; null: not a valid sidecar response. */

const READY_STATUSES: readonly unknown[] = ['ready', 'degraded', 'not-ready'];
const SOURCES: readonly unknown[] = ['manifest-static', 'agent-sdk'];

/** `GET /health/ready` */
export function parseReady(value: unknown): { agentName: string; checks: Check[] } | null {
  if (!isRecord(value)) return null;
  if (!READY_STATUSES.includes(own(value, 'status')) || !SOURCES.includes(own(value, 'source'))) return null;
  const report: HealthReport | null = parseHealthReport(value);
  return report === null ? null : { agentName: report.agentName, checks: report.checks };
}

const report = object('The response of `GET /gap`.', { compliant: verdict });

/** The verdict in the response of `GET /gap`. A sidecar of an older version has none. */
export function parseCompliant(value: unknown): Verdict {
  const parsed = parseWith(report, value);
  return parsed.ok ? parsed.value.compliant : NO_VERDICT;
}

const NO_VERDICT: Verdict = {
  status: 'Unknown',
  reason: 'NoVerdict',
  message: 'the sidecar returns no verdict; use the current version',
};

const entries = list(
  'A page of entries.',
  object('One entry.', {
    seq: count('Its number.'),
    guardrailsInvoked: optional(
      list('The guardrails that ran.', cutText('Type of a guardrail.'), { max: 1_000, cut: true }),
    ),
  }),
  { max: 100_000 },
);

/** A page of `GET /audit`: the guardrails that its entries report, the number of entries, and the seq of the last entry. */
export function parseAuditPage(
  value: unknown,
): { guardrails: string[]; length: number; last: number | null } | null {
  const parsed = parseWith(entries, value);
  if (!parsed.ok) return null;
  return {
    guardrails: parsed.value.flatMap(({ guardrailsInvoked }) => guardrailsInvoked ?? []),
    length: parsed.value.length,
    last: parsed.value.at(-1)?.seq ?? null,
  };
}

const proofs = list('The proofs.', sentProof, { max: 1_000 });

/** The header of `GET /proof`; a sidecar without it accepts local writes. null: the value is not valid. */
export function parseProofWrites(value: string | undefined): ProofWrites | null {
  if (value === undefined) return 'local';
  return PROOF_ORIGINS.find((each) => each === value) ?? null;
}

/** `GET /proof` */
export function parseProofList(value: unknown): ProofRecord[] | null {
  const parsed = parseWith(proofs, value);
  return parsed.ok ? parsed.value : null;
}
