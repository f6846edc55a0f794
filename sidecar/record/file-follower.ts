import { createHash } from 'node:crypto';
import { open, readFile, stat, type FileHandle } from 'node:fs/promises';
import { chainOfUid } from '../../core/record/record-event.ts';
import { integer, matching, parseWith, text } from '../../core/shapes/field.ts';
import { object, type TypeOf } from '../../core/shapes/object.ts';
import { jsonOf } from '../../core/untrusted/fields.ts';
import { replaceFile } from '../../push/replace-file.ts';
import type { Clock } from '../../runtime/clock.ts';
import { describeError, type Logger } from '../../runtime/logger.ts';
import {
  Batch,
  MAX_BATCH_BYTES,
  noLoss,
  recordedLine,
  type LineSource,
  type RecordedLine,
} from './recorded-line.ts';

const LINE_END = 10;
/** More than the longest line. */
const FIRST_LINE_BYTES = 16 * 1024;
/** The position is stored with each batch, and without batches in this time. */
const STORE_EVERY_MS = 30_000;

const storedPosition = object('How far the files of a record were sent.', {
  file: matching('SHA-256 of the first line of the file: rotation gives the file another name.', {
    pattern: /^[0-9a-f]{64}$/,
    wanted: '64 hexadecimal digits',
  }),
  offset: integer('Byte after the last line that was sent or left out.', { min: 0 }),
  last: text('`metadata.uid` of that line; empty: it has none.', { max: 2048 }),
});
type Position = TypeOf<typeof storedPosition>;

export interface FileFollowerOptions {
  /** The newest file. Rotation renames it to `<path>.1`, that one to `<path>.2`, and removes the oldest. */
  path: string;
  /** The file that stores the position. */
  positionPath: string;
  accepts: (line: string) => boolean;
  clock: Pick<Clock, 'monotonicMs'>;
  logger: Pick<Logger, 'warn'>;
}

interface FoundFile {
  path: string;
  inode: bigint;
}

/** A file that is open keeps its inode, so no other file is mistaken for it. */
interface OpenFile {
  handle: FileHandle;
  inode: bigint;
  /** null: not known yet. */
  digest: string | null;
  offset: number;
}

/** Reads the files of a record while another part writes and rotates them. A batch may begin in one file and end in a newer one. */
export class FileFollower implements LineSource {
  readonly lost = noLoss();
  readonly #options: FileFollowerOptions;
  readonly #buffer = Buffer.allocUnsafe(MAX_BATCH_BYTES);
  #file: OpenFile | null = null;
  /** The last line that was read; null: none since the start. */
  #lastText: string | null = null;
  /** Where an earlier process stopped to read. */
  #position: Position | null = null;
  /** Lines were removed before they were read. The next line shows how many. */
  #isAfterLoss = false;
  /** The open file was not in the list. During a rotation a file may be missing for a moment. */
  #isUnlisted = false;
  #stored: string | null = null;
  #storedAtMs = -Infinity;
  #hasFailedToStore = false;

  constructor(options: FileFollowerOptions) {
    this.#options = options;
  }

