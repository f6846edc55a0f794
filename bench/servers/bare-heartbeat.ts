// The least that a control plane has to do for a heartbeat: an Express route that parses the body and writes it as one row, with
// the TLS settings and the durability of the control plane. No credential, no status and no history.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { DatabaseSync } from 'node:sqlite';
import express from 'express';
import pg from 'pg';

const { PORT, DATABASE_URL = '', DATABASE_FILE = '', TLS_CERT_FILE = '', TLS_KEY_FILE = '' } = process.env;

interface Row {
  instance: string;
  receivedAt: number;
  body: string;
}

const COLUMNS = 'instance TEXT NOT NULL, received_at BIGINT NOT NULL, body TEXT NOT NULL';

async function postgresWriter(): Promise<(row: Row) => Promise<unknown>> {
  const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 });
  await pool.query(`CREATE TABLE IF NOT EXISTS bare_heartbeats (${COLUMNS})`);
  const text = 'INSERT INTO bare_heartbeats (instance, received_at, body) VALUES ($1, $2, $3)';
  return ({ instance, receivedAt, body }) =>
    pool.query({ name: 'insert', text, values: [instance, receivedAt, body] });
}

function sqliteWriter(): (row: Row) => unknown {
  const database = new DatabaseSync(DATABASE_FILE);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
  database.exec(`CREATE TABLE IF NOT EXISTS bare_heartbeats (${COLUMNS})`);
  const insert = database.prepare(
    'INSERT INTO bare_heartbeats (instance, received_at, body) VALUES (?, ?, ?)',
  );
  return ({ instance, receivedAt, body }) => insert.run(instance, receivedAt, body);
}

const write = DATABASE_URL === '' ? sqliteWriter() : await postgresWriter();
const app = express();
app.post('/api/v1/heartbeat', express.json({ limit: 64 * 1024 }), async (request, response) => {
  const heartbeat = request.body as { instance: string };
  await write({
    instance: heartbeat.instance,
    receivedAt: Date.now(),
    body: JSON.stringify(heartbeat),
  });
  response.status(204).end();
});
const server =
  TLS_CERT_FILE === ''
    ? createServer(app)
    : createTlsServer(
        { cert: readFileSync(TLS_CERT_FILE), key: readFileSync(TLS_KEY_FILE), minVersion: 'TLSv1.2' },
        app,
      );
server.listen(Number(PORT), '127.0.0.1');
