import { hash, X509Certificate, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setNewest } from '../core/untrusted/set-newest.ts';
import type { Clock } from './clock.ts';
import { optionalNames } from './env.ts';

/** SIDECAR_CA_FILES, in the control plane and in the operator. */
export const caFiles = optionalNames('absolute paths of PEM files', (path) => path.startsWith('/'));

/** How long the content of the files is used, in milliseconds. A rotation replaces a mounted Secret. */
const READ_MS = 10_000;
/** Maximum length of the annotation. The injector writes at most five certificates of about 700 characters. */
export const MAX_CA_LENGTH = 4_096;
/** More than the pods of a large cluster, because each pod can have another annotation. */
const MAX_RESULTS = 10_000;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g;

/**
 * Decides whether a pod trusts only CAs of this installation. A CA is known if its key signed one of the certificates in the
 * files: the CAs themselves, and the chain of the control plane. After a rotation, the previous CA is known because it signed the
 * next one, so a pod stays valid for as long as it can verify the control plane.
 */
export class KnownCas {
  readonly #files: readonly string[];
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #readAtMs = -Infinity;
  #text = '';
  #known: X509Certificate[] = [];
  /** The kinds of the keys of `#known`. */
  #kinds: ReadonlySet<string> = new Set();
  /** By hash of the text. */
  readonly #results = new Map<string, boolean>();

  constructor(files: readonly string[], clock: Pick<Clock, 'monotonicMs'>) {
    this.#files = files;
    this.#clock = clock;
  }

  /** Reads the files if they were not read recently. Rejects if one cannot be read; the last content then stays in use. */
  async read(): Promise<void> {
    const now = this.#clock.monotonicMs();
    if (now - this.#readAtMs < READ_MS) return;
    this.#readAtMs = now;
    try {
      const texts = await Promise.all(this.#files.map((file) => readFile(file, 'utf8')));
      const text = texts.join('\n');
      if (text === this.#text) return;
      this.#known = (text.match(CERTIFICATE) ?? []).map((block) => new X509Certificate(block));
      this.#kinds = new Set(this.#known.map(({ publicKey }) => kindOf(publicKey)));
      this.#text = text;
      this.#results.clear();
    } catch (error) {
      throw new Error(`SIDECAR_CA_FILES ${this.#files.join(',')} are not readable PEM files`, {
        cause: error,
      });
    }
  }

  /** Whether the PEM text contains certificates of known CAs and nothing else; null: the files have no certificate yet. */
  has(pem: string): boolean | null {
    if (this.#known.length === 0) return null;
    if (pem.length > MAX_CA_LENGTH) return false;
    const key = hash('sha256', pem, 'base64');
    const result = this.#results.get(key) ?? this.#areKnown(pem);
    setNewest(this.#results, [key, result], MAX_RESULTS);
    return result;
  }

  #areKnown(pem: string): boolean {
    const blocks = pem.match(CERTIFICATE) ?? [];
    // Other PEM types, such as "X509 CERTIFICATE", are trusted too.
    const hasOther = pem.replaceAll(CERTIFICATE, '').trim() !== '';
    return blocks.length > 0 && !hasOther && blocks.every((block) => this.#isKnown(block));
  }

  #isKnown(block: string): boolean {
    try {
      const { publicKey } = new X509Certificate(block);
      // The curve of a foreign key decides how long a verification takes.
      return (
        this.#kinds.has(kindOf(publicKey)) && this.#known.some((certificate) => certificate.verify(publicKey))
      );
    } catch {
      return false;
    }
  }
}

const kindOf = ({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string =>
  `${asymmetricKeyType} ${asymmetricKeyDetails?.namedCurve}`;