  async next(): Promise<readonly RecordedLine[]> {
    const batch = new Batch();
    do this.#file ??= await this.#openFirst();
    while (
      this.#file !== null &&
      !(await this.#read(this.#file, batch)) &&
      (await this.#advance(this.#file))
    );
    const isDue = this.#options.clock.monotonicMs() - this.#storedAtMs >= STORE_EVERY_MS;
    if (batch.lines.length === 0 && isDue) await this.done();
    return batch.lines;
  }

  async done(): Promise<void> {
    const { clock, logger, positionPath: path } = this.#options;
    this.#storedAtMs = clock.monotonicMs();
    const position = await this.#positionText();
    if (position === null || position === this.#stored) return;
    try {
      await replaceFile(path, position, 0o600);
      this.#stored = position;
      this.#hasFailedToStore = false;
    } catch (error) {
      const fields = { path, error: describeError(error) };
      if (!this.#hasFailedToStore)
        logger.warn('failed to store position in audit log, a restart sends events again', fields);
      this.#hasFailedToStore = true;
    }
  }

  async close(): Promise<void> {
    await this.#file?.handle.close();
    this.#file = null;
  }

  /** Adds lines to the batch. true: it is full; false: the file has no further line. */
  async #read(file: OpenFile, batch: Batch): Promise<boolean> {
    const buffer = this.#buffer;
    for (;;) {
      const { bytesRead } = await file.handle.read(buffer, 0, buffer.length, file.offset);
      const bytes = buffer.subarray(0, bytesRead);
      let start = 0;
      for (let end = bytes.indexOf(LINE_END); end >= 0; end = bytes.indexOf(LINE_END, start)) {
        if (!this.#consume(bytes.toString('utf8', start, end), end + 1 - start, batch)) {
          file.offset += start;
          return true;
        }
        start = end + 1;
      }
      file.offset += start;
      if (start > 0) continue;
      if (bytesRead < buffer.length) return false;
      // No line of the writer is that long. The rest of it is read as a line of its own.
      this.lost.invalid += 1;
      file.offset += bytesRead;
    }
  }

  /** false: the line does not fit into the batch. */
  #consume(text: string, bytes: number, batch: Batch): boolean {
    const isWanted = text !== '' && this.#options.accepts(text);
    const line = isWanted || this.#isAfterLoss ? recordedLine(text) : null;
    if (isWanted && line !== null && !batch.add(line, bytes)) return false;
    if (isWanted && line === null) this.lost.invalid += 1;
    if (this.#isAfterLoss && line !== null) {
      this.lost.rotated += linesBetween(this.#lastUid(), line.event.metadata.uid);
      this.#isAfterLoss = false;
    }
    this.#lastText = text;
    return true;
  }

  /** Opens the file in which an earlier process stopped to read, else the oldest one. null: there is no file yet. */
  async #openFirst(): Promise<OpenFile | null> {
    const files = await this.#files();
    if (this.#stored === null) this.#position = await this.#storedPosition();
    const position = this.#position;
    for (const found of position === null ? [] : files) {
      const file = await openFile(found);
      // Renamed meanwhile: the next call lists the files again.
      if (file === null) return null;
      if (file.digest === position?.file) return Object.assign(file, { offset: position.offset });
      await file.handle.close();
    }
    this.#isAfterLoss = position !== null;
    const oldest = files.at(-1);
    return oldest === undefined ? null : openFile(oldest);
  }

  /** At the end of a file: opens the next newer one. false: there is none, or the list must be read again. */
  async #advance(file: OpenFile): Promise<boolean> {
    const files = await this.#files();
    const index = files.findIndex(({ inode }) => inode === file.inode);
    if (index === 0) return this.#restartIfCut(file);
    const isRemoved = index < 0 && this.#isUnlisted;
    this.#isUnlisted = index < 0;
    const wanted = isRemoved ? files.at(-1) : files[index - 1];
    if (wanted === undefined) return false;
    const next = await openFile(wanted);
    if (next === null) return false;
    // What follows the last line end of a file that is not written any more is not a line.
    if ((await file.handle.stat()).size > file.offset) this.lost.invalid += 1;
    await file.handle.close();
    this.#file = next;
    if (isRemoved) this.#isAfterLoss = true;
    this.#isUnlisted = false;
    return true;
  }

  /** A file that is shorter than what was read of it has other lines now. */
  async #restartIfCut(file: OpenFile): Promise<boolean> {
    this.#isUnlisted = false;
    if ((await file.handle.stat()).size >= file.offset) return false;
    Object.assign(file, { offset: 0, digest: null });
    this.#isAfterLoss = true;
    return true;
  }

  /** The newest first. */
  async #files(): Promise<FoundFile[]> {
    const files: FoundFile[] = [];
    for (let index = 0; ; index += 1) {
      const path = index === 0 ? this.#options.path : `${this.#options.path}.${index}`;
      const found = await stat(path, { bigint: true }).catch(nullIfMissing);
      if (found !== null) files.push({ path, inode: found.ino });
      // The newest file is missing for a moment when it is renamed.
      else if (index > 0) return files;
    }
  }

  async #storedPosition(): Promise<Position | null> {
    const { positionPath: path, logger } = this.#options;
    const content = await readFile(path, 'utf8').catch(nullIfMissing);
    this.#stored = content ?? '';
    if (content === null) return null;
    const parsed = parseWith(storedPosition, jsonOf(content));
    if (parsed.ok) return parsed.value;
    logger.warn('position in audit log is not valid, events are sent again', { path });
    return null;
  }

  async #positionText(): Promise<string | null> {
    const file = this.#file;
    if (file === null) return null;
    file.digest ??= await digestOf(file.handle);
    if (file.digest === null) return null;
    const position: Position = { file: file.digest, offset: file.offset, last: this.#lastUid() };
    return JSON.stringify(position);
  }

  #lastUid(): string {
    return this.#lastText === null
      ? (this.#position?.last ?? '')
      : (recordedLine(this.#lastText)?.event.metadata.uid ?? '');
  }
}

/** null: the file was renamed or removed meanwhile. */
async function openFile({ path, inode }: FoundFile): Promise<OpenFile | null> {
  const handle = await open(path, 'r').catch(nullIfMissing);
  if (handle === null) return null;
  if ((await handle.stat({ bigint: true })).ino === inode)
    return { handle, inode, offset: 0, digest: await digestOf(handle) };
  await handle.close();
  return null;
}

/** null: the file has no complete line. */
async function digestOf(handle: FileHandle): Promise<string | null> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(FIRST_LINE_BYTES), 0, FIRST_LINE_BYTES, 0);
  const end = buffer.subarray(0, bytesRead).indexOf(LINE_END);
  return end < 0 ? null : createHash('sha256').update(buffer.subarray(0, end)).digest('hex');
}

/** Lines that are missing between two lines. Of other chains than that of the second line, none is known. */
function linesBetween(before: string, after: string): number {
  const isSameChain = chainOfUid(before) === chainOfUid(after);
  return Math.max(0, sequenceOf(after) - (isSameChain ? sequenceOf(before) : 0) - 1);
}

const sequenceOf = (uid: string): number => Number(uid.slice(uid.lastIndexOf(':') + 1)) || 0;

function nullIfMissing(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
  throw error;
}
