import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Server } from 'node:https';
import { slept, type Clock } from '../runtime/clock.ts';
import type { KeyPair } from '../runtime/http-listener.ts';
import { describeError, type Logger } from '../runtime/logger.ts';

export interface TlsFiles {
  certFile: string;
  keyFile: string;
}

/** Rejects with a message that names the variables if a file cannot be read or the key does not match the certificate. */
export async function readKeyPair(files: TlsFiles): Promise<KeyPair> {
  try {
    const [cert, key] = await Promise.all([
      readFile(files.certFile, 'utf8'),
      readFile(files.keyFile, 'utf8'),
    ]);
    // From an empty text Node.js creates a context without a certificate, and every handshake would fail.
    new X509Certificate(cert);
    createPrivateKey(key);
    createSecureContext({ cert, key });
    return { cert, key };
  } catch (error) {
    throw new Error(
      `TLS_CERT_FILE ${files.certFile} and TLS_KEY_FILE ${files.keyFile} are not a valid certificate and private key`,
      { cause: error },
    );
  }
}

export interface KeyPairReload {
  files: TlsFiles;
  server: Pick<Server, 'setSecureContext'>;
  /** The key pair that the server uses now. */
  current: KeyPair;
  clock: Clock;
  logger: Logger;
  /** Milliseconds between two checks of the files. */
  everyMs: number;
  signal: AbortSignal;
}

/**
 * Reloads changed files into the server until `signal` aborts; open connections are unaffected. The files are polled,
 * because a mounted Secret changes through a symlink, which file watches do not detect. An invalid pair, for example during
 * a change, is ignored.
 */
export async function reloadKeyPair(options: KeyPairReload): Promise<void> {
  const { files, server, clock, logger, everyMs, signal } = options;
  let { current } = options;
  let failing = false;
  while (await slept(clock, everyMs, signal)) {
    try {
      const next = await readKeyPair(files);
      failing = false;
      if (next.cert === current.cert && next.key === current.key) continue;
      server.setSecureContext({ ...next, minVersion: 'TLSv1.2' });
      current = next;
      logger.info('certificate reloaded', { certFile: files.certFile });
    } catch (error) {
      if (!failing)
        logger.warn('certificate reload failed, keeping previous certificate', {
          error: describeError(error),
        });
      failing = true;
    }
  }
}
