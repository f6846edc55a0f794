/** The rule packs, in display order. */
export const PACKS = [
  'owasp-llm-top10',
  'model-resilience',
  'memory-hygiene',
  'evaluation-coverage',
  'observability',
  'metadata-quality',
] as const;
export type Pack = (typeof PACKS)[number];

export function isPack(name: string): name is Pack {
  return (PACKS as readonly string[]).includes(name);
}
