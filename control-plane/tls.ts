import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Server } from 'node:https';
import type { Clock } from '../runtime/clock.ts';
import { describeError, type Logger } from '../runtime/logger.ts';

export interface TlsFiles {
  certFile: string;
  keyFile: string;
}

export interface KeyPair {
  cert: string;
  key: string;
}

/** Rejects with a message that names the variables when a file cannot be read or the two do not belong together. */
export async function readKeyPair(files: TlsFiles): Promise<KeyPair> {
  try {
    const [cert, key] = await Promise.all([
      readFile(files.certFile, 'utf8'),
      readFile(files.keyFile, 'utf8'),
    ]);
    // Of an empty text Node.js makes a context without a certificate, and no handshake would succeed.
    new X509Certificate(cert);
    createPrivateKey(key);
    createSecureContext({ cert, key });
    return { cert, key };
  } catch (error) {
    throw new Error(
      `TLS_CERT_FILE ${files.certFile} and TLS_KEY_FILE ${files.keyFile} are no certificate with its key`,
      { cause: error },
    );
  }
}

export interface KeyPairReload {
  files: TlsFiles;
  server: Pick<Server, 'setSecureContext'>;
  /** What the server has now. */
  current: KeyPair;
  clock: Clock;
  logger: Logger;
  /** Milliseconds between two looks at the files. */
  everyMs: number;
  signal: AbortSignal;
}

/**
 * Gives new files to the server until `signal` aborts; connections that are open go on. The content is read again and
 * again, since a mounted Secret changes by a symlink that file watches do not see. A pair that is broken, as in the
 * middle of a change, leaves the old one in place.
 */
export async function reloadKeyPair(options: KeyPairReload): Promise<void> {
  const { files, server, clock, logger, everyMs, signal } = options;
  let { current } = options;
  let failing = false;
  for (;;) {
    try {
      await clock.sleep(everyMs, signal);
    } catch {
      return;
    }
    try {
      const next = await readKeyPair(files);
      failing = false;
      if (next.cert === current.cert && next.key === current.key) continue;
      server.setSecureContext({ ...next, minVersion: 'TLSv1.2' });
      current = next;
      logger.info('certificate is reloaded', { certFile: files.certFile });
    } catch (error) {
      if (!failing) logger.warn('certificate cannot be reloaded', { error: describeError(error) });
      failing = true;
    }
  }
}
