import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ControlPlane } from '../e2e/cluster/control.ts';

/**
 * Makes the store behind a control plane forget all its history, through its own API: of every object only what it is
 * now is left. An API server that keeps no history of its own answers 410 to whoever watches from an earlier version.
 */
export async function compactEtcd(control: ControlPlane): Promise<void> {
  const folder = dirname(dirname(control.kubeconfig));
  const pid = (await readFile(join(folder, 'etcd.pid'), 'utf8')).trim();
  const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0');
  const url = words[words.indexOf('--listen-client-urls') + 1] ?? '';
  // Some key must be asked for to hear the newest revision; this one is there or not.
  const { header } = await ask<{ header: { revision: string } }>(`${url}/v3/kv/range`, { key: 'AA==' });
  await ask(`${url}/v3/kv/compaction`, { revision: header.revision, physical: true });
}

async function ask<T>(url: string, body: object): Promise<T> {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`etcd answers ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}
