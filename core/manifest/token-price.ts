import type { Manifest } from './manifest.ts';

/** US dollars per million prompt and completion tokens; undefined unless the manifest declares both prices. */
export function tokenPriceOf(manifest: Manifest): { input: number; output: number } | undefined {
  const { input, output } = manifest.spec.model.costControls?.usdPerMillionTokens ?? {};
  return input === undefined || output === undefined ? undefined : { input, output };
}
