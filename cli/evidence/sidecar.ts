import type { Reported } from '../../authoring/evidence/bundle.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { parseWith } from '../../core/shapes/field.ts';
import { completeGap } from '../../core/shapes/sidecar-reports.ts';
import type { Found } from '../admin-key.ts';
import { notFound } from '../admin-key.ts';
import { evidenceFor } from '../sidecar-evidence.ts';
import { failureText, requestJson, shownUrl } from '../sidecar-request.ts';

const ABSENT = {
  'verdict over time': 'a sidecar has no history; use --url of a control plane',
  'versions of the instances': 'a sidecar does not report its version here',
  'hash of the manifest in force': 'a sidecar does not report it',
  'stops before now': 'a sidecar has only the stop in force; the audit log has the others',
} as const;

/** What the sidecar at `base` reports about the agent of the manifest. */
export async function reportedBySidecar(base: URL, manifest: Manifest): Promise<Found<Reported>> {
  const found = await evidenceFor(manifest, base);
  if (!found.ok) return found;
  const { evidence, compliant: verdict } = found;
  try {
    const gap = await requestJson(base, '/gap', (value) => {
      const parsed = parseWith(completeGap, value);
      return parsed.ok ? parsed.value : null;
    });
    return {
      ok: true,
      value: {
        ...{ kind: 'sidecar', url: shownUrl(base), namespace: null },
        ...{ verdict, score: gap.score, grade: gap.grade, policyMode: null },
        ...{ issues: gap.issues, checks: [...evidence.checks], guardrails: [...evidence.guardrailsObserved] },
        ...{ items: gap.evidence.items, audit: null, proofs: [...evidence.proofs], trust: evidence.trust },
        ...{ manifestHash: null, instances: [], organisation: null, excepted: [], history: null },
        ...{ outcomes: null, stops: null, heads: null },
        notIncluded: Object.entries(ABSENT).map(([part, reason]) => ({ part, reason })),
      },
    };
  } catch (error) {
    return notFound(failureText(error));
  }
}
