import { createHash } from 'node:crypto';
import { watch, type FSWatcher } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describeProblem } from '../core/manifest/describe-problem.ts';
import type { Manifest, ManifestProblem } from '../core/manifest/manifest.ts';
import { MAX_MANIFEST_BYTES, parseManifest } from '../core/manifest/parse-manifest.ts';

/** A manifest file as it was read: good, or every reason why not. */
export type LoadedManifest =
  /** `hash`: SHA-256 of the file, hex. */
  | { ok: true; file: string; manifest: Manifest; hash: string; text: string }
  /** `unreadable`: there is no text at all, so the one problem is the file's. */
  | { ok: false; file: string; problems: ManifestProblem[]; unreadable?: true };

/** Reads and parses one manifest file. A file that cannot be read is a problem at 1:1, never an exception. */
export async function loadManifestFile(path: string): Promise<LoadedManifest> {
  const read = await readBytes(path);
  if ('refusal' in read) return refused(path, read.refusal);
  const text = decode(read.bytes);
  if (text === null) return refused(path, 'is no text file: a manifest is UTF-8 text');
  const parsed = parseManifest(text);
  if (!parsed.ok) return { ok: false, file: path, problems: parsed.problems };
  const hash = createHash('sha256').update(read.bytes).digest('hex');
  return { ok: true, file: path, manifest: parsed.manifest, hash, text };
}

/** One line for each problem; a file without text has no line and no column. */
export function describeRefusal(loaded: LoadedManifest & { ok: false }): string[] {
  return loaded.problems.map((problem) =>
    loaded.unreadable === true ? `${loaded.file}: ${problem.message}` : describeProblem(loaded.file, problem),
  );
}

function refused(file: string, message: string): LoadedManifest {
  return { ok: false, file, problems: [{ path: '', message, line: 1, column: 1 }], unreadable: true };
}

const REFUSALS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist: a part of its path is no folder',
  EISDIR: 'is a folder, not a file',
  EACCES: 'cannot be read: permission denied',
  EPERM: 'cannot be read: permission denied',
  ELOOP: 'cannot be read: its symbolic links lead in a circle',
};

/** Not only regular files: a pipe is a manifest too. One byte more than is allowed is read, so that the size is seen. */
async function readBytes(path: string): Promise<{ bytes: Buffer } | { refusal: string }> {
  try {
    await using file = await open(path, 'r');
    const chunks: Buffer[] = [];
    let length = 0;
    while (length <= MAX_MANIFEST_BYTES) {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(64 * 1024), 0, 64 * 1024, null);
      if (bytesRead === 0) return { bytes: Buffer.concat(chunks) };
      chunks.push(buffer.subarray(0, bytesRead));
      length += bytesRead;
    }
    return { refusal: 'is larger than 1 MiB, the most that a manifest can be' };
  } catch (error) {
    const code = codeOf(error);
    return { refusal: REFUSALS[code] ?? `cannot be read: ${code || String(error)}` };
  }
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? '';

function decode(bytes: Buffer): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

export interface WatchOptions {
  /** What is in force: changes are told apart from it. */
  current: LoadedManifest;
  /** Each time the file has become something else: a good manifest, or the problems that keep the last one in force. */
  onChange: (loaded: LoadedManifest) => void;
  /** Ends the watch. */
  signal: AbortSignal;
  /** Milliseconds between two looks at the file, for file systems that tell nothing; default 3000. */
  pollMs?: number;
  /** Milliseconds of quiet before the file is read, since a save is several steps; default 100. */
  settleMs?: number;
  /** Reads the file; default `loadManifestFile`. */
  load?: (path: string) => Promise<LoadedManifest>;
}

/**
 * Follows a manifest file through edits in place, editors that save by renaming, and ConfigMap volumes, whose files are
 * links through `..data` that is swapped as a whole. Keeps no process alive.
 */
export function watchManifestFile(path: string, options: WatchOptions): void {
  if (options.signal.aborted) return;
  new ManifestWatch(path, options).start();
}

class ManifestWatch {
  readonly #path: string;
  readonly #options: WatchOptions;
  readonly #settleMs: number;
  readonly #load: (path: string) => Promise<LoadedManifest>;
  #told: string;
  #signature = '';
  #watcher: FSWatcher | null = null;
  #settling: NodeJS.Timeout | undefined;
  #reading: Promise<void> = Promise.resolve();

  constructor(path: string, options: WatchOptions) {
    this.#path = path;
    this.#options = options;
    this.#settleMs = options.settleMs ?? 100;
    this.#load = options.load ?? loadManifestFile;
    this.#told = fingerprint(options.current);
  }

  start(): void {
    const { signal, pollMs = 3000 } = this.#options;
    this.#watchFolder();
    // The file may have changed since it was loaded.
    this.#changed();
    const polling = setInterval(() => void this.#poll(), pollMs).unref();
    signal.addEventListener(
      'abort',
      () => {
        clearInterval(polling);
        clearTimeout(this.#settling);
        this.#watcher?.close();
      },
      { once: true },
    );
  }

  /** The folder, not the file: a rename or a swap of links gives the file another inode, which a watch on it never sees. */
  #watchFolder(): void {
    try {
      this.#watcher = watch(dirname(this.#path), { persistent: false }, () => this.#changed());
      this.#watcher.on('error', () => this.#unwatchFolder());
    } catch {
      // No such folder now, or no watches left on this machine: polling goes on, and tries again.
      this.#watcher = null;
    }
  }

  #unwatchFolder(): void {
    this.#watcher?.close();
    this.#watcher = null;
  }

  async #poll(): Promise<void> {
    const signature = await signatureOf(this.#path);
    if (this.#options.signal.aborted) return;
    if (this.#watcher === null) this.#watchFolder();
    if (signature === this.#signature) return;
    this.#signature = signature;
    this.#changed();
  }

  #changed(): void {
    if (this.#options.signal.aborted) return;
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => {
      this.#reading = this.#reading.then(() => this.#read());
    }, this.#settleMs).unref();
  }

  /** What looks bad may be half written: it is told only when it is the same after another quiet spell. */
  async #read(suspected = ''): Promise<void> {
    const loaded = await this.#load(this.#path);
    const found = fingerprint(loaded);
    if (this.#options.signal.aborted || found === this.#told) return;
    if (!loaded.ok && found !== suspected) {
      await new Promise((resolve) => setTimeout(resolve, this.#settleMs).unref());
      return this.#read(found);
    }
    this.#told = found;
    this.#options.onChange(loaded);
  }
}

function fingerprint(loaded: LoadedManifest): string {
  return loaded.ok ? loaded.hash : JSON.stringify(loaded.problems);
}

/** Changes with every way to replace a file; follows links. */
async function signatureOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = await stat(path);
    return [dev, ino, size, mtimeMs, ctimeMs].join(':');
  } catch (error) {
    return codeOf(error);
  }
}
