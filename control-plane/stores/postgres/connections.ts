import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { tlsOptionsOf, type DatabaseAddress } from './database-url.ts';
import { READ_ONLY, UnusableServer } from './unusable-server.ts';

export interface ConnectionSettings {
  address: DatabaseAddress;
  /** PEM file with the CA certificates of the server; null: those of Node.js. */
  caFile: string | null;
  /** Maximum number of connections. */
  poolSize: number;
  /** Default: TIMEOUTS. */
  timeouts?: Timeouts;
}

/** All in milliseconds. */
export interface Timeouts {
  /** To connect and log in, or to wait for a free connection. */
  connectMs: number;
  /** For a statement, in the server. */
  statementMs: number;
  /** For a statement, in this process: the server, or the network to it, does not respond. */
  responseMs: number;
}

export const TIMEOUTS: Timeouts = { connectMs: 5_000, statementMs: 10_000, responseMs: 15_000 };

/** After a failover, connections to a server that is no longer the primary end after this time at the latest. */
const MAX_LIFETIME_SECONDS = 1_800;
const KEEP_ALIVE_MS = 10_000;

/** PostgreSQL's types int8 and numeric, which the driver returns as text. Values of this product are exact as numbers. */
const NUMBERS = [20, 1700];

/** Throws an error that names DATABASE_CA_FILE. */
export function clientConfigOf(settings: ConnectionSettings): pg.ClientConfig {
  const { address, caFile, timeouts = TIMEOUTS } = settings;
  const { host, port, user, database, tls, hasChannelBinding } = address;
  const types = new pg.TypeOverrides();
  for (const type of NUMBERS) types.setTypeParser(type, Number);
  return {
    ...{ host, port, user, database, types },
    // A function, because the driver replaces an empty text by PGPASSWORD or the file of PGPASSFILE.
    password: () => address.password.reveal(),
    ssl: tlsOptionsOf(tls, caFile === null ? null : readCa(caFile)),
    enableChannelBinding: hasChannelBinding,
    application_name: 'agent-compliance-control-plane',
    connectionTimeoutMillis: timeouts.connectMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  };
}

function readCa(path: string): string {
  try {
    const pem = readFileSync(path, 'utf8');
    // From a text without certificates Node.js creates a context that trusts nothing, and every handshake would fail.
    new X509Certificate(pem);
    return pem;
  } catch (error) {
    throw new Error(`DATABASE_CA_FILE ${path} is not a PEM file with certificates`, { cause: error });
  }
}

/** A pool whose connections are checked and prepared before their first use. */
export function createPool(
  settings: ConnectionSettings,
  config: pg.ClientConfig,
  onConnect: (client: pg.PoolClient) => void,
): pg.Pool {
  const { poolSize: max, timeouts = TIMEOUTS } = settings;
  const pool = new pg.Pool({
    ...config,
    max,
    query_timeout: timeouts.responseMs,
    maxLifetimeSeconds: MAX_LIFETIME_SECONDS,
    // Sends the statements of a transaction without waiting for each result.
    pipeline: true,
    verify: (client, done) => {
      prepare(client, timeouts).then(
        () => done(),
        (error: unknown) => done(error instanceof Error ? error : new Error(String(error))),
      );
    },
  });
  pool.on('connect', (client) => {
    // Without a listener, a connection that breaks between two statements would end the process. The next statement fails.
    client.on('error', () => undefined);
    onConnect(client);
  });
  // An idle connection broke. The pool has already removed it.
  pool.on('error', () => undefined);
  return pool;
}

/** Commits must be on disk before a response, whatever the server's configuration is. */
const PREPARE = `
  SELECT set_config('statement_timeout', $1, false), set_config('idle_in_transaction_session_timeout', $2, false),
    set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
      ELSE current_setting('synchronous_commit') END, false),
    current_setting('transaction_read_only') AS "readOnly", current_setting('server_encoding') AS encoding`;

const STANDBY = 'the server accepts no changes: it is a standby, or default_transaction_read_only is set';

async function prepare(client: pg.ClientBase, { statementMs, responseMs }: Timeouts): Promise<void> {
  const { rows } = await client.query<{ readOnly: string; encoding: string }>(PREPARE, [
    String(statementMs),
    String(responseMs),
  ]);
  const { readOnly, encoding } = rows[0] ?? { readOnly: 'off', encoding: 'UTF8' };
  if (readOnly === 'on') throw new UnusableServer(STANDBY, READ_ONLY);
  // Another encoding cannot store every text.
  if (encoding !== 'UTF8')
    throw new UnusableServer(`the database has the encoding ${encoding} instead of UTF8`, {
      reason: 'the encoding of the database is not UTF8',
      fix: 'create the database with ENCODING UTF8',
    });
}

/** A migration that takes longer has failed, for example because the network to the server is lost. */
const MIGRATION_MS = 300_000;

/** Runs the migration on a connection of its own. */
export async function withClient<T>(
  config: pg.ClientConfig,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ ...config, query_timeout: MIGRATION_MS });
  // The failure is the rejection of `connect` or of a statement.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    // Not awaited: a server that does not respond would delay the result.
    client.end().catch(() => undefined);
  }
}
