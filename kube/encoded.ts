import type { Data, WebhookConfiguration } from './types.ts';

/** The caBundle of all these webhooks, as PEM; empty if their bundles differ. */
export function bundleOf({ webhooks = [] }: Pick<WebhookConfiguration, 'webhooks'>): string {
  const bundles = new Set(webhooks.map(({ clientConfig }) => clientConfig.caBundle ?? ''));
  const [bundle = ''] = bundles;
  return bundles.size === 1 ? decoded(bundle) : '';
}

/** The entries of a Secret as texts; empty if the Secret does not exist. */
export function decodedEntries(secret: Data | null): Record<string, string> {
  const entries = Object.entries(secret?.data ?? {});
  return Object.fromEntries(entries.map(([name, value]) => [name, decoded(value)]));
}

function decoded(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}
