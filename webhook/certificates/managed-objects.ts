import type { Data, WebhookConfiguration } from '../../kube/types.ts';
import type { SecretEntries } from './tls-state.ts';

/** The caBundle of all webhooks of the configuration, as PEM; empty if their bundles differ. */
export function bundleOf(configuration: WebhookConfiguration): string {
  const bundles = new Set(
    (configuration.webhooks ?? []).map(({ clientConfig }) => clientConfig.caBundle ?? ''),
  );
  const [bundle = ''] = bundles;
  return bundles.size === 1 ? Buffer.from(bundle, 'base64').toString('utf8') : '';
}

/**
 * The JSON Patch that sets `bundle` in every webhook of the configuration; empty if all have it. The API server responds
 * with 409 if the configuration was changed after it was read.
 */
export function trustPatch(configuration: WebhookConfiguration, bundle: string): unknown[] {
  const caBundle = Buffer.from(bundle).toString('base64');
  const operations = (configuration.webhooks ?? []).flatMap(({ clientConfig }, index) =>
    clientConfig.caBundle === caBundle
      ? []
      : [{ op: 'add', path: `/webhooks/${index}/clientConfig/caBundle`, value: caBundle }],
  );
  if (operations.length === 0) return [];
  const { resourceVersion } = configuration.metadata;
  return [{ op: 'add', path: '/metadata/resourceVersion', value: resourceVersion }, ...operations];
}

export const decodedEntries = ({ data = {} }: Data): SecretEntries =>
  mapValues(data, (value) => Buffer.from(value, 'base64').toString('utf8'));

export const encodedEntries = (entries: SecretEntries): SecretEntries =>
  mapValues(entries, (value) => Buffer.from(value).toString('base64'));

const mapValues = (entries: SecretEntries, map: (value: string) => string): SecretEntries =>
  Object.fromEntries(Object.entries(entries).map(([name, value]) => [name, map(value)]));
