import type { Manifest } from '../manifest/manifest.ts';

/** Whether a model id is set and neither `latest` nor ends in `:latest`. An alias of a vendor such as `gpt-4o` also passes. */
export function isPinned(id: string): boolean {
  const name = id.trim().toLowerCase();
  return name !== '' && name !== 'latest' && !name.endsWith(':latest');
}

/** Manifest path of the missing scrub fields of long-term memory; null: no long-term memory, or the fields are declared. */
export function missingScrubFieldsPath({ spec }: Manifest): string | null {
  const { longTerm, hygiene } = spec.memory ?? {};
  if (longTerm === undefined || (hygiene?.piiScrubFields ?? []).length > 0) return null;
  return 'spec.memory.hygiene.piiScrubFields';
}
