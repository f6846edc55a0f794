import type { EvidenceItem, EvidenceReport } from '../shapes/evidence.ts';

/** The item in a message: `guardrail input.pii-detector`. */
export const itemText = ({ kind, name }: Pick<EvidenceItem, 'kind' | 'name'>): string => `${kind} ${name}`;

/** Default for the lowest evidence that counts as compliant, in percent of the declared items. */
export const DEFAULT_COMPLIANT_EVIDENCE = 50;

/** The share of declared items with evidence, in whole percent, rounded down; 0..100. */
export function evidencePercent({ shown, declared }: Pick<EvidenceReport, 'shown' | 'declared'>): number {
  return declared <= 0 ? 0 : Math.min(100, Math.max(0, Math.floor((100 * shown) / declared)));
}
