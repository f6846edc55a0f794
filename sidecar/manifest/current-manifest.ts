import type { Manifest } from '../../core/manifest/manifest.ts';
import { manifestWarnings } from '../../core/manifest/manifest-warnings.ts';
import type { Logger } from '../../runtime/logger.ts';
import {
  loadManifestFile,
  describeRefusal,
  watchManifestFile,
  type LoadedManifest,
} from '../../runtime/manifest-file.ts';

type GoodManifest = LoadedManifest & { ok: true };

/** The manifest in force: the last good one, and why the file is not it, where it is not. */
export class CurrentManifest {
  readonly #logger: Logger;
  readonly #listeners: (() => void)[] = [];
  #loaded: GoodManifest;
  #invalid: string | null = null;

  private constructor(loaded: GoodManifest, logger: Logger) {
    this.#loaded = loaded;
    this.#logger = logger;
  }

  /** Reads the file and follows it until `signal` aborts. Throws when it is not valid now; every problem is logged. */
  static async load(path: string, logger: Logger, signal: AbortSignal): Promise<CurrentManifest> {
    const loaded = await loadManifestFile(path);
    if (!loaded.ok) {
      for (const line of describeRefusal(loaded)) logger.error(line);
      throw new Error(`MANIFEST_PATH ${path} is no valid manifest: ${countOf(loaded.problems)}`);
    }
    const current = new CurrentManifest(loaded, logger);
    current.#warn();
    watchManifestFile(path, { current: loaded, onChange: (changed) => current.#take(changed), signal });
    return current;
  }

  get manifest(): Manifest {
    return this.#loaded.manifest;
  }

  /** SHA-256 of the file that is in force, hex. */
  get hash(): string {
    return this.#loaded.hash;
  }

  /** Why the file on disk is not what is in force; null when it is. */
  get invalid(): string | null {
    return this.#invalid;
  }

  /** Called after each change of the file, good or bad. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** What is valid and cannot be checked as it is declared. */
  #warn(): void {
    for (const { path, message } of manifestWarnings(this.manifest))
      this.#logger.warn('manifest warning', { path, problem: message });
  }

  #take(loaded: LoadedManifest): void {
    if (loaded.ok) {
      this.#loaded = loaded;
      this.#invalid = null;
      this.#logger.info('takes the changed manifest', { file: loaded.file, hash: loaded.hash });
      this.#warn();
    } else {
      const lines = describeRefusal(loaded);
      const more = lines.length > 1 ? ` (and ${lines.length - 1} more)` : '';
      this.#invalid = `${lines[0] ?? ''}${more}`;
      for (const problem of lines) this.#logger.warn('keeps the last good manifest', { problem });
    }
    for (const listener of this.#listeners) listener();
  }
}

function countOf(problems: readonly unknown[]): string {
  return problems.length === 1 ? 'one problem' : `${problems.length} problems`;
}
