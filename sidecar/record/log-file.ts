import { constants } from 'node:fs';
import { open, rename, type FileHandle } from 'node:fs/promises';
import { describeError } from '../../core/untrusted/describe-error.ts';
import { StartProblem } from '../../runtime/start-problem.ts';
import type { Destination } from './destination.ts';

export interface LogFileOptions {
  path: string;
  /** Size at which the file is renamed. */
  maxBytes: number;
  /** Number of renamed files that are kept. */
  files: number;
}

/** More than two lines. */
const TAIL_BYTES = 32_768;

// Opening a FIFO without a reader would block a thread; with O_NONBLOCK it fails.
const FLAGS = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NONBLOCK;

/** A regular file to which lines are appended, and which is renamed at a size. */
export class LogFile implements Destination {
  readonly #options: LogFileOptions;
  #file: FileHandle | null = null;
  #size = 0;

  constructor(options: LogFileOptions) {
    this.#options = options;
  }

  /**
   * Opens the file and returns its last complete line, or that of the newest renamed file; null: there is none. A path that is not a regular file is a StartProblem; other errors may pass.
   */
  async open(): Promise<string | null> {
    const { tail } = await this.#opened();
    return lastLine(tail) ?? (this.#size === 0 ? await this.#lastOfRenamed() : null);
  }

  async write(bytes: Buffer, startsLine: boolean): Promise<number> {
    if (startsLine && this.#size > 0 && this.#size + bytes.length > this.#options.maxBytes)
      await this.#rotate();
    const file = this.#file ?? (await this.#opened()).file;
    const { bytesWritten } = await file.write(bytes);
    this.#size += bytesWritten;
    return bytesWritten;
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    await file?.close();
  }

  /** Also ends an incomplete last line, which an earlier process wrote. */
  async #opened(): Promise<{ file: FileHandle; tail: string }> {
    const { path } = this.#options;
    const file = await open(path, FLAGS, 0o640).catch((error: unknown) => {
      // ENXIO: a FIFO without a reader. EISDIR: a directory.
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENXIO' || code === 'EISDIR') throw notRegular(path);
      throw error;
    });
    const found = await file.stat();
    if (!found.isFile()) {
      await file.close();
      throw notRegular(path);
    }
    const tail = await tailOf(file, found.size);
    this.#file = file;
    this.#size = found.size;
    if (tail !== '' && !tail.endsWith('\n')) this.#size += (await file.write('\n')).bytesWritten;
    return { file, tail };
  }

  /** `.n-1` becomes `.n`, the file becomes `.1`. The oldest file is replaced. */
  async #rotate(): Promise<void> {
    const { path, files } = this.#options;
    await this.close();
    for (let number = files; number > 1; number--)
      await renamed(`${path}.${number - 1}`, `${path}.${number}`);
    await renamed(path, `${path}.1`);
    await this.#opened();
  }

  async #lastOfRenamed(): Promise<string | null> {
    const file = await open(`${this.#options.path}.1`, 'r').catch(() => null);
    if (file === null) return null;
    try {
      const { size } = await file.stat();
      return lastLine(await tailOf(file, size));
    } finally {
      await file.close();
    }
  }
}

const notRegular = (path: string): StartProblem =>
  new StartProblem('audit log is not a regular file', {
    exitCode: 1,
    explanation: `AUDIT_LOG_PATH ${path} is not a regular file: use AUDIT_LOG=stdout, or the path of a file`,
  });

async function tailOf(file: FileHandle, size: number): Promise<string> {
  const length = Math.min(size, TAIL_BYTES);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
  return buffer.toString('utf8', 0, bytesRead);
}

/** The last complete line of the end of a file. */
function lastLine(tail: string): string | null {
  // After the last newline is nothing, or the incomplete line.
  const line = tail.split('\n').at(-2);
  return line === undefined || line === '' ? null : line;
}

async function renamed(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      throw new Error(`failed to rename ${from}: ${describeError(error)}`, { cause: error });
  }
}
