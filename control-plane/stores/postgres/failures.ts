import { types } from 'node:util';
import pg from 'pg';
import { READ_ONLY, UnusableServer, type Explanation } from './unusable-server.ts';

/**
 * What a failed statement means for its transaction.
 * - conflict: another transaction was first; the transaction can be repeated
 * - connection: the connection is lost or leads to the wrong server; the transaction can be repeated on another connection
 * - overload: the server cannot do it now, or not in time
 * - schema: a table or column is missing, for example after a failover to an empty server, or a restore of an older backup
 * - bug: an error of this product
 */
export type FailureKind = 'conflict' | 'connection' | 'overload' | 'schema' | 'bug';

/** SQLSTATE codes or classes (the first two characters); a code wins over its class. */
const KINDS: Readonly<Record<string, FailureKind>> = {
  // Serialization failure, deadlock, and a row that another transaction added first.
  '40001': 'conflict',
  '40P01': 'conflict',
  '23505': 'conflict',
  // A server that became a standby, a shutdown, a server that starts, and a session that was idle for too long.
  '25006': 'connection',
  '57P01': 'connection',
  '57P02': 'connection',
  '57P03': 'connection',
  '57P05': 'connection',
  '25P03': 'connection',
  '08': 'connection',
  '42P01': 'schema',
  '42703': 'schema',
  '3F': 'schema',
  // A statement or a lock that took too long, resources such as memory, disk space and connections, lost grants, and a defect of
  // the server or its files.
  '57014': 'overload',
  '55P03': 'overload',
  '53': 'overload',
  '58': 'overload',
  '42501': 'overload',
  XX: 'overload',
};

/** @param error of a statement; errors that are not from the server come from its connection */
export function kindOf(error: unknown): FailureKind {
  if (!(error instanceof pg.DatabaseError)) return 'connection';
  const { code = '' } = error;
  return KINDS[code] ?? KINDS[code.slice(0, 2)] ?? 'bug';
}

const SERVER = 'check that the server runs and is reachable at the host and port of DATABASE_URL';

/** By SQLSTATE code or class. */
const EXPLANATIONS: Readonly<Record<string, Explanation>> = {
  '28': {
    reason: 'the database rejected the credentials',
    fix: 'correct user, password or sslmode in DATABASE_URL, or pg_hba.conf of the server',
  },
  '3D': {
    reason: 'the database does not exist',
    fix: 'create the database, or correct its name in DATABASE_URL',
  },
  '42': {
    reason: 'the schema of the database cannot be created',
    fix: 'use a database of its own, and grant CREATE on its schema to the user of DATABASE_URL',
  },
  '53': {
    reason: 'the database has no free resources',
    fix: 'read the log of the server; for connections, lower DATABASE_POOL or raise max_connections',
  },
  '55': {
    reason: 'another process migrates the schema of the database',
    fix: 'wait until the migration has finished',
  },
};

const LOST_SCHEMA: Explanation = {
  reason: 'tables of the database are missing',
  fix: 'none, the control plane creates them; check whether the server is the intended one',
};

const TLS: Explanation = {
  reason: 'TLS with the database failed',
  fix: 'correct sslmode in DATABASE_URL, DATABASE_CA_FILE, or the certificate of the server',
};
const TLS_ERROR = /CERT|SIGNATURE|ERR_TLS|ERR_SSL|EPROTO|support SSL|SSL connection/;

/** Why the database cannot be used, for the person who runs the control plane. */
export function explain(error: unknown): Explanation {
  if (error instanceof UnusableServer) return error.explanation;
  const code = codeOf(error);
  if (error instanceof pg.DatabaseError && code === '25006') return READ_ONLY;
  if (kindOf(error) === 'schema') return LOST_SCHEMA;
  const known = error instanceof pg.DatabaseError ? EXPLANATIONS[code.slice(0, 2)] : undefined;
  if (known !== undefined) return known;
  if (TLS_ERROR.test(`${code} ${types.isNativeError(error) ? error.message : ''}`)) return TLS;
  return { reason: 'the database is not reachable', fix: SERVER };
}

/** Not `instanceof`: the errors of Node.js's TLS are of another realm in tests. */
function codeOf(error: unknown): string {
  return types.isNativeError(error) && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
