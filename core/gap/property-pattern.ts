/** The pattern of the properties that a row of the gap table finds: `tool:<name>` matches `tool:search`, in any case. */
export function patternOf(property: string): RegExp {
  const parts = property
    .split(/<[^>]*>/)
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('.+')}$`, 'is');
}
