import { gunzipSync } from 'node:zlib';
import { parseAllDocuments } from 'yaml';
import { isRecord } from '../../core/untrusted/fields.ts';
import type { KubeClient } from '../../kube/client.ts';
import { listObjects } from '../../kube/objects.ts';
import { SECRETS, type Data } from './kinds.ts';

/** An object as a manifest names it. */
export interface ManifestObject {
  apiVersion: string;
  kind: string;
  name: string;
  /** Absent: the manifest says none. */
  namespace?: string;
}

/** What Helm keeps of the newest revision of a release. */
export interface HelmRelease {
  status: string;
  objects: ManifestObject[];
}

/** Reads the newest revision; null: Helm keeps none. Throws where it is none that this program can read. */
export async function readHelmRelease(
  client: KubeClient,
  { name, namespace }: { name: string; namespace: string },
): Promise<HelmRelease | null> {
  const labelSelector = `owner=helm,name=${name}`;
  const { items } = await listObjects<Data>(client, SECRETS, { namespace, labelSelector });
  const revision = ({ metadata }: Data) => Number(metadata.labels?.['version'] ?? 0);
  const [newest] = items.sort((a, b) => revision(b) - revision(a));
  const encoded = newest?.data?.['release'];
  if (newest === undefined || encoded === undefined) return null;
  const release = decode(encoded);
  const manifest = typeof release['manifest'] === 'string' ? release['manifest'] : '';
  return { status: newest.metadata.labels?.['status'] ?? 'unknown', objects: objectsIn(manifest) };
}

/** The chart that a revision's Secret is of; empty: it cannot be read. */
export function chartIn(secret: Data): string {
  const encoded = secret.data?.['release'];
  if (encoded === undefined) return '';
  const chart = chartOf(encoded);
  const metadata = isRecord(chart) && isRecord(chart['metadata']) ? chart['metadata'] : {};
  return typeof metadata['name'] === 'string' ? metadata['name'] : '';
}

/** Somebody else's Secret may have the labels of Helm and anything in it. */
function chartOf(encoded: string): unknown {
  try {
    return decode(encoded)['chart'];
  } catch {
    return undefined;
  }
}

/** Base64 of the Secret around Helm's own base64 around gzip around JSON. */
function decode(encoded: string): Record<string, unknown> {
  const packed = Buffer.from(Buffer.from(encoded, 'base64').toString('utf8'), 'base64');
  const isPacked = packed[0] === 0x1f && packed[1] === 0x8b;
  const value: unknown = JSON.parse((isPacked ? gunzipSync(packed) : packed).toString('utf8'));
  return isRecord(value) ? value : {};
}

function objectsIn(manifest: string): ManifestObject[] {
  return parseAllDocuments(manifest).flatMap((document) => {
    const value = document.toJS() as unknown;
    if (!isRecord(value) || !isRecord(value['metadata'])) return [];
    const { apiVersion, kind, metadata } = value;
    const { name, namespace } = metadata;
    if (typeof apiVersion !== 'string' || typeof kind !== 'string' || typeof name !== 'string') return [];
    return [{ apiVersion, kind, name, ...(typeof namespace === 'string' && { namespace }) }];
  });
}
