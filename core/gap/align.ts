import type { Facts } from '../facts/facts.ts';
import type { Manifest } from '../manifest/manifest.ts';
import type { AlignmentGap, AlignmentReport } from '../shapes/alignment.ts';
import { findingsOf } from './rules.ts';

/** The same findings as `assess`, as declared versus observed (shape B). No gaps: manifest and running agent match. */
export function align(manifest: Manifest, facts: Facts): Omit<AlignmentReport, 'source'> {
  const gaps = findingsOf(manifest, facts).map<AlignmentGap>((finding) => ({
    field: finding.field,
    declared: finding.declared,
    ...(finding.reported !== undefined && { reported: finding.reported }),
    observed: finding.observed,
    severity: finding.severity,
    evidenceLevel: finding.evidenceLevel,
    remediation: finding.recommendation,
  }));
  const count = (severity: AlignmentGap['severity']): number =>
    gaps.filter((gap) => gap.severity === severity).length;
  return { gaps, summary: { total: gaps.length, critical: count('critical'), high: count('high') } };
}
