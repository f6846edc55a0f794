import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ControlPlane } from '../../e2e/cluster/control.ts';
import { apiVersionOf, type Resource } from '../../kube/resources.ts';
import type { KubeObject } from '../../kube/types.ts';

/** An object as returned by the API server, and its resource. */
export interface Stored {
  resource: Resource<unknown>;
  object: KubeObject;
}

/** Maximum operations and characters in one etcd transaction. */
const MAX_OPERATIONS = 128;
const CHARACTERS = 1_000_000;

/**
 * Copies a group of objects under other names directly into the API server's store, which takes seconds for thousands.
 * In each copy every `from` is replaced with the new name, and every uid with a new one. The API server
 * sees the copies like writes of another replica. Objects of one transaction have the same resourceVersion, so a watch that is
 * interrupted between them misses the others: set `perTransaction` to 1 if a watch must receive all of them.
 */
export async function cloneStored(
  control: ControlPlane,
  group: readonly Stored[],
  {
    from,
    names,
    perTransaction = MAX_OPERATIONS,
  }: { from: string; names: readonly string[]; perTransaction?: number },
): Promise<void> {
  const url = await etcdOf(control);
  const uids = group.map(({ object }) => object.metadata.uid ?? '');
  const templates = group.map(({ resource, object }) => ({
    folder: folderOf(resource, object.metadata.namespace ?? ''),
    text: JSON.stringify({
      ...object,
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      metadata: { ...object.metadata, resourceVersion: undefined },
    }),
    name: object.metadata.name,
  }));
  let puts: { key: string; value: string }[] = [];
  let size = 0;
  const flush = async () => {
    await put(url, puts);
    puts = [];
    size = 0;
  };
  for (const name of names) {
    const own = uids.map(() => randomUUID() as string);
    const renamed = (text: string) =>
      uids.reduce((all, uid, index) => all.replaceAll(uid, own[index] ?? ''), text.replaceAll(from, name));
    for (const { folder, text, name: old } of templates) {
      const value = renamed(text);
      if (puts.length === perTransaction || size + value.length > CHARACTERS) await flush();
      puts.push({ key: folder + old.replaceAll(from, name), value });
      size += value.length;
    }
  }
  await flush();
}

function folderOf({ group, plural }: Resource<unknown>, namespace: string): string {
  // Keys of built-in kinds contain only the plural; keys of custom resources also contain the group.
  const kind = plural === 'services' ? 'services/specs' : plural;
  return `/registry/${group.includes('.') ? `${group}/` : ''}${kind}/${namespace}/`;
}

/** The store's address is on the command line of its process. */
async function etcdOf(control: ControlPlane): Promise<string> {
  const pid = (await readFile(join(dirname(dirname(control.kubeconfig)), 'etcd.pid'), 'utf8')).trim();
  const args = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0');
  return args[args.indexOf('--listen-client-urls') + 1] ?? '';
}

async function put(url: string, puts: readonly { key: string; value: string }[]): Promise<void> {
  if (puts.length === 0) return;
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const success = puts.map(({ key, value }) => ({
    request_put: { key: base64(key), value: base64(value) },
  }));
  const body = JSON.stringify({ success });
  for (let tries = 1; ; tries += 1) {
    const response = await fetch(`${url}/v3/kv/txn`, { method: 'POST', body });
    if (response.ok) {
      await response.body?.cancel();
      return;
    }
    // 503: with more than a gigabyte, a write waits for seconds now and then.
    if (response.status !== 503 || tries === 5)
      throw new Error(`etcd returned ${response.status}: ${await response.text()}`);
  }
}
