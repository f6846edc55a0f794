// PostgreSQL on the node of a local cluster, which pods reach at the node's address.
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { debianServer } from '../testing/machine/debian-server.ts';
import { initPostgres } from '../testing/fleet/postgres-data.ts';
import { issueCa, issueLeaf } from '../webhook/certificates/issue.ts';
import type { Cluster } from './cluster/cluster.ts';
import { eventually } from './kubectl.ts';

/** As in e2e/cluster/node.sh. */
const NODE_ADDRESS = '10.88.0.10';
const PASSWORD = 'password-of-a-suite';
/** Longer than any suite; the server also ends with the cluster. */
const LONGEST_MS = 3_600_000;

export interface NodePostgres {
  /** With TLS, whose certificate is verified with `ca`. */
  url: string;
  /** PEM. */
  ca: string;
  close(): Promise<void>;
}

export async function startNodePostgres(cluster: Cluster): Promise<NodePostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'node-postgres-'));
  const data = initPostgres(folder, PASSWORD);
  await appendFile(join(data, 'pg_hba.conf'), 'hostssl all all all scram-sha-256\n');
  const validity = { now: new Date(), days: 2 };
  const ca = await issueCa(validity);
  const leaf = await issueLeaf(ca, [NODE_ADDRESS], validity);
  await writeFile(join(data, 'server.crt'), leaf.cert);
  // PostgreSQL rejects a key that other users may read.
  await writeFile(join(data, 'server.key'), leaf.key, { mode: 0o600 });
  const { command, leading, env } = debianServer('postgres');
  const settings = ['-c', 'ssl=on', '-c', 'fsync=off'];
  const flags = ['-D', data, '-k', folder, '-h', NODE_ADDRESS, '-p', '5432', ...settings];
  const libraries = `LD_LIBRARY_PATH=${env['LD_LIBRARY_PATH'] ?? ''}`;
  const server = ['env', libraries, command, ...leading, ...flags];
  const ended = cluster.exec(server, { timeoutMs: LONGEST_MS });
  const state = () => readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '');
  const started = eventually('PostgreSQL on the node', state, (text) => /^ready\s*$/m.test(text));
  const exited = ended.then(({ stderr }) => {
    throw new Error(`PostgreSQL ended: ${stderr}`);
  });
  // Later it ends on purpose.
  exited.catch(() => undefined);
  await Promise.race([started, exited]);
  return {
    url: `postgres://postgres:${PASSWORD}@${NODE_ADDRESS}:5432/postgres`,
    ca: ca.cert,
    close: async () => {
      const [pid = ''] = (await state()).split('\n');
      await cluster.exec(['kill', '-INT', pid]);
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
