import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { X509Certificate } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { listen, type Listener, type KeyPair } from '../runtime/http-listener.ts';
import { silentLogger } from '../runtime/logger.ts';
import { ManualClock } from '../testing/time/manual-clock.ts';
import { issueCa, issueLeaf } from '../webhook/certificates/issue.ts';
import { readKeyPair, reloadKeyPair } from './tls.ts';

let directory: string;
let listener: Listener;
let stop: AbortController;
let clock: ManualClock;
let done: Promise<void>;
/** The sleep between two checks of the files. */
let sleep: Awaited<ReturnType<ManualClock['nextSleep']>>;
let warnings: string[];
let first: KeyPair;
let second: KeyPair;

const files = () => ({ certFile: join(directory, 'tls.crt'), keyFile: join(directory, 'tls.key') });

function write(pair: KeyPair): void {
  writeFileSync(files().certFile, pair.cert);
  writeFileSync(files().keyFile, pair.key);
}

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'tls-'));
  const validity = { now: new Date(), days: 1 };
  const ca = await issueCa(validity);
  first = await issueLeaf(ca, ['first.test'], validity);
  second = await issueLeaf(ca, ['second.test'], validity);
  write(first);
  const tls = await readKeyPair(files());
  listener = await listen({ handler: (_request, response) => response.end('ok'), port: 0, tls });
  stop = new AbortController();
  clock = new ManualClock('2026-03-01T10:00:00.000Z');
  warnings = [];
  done = reloadKeyPair({
    files: files(),
    server: listener.server as Server,
    current: tls,
    clock,
    logger: { ...silentLogger, warn: (message) => warnings.push(message) },
    everyMs: 10_000,
    signal: stop.signal,
  });
  sleep = await clock.nextSleep();
});

afterEach(async () => {
  stop.abort();
  await done;
  await listener.close();
  rmSync(directory, { recursive: true });
});

/** The subject of the certificate that a new connection receives. */
async function served(): Promise<string> {
  const socket = connect({ port: listener.port, host: '127.0.0.1', rejectUnauthorized: false });
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
  const { subject } = new X509Certificate(socket.getPeerCertificate().raw);
  socket.destroy();
  return subject;
}

/** Runs one check of the files and waits until it is complete. */
async function check(): Promise<void> {
  expect(sleep.ms).toBe(10_000);
  sleep.wake();
  sleep = await clock.nextSleep();
}

test('serves a changed certificate to new connections without a restart', async () => {
  expect(await served()).toBe('CN=first.test');
  write(second);
  await check();
  expect(await served()).toBe('CN=second.test');
});

test('keeps the previous pair while the files are invalid, and logs one warning', async () => {
  writeFileSync(files().certFile, second.cert);
  await check();
  await check();
  expect(await served()).toBe('CN=first.test');
  expect(warnings).toEqual(['certificate reload failed, keeping previous certificate']);
  rmSync(files().keyFile);
  await check();
  expect(await served()).toBe('CN=first.test');
  writeFileSync(files().keyFile, second.key);
  await check();
  expect(await served()).toBe('CN=second.test');
});

test.each([
  ['a key of another certificate', () => writeFileSync(files().keyFile, second.key)],
  ['an empty certificate', () => writeFileSync(files().certFile, '')],
  ['an empty key', () => writeFileSync(files().keyFile, '')],
  ['half a certificate', () => writeFileSync(files().certFile, first.cert.slice(0, 200))],
])('rejects %s', async (_case, corrupt) => {
  corrupt();
  await expect(readKeyPair(files())).rejects.toThrow(
    `TLS_CERT_FILE ${files().certFile} and TLS_KEY_FILE ${files().keyFile} are not a valid certificate and private key`,
  );
});
