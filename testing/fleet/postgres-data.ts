import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { debianServer } from '../machine/debian-server.ts';

/**
 * Creates the data of a PostgreSQL server in `folder` and returns its directory. The user is `postgres` with this password,
 * required for every connection. For servers that `startPostgres` does not fit: with other addresses, or with fsync.
 */
export function initPostgres(folder: string, password: string): string {
  const [data, passwordFile] = [join(folder, 'data'), join(folder, 'password')];
  writeFileSync(passwordFile, password);
  const { command, leading, env } = debianServer('initdb');
  const access = ['-U', 'postgres', '-A', 'scram-sha-256', '--pwfile', passwordFile];
  const flags = [...leading, '-D', data, ...access, '-N', '-E', 'UTF8', '--locale=C'];
  const made = spawnSync(command, flags, { env, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stdout}${made.stderr}`);
  return data;
}
