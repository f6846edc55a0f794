import { gunzipSync } from 'node:zlib';
import { parseAllDocuments } from 'yaml';
import type { HelmFacts, HelmObject } from '../../authoring/diagnosis/facts.ts';
import { isRecord } from '../../core/untrusted/fields.ts';
import type { KubeClient } from '../../kube/client.ts';
import { listObjects } from '../../kube/objects.ts';
import { SECRETS } from '../../kube/resources.ts';
import type { Data } from '../../kube/types.ts';

/** Reads the newest revision; null: Helm stores none. */
export async function readHelmRelease(
  client: KubeClient,
  { name, namespace }: { name: string; namespace: string },
): Promise<HelmFacts | null> {
  const labelSelector = `owner=helm,name=${name}`;
  const { items } = await listObjects(client, SECRETS, { namespace, labelSelector });
  const newest = newestOf(items);
  if (newest === undefined) return null;
  const { name: secret, labels } = newest.metadata;
  return { secret, status: labels?.['status'] ?? 'unknown', content: contentOf(newest.data?.['release']) };
}

const revisionOf = ({ metadata }: Data) => Number(metadata.labels?.['version']) || 0;

/** The Secret of the newest revision. */
export function newestOf(secrets: readonly Data[]): Data | undefined {
  return secrets.toSorted((a, b) => revisionOf(b) - revisionOf(a))[0];
}

/** Decodes the content of a revision's Secret. */
export function contentOf(encoded: string | undefined): HelmFacts['content'] {
  if (encoded === undefined) return { ok: false, why: 'it has no key "release"' };
  const release = decode(encoded);
  if (release === null) return { ok: false, why: 'it is not a Helm release encoding (base64, gzip, JSON)' };
  const { manifest } = release;
  if (typeof manifest !== 'string') return { ok: false, why: 'it has no manifest' };
  const objects = objectsIn(manifest);
  return objects === null ? { ok: false, why: 'its manifest is not valid YAML' } : { ok: true, objects };
}

/** Chart name in a revision's Secret; empty if unreadable. */
export function chartIn(secret: Data): string {
  const encoded = secret.data?.['release'];
  if (encoded === undefined) return '';
  // A Secret that Helm did not create may have Helm's labels and any content.
  const chart = decode(encoded)?.['chart'];
  const metadata = isRecord(chart) && isRecord(chart['metadata']) ? chart['metadata'] : {};
  return typeof metadata['name'] === 'string' ? metadata['name'] : '';
}

/** Far above the largest real release: a Secret is limited to 1 MiB. */
const MAX_UNPACKED = 16 * 1024 * 1024;

/** Decodes the Secret's base64, Helm's own base64, gzip and JSON; null: another format. */
function decode(encoded: string): Record<string, unknown> | null {
  const packed = Buffer.from(Buffer.from(encoded, 'base64').toString('utf8'), 'base64');
  const isPacked = packed[0] === 0x1f && packed[1] === 0x8b;
  try {
    const text = isPacked ? gunzipSync(packed, { maxOutputLength: MAX_UNPACKED }) : packed;
    const value: unknown = JSON.parse(text.toString('utf8'));
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

/** null: a document is not valid YAML. */
function objectsIn(manifest: string): HelmObject[] | null {
  const values = valuesIn(manifest);
  return (
    values?.flatMap((value) => {
      if (!isRecord(value) || !isRecord(value['metadata'])) return [];
      const { apiVersion, kind, metadata } = value;
      const { name, namespace } = metadata;
      if (typeof apiVersion !== 'string' || typeof kind !== 'string' || typeof name !== 'string') return [];
      return [{ apiVersion, kind, name, ...(typeof namespace === 'string' && { namespace }) }];
    }) ?? null
  );
}

function valuesIn(manifest: string): unknown[] | null {
  const documents = parseAllDocuments(manifest, { uniqueKeys: false });
  if (documents.some(({ errors }) => errors.length > 0)) return null;
  try {
    return documents.map((document) => document.toJS() as unknown);
  } catch {
    // Alias expansion that would exhaust memory.
    return null;
  }
}
