import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ControlPlane } from '../../e2e/cluster/control.ts';

/**
 * Compacts the etcd history of a control plane through etcd's API, so that only the current version of each object
 * is left. An API server without a watch cache then returns 410 for watches from an earlier version.
 */
export async function compactEtcd(control: ControlPlane): Promise<void> {
  const folder = dirname(dirname(control.kubeconfig));
  const pid = (await readFile(join(folder, 'etcd.pid'), 'utf8')).trim();
  const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0');
  const url = words[words.indexOf('--listen-client-urls') + 1] ?? '';
  // A request for any key returns the newest revision; the key need not exist.
  const { header } = await ask<{ header: { revision: string } }>(`${url}/v3/kv/range`, { key: 'AA==' });
  await ask(`${url}/v3/kv/compaction`, { revision: header.revision, physical: true });
}

async function ask<T>(url: string, body: object): Promise<T> {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`etcd returned ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}
