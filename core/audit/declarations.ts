import type { Manifest } from '../manifest/manifest.ts';

/** Whether a model id names one version rather than whatever is newest. */
export function isPinned(id: string): boolean {
  const name = id.trim().toLowerCase();
  return name !== '' && name !== 'latest' && !name.endsWith(':latest');
}

/** Where a long-term memory lacks fields to scrub; null: there is no such memory, or it has them. */
export function scrubsLongTerm({ spec }: Manifest): string | null {
  const { longTerm, hygiene } = spec.memory ?? {};
  if (longTerm === undefined || (hygiene?.piiScrubFields ?? []).length > 0) return null;
  return 'spec.memory.hygiene.piiScrubFields';
}
