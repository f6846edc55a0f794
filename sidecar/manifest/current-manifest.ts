import type { Manifest } from '../../core/manifest/manifest.ts';
import { manifestWarnings } from '../../core/manifest/manifest-warnings.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { describeRefusal, watchManifestFile, type LoadedManifest } from '../../runtime/manifest-file.ts';
import type { SidecarConfig } from '../config.ts';
import { invalidManifest } from './invalid-manifest.ts';
import { loadPinned, pinProblem } from './pinned-manifest.ts';

export type ValidManifest = LoadedManifest & { ok: true };

export interface ManifestOptions {
  config: SidecarConfig;
  logger: Logger;
  clock: Clock;
  /** Aborts if the process is stopped while it starts. Default: never. */
  stopped: AbortSignal | undefined;
  /** Ends the watch. */
  signal: AbortSignal;
}

/** The manifest in force: the last valid version of the file, and why the current file is invalid, if so. */
export class CurrentManifest {
  /** Why the file on disk is not in force; null when it is in force. */
  invalid: string | null = null;
  /** Why a changed, valid manifest is not used; null: it is. Default: every valid manifest is used. */
  admit: (loaded: ValidManifest) => Promise<string | null> = () => Promise.resolve(null);
  readonly #config: SidecarConfig;
  readonly #logger: Logger;
  readonly #listeners: (() => void)[] = [];
  #loaded: ValidManifest;

  private constructor(loaded: ValidManifest, { config, logger }: ManifestOptions) {
    this.#loaded = loaded;
    this.#config = config;
    this.#logger = logger;
  }

  /** Loads the file and watches it until `signal` aborts. Throws when the file is invalid; every problem is logged. */
  static async load(options: ManifestOptions): Promise<CurrentManifest> {
    const { config, logger, signal } = options;
    const path = config.MANIFEST_PATH;
    const loaded = await loadPinned(options);
    if (!loaded.ok) {
      for (const line of describeRefusal(loaded)) logger.error(line);
      throw invalidManifest(path, loaded);
    }
    const current = new CurrentManifest(loaded, options);
    current.#warn();
    watchManifestFile(path, {
      current: loaded,
      onChange: (changed) => void current.#changed(changed),
      signal,
    });
    return current;
  }

  /** The file in force. */
  get loaded(): ValidManifest {
    return this.#loaded;
  }

  get manifest(): Manifest {
    return this.#loaded.manifest;
  }

  /** SHA-256 of the manifest file in force, hex. */
  get hash(): string {
    return this.#loaded.hash;
  }

  /** Called after each change of the file, valid or invalid. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Logs declarations that are valid but cannot be checked. */
  #warn(): void {
    for (const { path, message } of manifestWarnings(this.manifest))
      this.#logger.warn('manifest warning', { path, problem: message });
  }

  /** Number of changes of the file: a judgement of an older version has no effect. */
  #version = 0;

  /** A valid manifest that is not used. */
  #refused: ValidManifest | null = null;

  /** Asks again whether the manifest that is not used may be used: the rules may have changed. */
  retry(): void {
    if (this.#refused !== null) void this.#changed(this.#refused);
  }

  async #changed(loaded: LoadedManifest): Promise<void> {
    const version = ++this.#version;
    const refusal = loaded.ok ? (pinProblem(this.#config, loaded) ?? (await this.admit(loaded))) : null;
    if (version !== this.#version) return;
    const isRepeat = loaded === this.#refused && refusal === this.invalid;
    this.#refused = loaded.ok && refusal !== null ? loaded : null;
    if (!isRepeat) this.#apply(loaded, refusal);
  }

  #apply(loaded: LoadedManifest, refusal: string | null): void {
    if (loaded.ok && refusal !== null) {
      this.invalid = refusal;
      this.#logger.warn('manifest reload failed, keeping previous version', { problem: refusal });
    } else if (loaded.ok) {
      this.#loaded = loaded;
      this.invalid = null;
      this.#logger.info('manifest reloaded', { file: loaded.file, hash: loaded.hash });
      this.#warn();
    } else {
      const lines = describeRefusal(loaded);
      const more = lines.length > 1 ? ` (and ${lines.length - 1} more)` : '';
      this.invalid = `${lines[0] ?? ''}${more}`;
      for (const problem of lines)
        this.#logger.warn('manifest reload failed, keeping previous version', { problem });
    }
    for (const listener of this.#listeners) listener();
  }
}
