import { isUtf8 } from 'node:buffer';
import { watch, type FSWatcher } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describeProblem } from '../core/manifest/describe-problem.ts';
import type { Manifest, ManifestProblem } from '../core/manifest/manifest.ts';
import { MAX_MANIFEST_BYTES, parseManifest } from '../core/manifest/parse-manifest.ts';

/** Result of reading a manifest file: the manifest, or all problems. */
export type LoadedManifest =
  /** `hash`: SHA-256 of the file, hex; computed at each read. */
  | { ok: true; file: string; manifest: Manifest; hash: string; text: string }
  /** `unreadable`: the file has no text, so the only problem is about the file itself. */
  | { ok: false; file: string; problems: ManifestProblem[]; warnings?: ManifestProblem[]; unreadable?: true };

/** Reads and parses one manifest file. Never throws: an unreadable file is a problem at 1:1. `file`: its name in messages. */
export async function loadManifestFile(path: string, file = path): Promise<LoadedManifest> {
  const read = await readBytes(path);
  return 'failure' in read ? unreadableManifest(file, read.failure) : parseManifestBytes(file, read.bytes);
}

/** Parses the content of a manifest file. `file` is its name in messages. */
export function parseManifestBytes(file: string, bytes: Buffer): LoadedManifest {
  if (bytes.includes(0) || !isUtf8(bytes)) return unreadableManifest(file, 'is not a UTF-8 text file');
  const text = new TextDecoder().decode(bytes);
  const parsed = parseManifest(text);
  if (!parsed.ok) return { ...parsed, file };
  return {
    ok: true,
    file,
    manifest: parsed.manifest,
    text,
    get hash() {
      // Most commands do not need it, and loading node:crypto takes longer than reading a manifest.
      return process.getBuiltinModule('node:crypto').createHash('sha256').update(bytes).digest('hex');
    },
  };
}

/** Returns one line per problem. Problems of an unreadable file have no line and column. */
export function describeRefusal(loaded: LoadedManifest & { ok: false }): string[] {
  return loaded.problems.map((problem) =>
    loaded.unreadable === true ? `${loaded.file}: ${problem.message}` : describeProblem(loaded.file, problem),
  );
}

/** A manifest that has no text, for example because the file does not exist. */
export function unreadableManifest(file: string, message: string): LoadedManifest {
  return { ok: false, file, problems: [{ path: '', message, line: 1, column: 1 }], unreadable: true };
}

const FAILURES: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist: a parent path is not a directory',
  EISDIR: 'is a directory, not a file',
  EACCES: 'cannot be read: permission denied',
  EPERM: 'cannot be read: permission denied',
  ELOOP: 'cannot be read: symbolic link loop',
};

/** Reads in chunks, because the manifest may also be a pipe. Reads past the maximum size to detect an oversized file. */
async function readBytes(path: string): Promise<{ bytes: Buffer } | { failure: string }> {
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
    return { failure: 'exceeds the maximum manifest size of 1 MiB' };
  } catch (error) {
    const code = codeOf(error);
    return { failure: FAILURES[code] ?? `cannot be read: ${code || String(error)}` };
  }
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? '';

export interface WatchOptions {
  /** The manifest in force. Changes are detected against it. */
  current: LoadedManifest;
  /** Called on each change of the file with the new manifest, or with the problems that keep the previous one in force. */
  onChange: (loaded: LoadedManifest) => void;
  /** Ends the watch. */
  signal: AbortSignal;
  /** Polling interval in milliseconds, for file systems without change notifications; default 3000. */
  pollMs?: number;
  /** Milliseconds without a change before the file is read, because a save consists of several steps; default 100. */
  settleMs?: number;
  /** Reads the file; default `loadManifestFile`. */
  load?: (path: string) => Promise<LoadedManifest>;
}

/**
 * Watches a manifest file. Detects in-place edits, editors that save by renaming, and updates of ConfigMap volumes, which
 * swap the `..data` symbolic link. Does not keep the process alive.
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
  #reported: string;
  /** Of the last reading. null: none, or the file must be read again. */
  #signature: string | null = null;
  #watcher: FSWatcher | null = null;
  #settling: NodeJS.Timeout | undefined;
  #reading: Promise<void> = Promise.resolve();

  constructor(path: string, options: WatchOptions) {
    this.#path = path;
    this.#options = options;
    this.#settleMs = options.settleMs ?? 100;
    this.#load = options.load ?? loadManifestFile;
    this.#reported = fingerprint(options.current);
  }

  start(): void {
    const { signal, pollMs = 3000 } = this.#options;
    this.#watchDirectory();
    // The file may have changed since it was loaded.
    this.#scheduleRead();
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

  /** Watches the directory: a rename or link swap replaces the inode of the file, and a watch on the file would miss that. */
  #watchDirectory(): void {
    try {
      this.#watcher = watch(dirname(this.#path), { persistent: false }, () => this.#scheduleRead());
      this.#watcher.on('error', () => this.#unwatchDirectory());
    } catch {
      // The directory is missing, or the inotify limit is reached. Polling continues and retries the watch.
      this.#watcher = null;
    }
  }

  #unwatchDirectory(): void {
    this.#watcher?.close();
    this.#watcher = null;
  }

  async #poll(): Promise<void> {
    const signature = await signatureOf(this.#path);
    if (this.#options.signal.aborted) return;
    if (this.#watcher === null) this.#watchDirectory();
    if (this.#mayDiffer(signature)) this.#scheduleRead();
  }

  #mayDiffer(signature: string | null): boolean {
    return signature === null || signature !== this.#signature;
  }

  #scheduleRead(): void {
    if (this.#options.signal.aborted) return;
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => {
      this.#reading = this.#reading.then(() => this.#readIfChanged());
    }, this.#settleMs).unref();
  }

  /** Other files of the directory cause events, too: on a laptop, an agent may write its log next to its manifest. */
  async #readIfChanged(): Promise<void> {
    const signature = await signatureOf(this.#path);
    if (this.#options.signal.aborted || !this.#mayDiffer(signature)) return;
    this.#signature = signature;
    await this.#read();
  }

  /** An invalid file may be half written. It is reported only if it is unchanged after another `settleMs`. */
  async #read(suspected = ''): Promise<void> {
    const loaded = await this.#load(this.#path);
    // The cause may pass without a change of the file, for example if the process has no file descriptor left.
    if (!loaded.ok && loaded.unreadable === true) this.#signature = null;
    const found = fingerprint(loaded);
    if (this.#options.signal.aborted || found === this.#reported) return;
    if (!loaded.ok && found !== suspected) {
      await new Promise((resolve) => setTimeout(resolve, this.#settleMs).unref());
      return this.#read(found);
    }
    this.#reported = found;
    this.#options.onChange(loaded);
  }
}

function fingerprint(loaded: LoadedManifest): string {
  return loaded.ok ? loaded.hash : JSON.stringify(loaded.problems);
}

/** Some file systems store the time of a change in steps of two seconds. */
const COARSE_TIME_MS = 2_000;

/**
 * A string that changes whenever the file is modified or replaced. null: the file was modified so recently that a further change might
 * not change the string. Follows symbolic links.
 */
async function signatureOf(path: string): Promise<string | null> {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = await stat(path);
    if (Math.abs(Date.now() - mtimeMs) < COARSE_TIME_MS) return null;
    return [dev, ino, size, mtimeMs, ctimeMs].join(':');
  } catch (error) {
    return codeOf(error);
  }
}
