/** A DNS label made from a text: lower case, other characters as hyphens; null: nothing of the text is left. */
export function labelFrom(text: string): string | null {
  const label = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replaceAll(/^-+|-+$/g, '');
  return label === '' ? null : label;
}

/** The environment variable that usually holds the key of a model provider. */
export function keyVariable(provider: string): string {
  const word = provider.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_');
  return /^[A-Z_]/.test(word) ? `${word}_API_KEY` : 'MODEL_API_KEY';
}
