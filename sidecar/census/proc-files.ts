import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { TableName } from '../../core/census/socket-census.ts';

/** Bytes of a part of a table. The kernel returns at most one page per read. */
const BUFFER_BYTES = 64 * 1024;
const COUNTER_BYTES = 16 * 1024;
const NEWLINE = 0x0a;
/** A larger table is cut: 64 MiB are 400,000 connections. */
const MAX_TABLE_BYTES = 64 * 1024 * 1024;

/** Reads a part of a table and returns the number of bytes that were used; the rest comes again. */
export type TakeRows = (table: TableName, buffer: Buffer, length: number) => number;

/** The bytes of `/proc/net/snmp`, at the beginning of a larger buffer. */
export interface Counters {
  readonly bytes: Buffer;
  length: number;
}

/** The files of the kernel that a census reads. */
export interface ProcNet extends Omit<ProcFiles, 'counters'> {
  /** `/proc/net/snmp` at the last reading. */
  readonly counters: Readonly<Counters>;
}

/**
 * The code of the thread. A text, because the product is one bundle per process. It reads the files of a message and returns
 * their bytes. A file that cannot be read is empty.
 */
const THREAD = `
const { parentPort } = require('node:worker_threads');
const fs = require('node:fs');
const part = Buffer.allocUnsafe(${BUFFER_BYTES});
function bytesOf(path) {
  const parts = [];
  let fd;
  try { fd = fs.openSync(path, 'r'); } catch { return new Uint8Array(); }
  try {
    for (let total = 0; total < ${MAX_TABLE_BYTES}; ) {
      let length = 0, read;
      do { length += read = fs.readSync(fd, part, length, part.length - length, null); } while (read > 0 && length < part.length);
      total += length;
      if (length > 0) parts.push(Buffer.from(part.subarray(0, length)));
      if (read === 0) break;
    }
  } finally { fs.closeSync(fd); }
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const each of parts) { whole.set(each, at); at += each.length; }
  return whole;
}
parentPort.on('message', (paths) => {
  const tables = paths.map(bytesOf);
  parentPort.postMessage(tables, tables.map(({ buffer }) => buffer));
});
`;

/** `root`: the process whose network namespace is read; tests pass a directory with files in the same format. */
export class ProcFiles implements ProcNet {
  counters: ComparedCounters = emptyCounters();
  readonly #root: string;
  /** The next reading goes here, so that it can be compared with the last one. */
  #spare: ComparedCounters = emptyCounters();
  readonly #buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  /** Stays open: the counters are read five times per second. */
  #countersFile: number | null = null;
  #thread: Worker | null = null;

  constructor(root = '/proc/self') {
    this.#root = root;
  }

  /** Reads the counters again. Returns whether a byte changed. Throws if the file cannot be read. */
  readCounters(): boolean {
    const last = this.counters;
    const next = this.#spare;
    next.length = this.#readCounters(next.bytes);
    if (areEqual(last, next)) return false;
    this.counters = next;
    this.#spare = last;
    return true;
  }

  #readCounters(bytes: Buffer): number {
    const file = (this.#countersFile ??= openSync(`${this.#root}/net/snmp`, 'r'));
    let length = 0;
    // The kernel returns the whole file at once; a fixture or another kernel may not.
    for (;;) {
      const read = readSync(file, bytes, length, COUNTER_BYTES - length, length);
      length += read;
      if (read === 0 || length === COUNTER_BYTES || bytes[length - 1] === NEWLINE) return length;
    }
  }

  /** Reads tables in this thread. A table that does not exist, for example without IPv6, has no rows. */
  readTables(tables: readonly TableName[], take: TakeRows): void {
    for (const table of tables) {
      const file = openOrNull(`${this.#root}/net/${table}`);
      if (file === null) continue;
      try {
        this.#readTable(file, table, take);
      } finally {
        closeSync(file);
      }
    }
  }

  #readTable(file: number, table: TableName, take: TakeRows): void {
    const buffer = this.#buffer;
    let length = 0;
    for (let total = 0; total < MAX_TABLE_BYTES;) {
      const read = readSync(file, buffer, length, buffer.length - length, null);
      total += read;
      length += read;
      if (read > 0 && length < buffer.length) continue;
      const used = take(table, buffer, length);
      buffer.copyWithin(0, used, length);
      length -= used;
      // A line that is longer than the buffer is not a line of a table.
      if (read === 0 || length === buffer.length) return;
    }
  }

  /** The same in another thread, for large tables. Rejects if the thread fails. */
  async readTablesInThread(tables: readonly TableName[], take: TakeRows): Promise<void> {
    const thread = (this.#thread ??= this.#startThread());
    const contents = await new Promise<Uint8Array[]>((resolve, reject) => {
      const fail = (): void => reject(new Error('the thread that reads the socket tables ended'));
      thread.once('message', (read: Uint8Array[]) => {
        thread.off('exit', fail);
        resolve(read);
      });
      thread.once('exit', fail);
      thread.postMessage(tables.map((table) => `${this.#root}/net/${table}`));
    });
    for (const [index, table] of tables.entries()) {
      const { buffer, byteLength } = contents[index] ?? new Uint8Array();
      await takeInTurns(Buffer.from(buffer, 0, byteLength), (part) => take(table, part, part.length));
    }
  }

  /** Inodes of the sockets of this process. */
  ownInodes(): ReadonlySet<number> {
    const inodes = new Set<number>();
    for (const name of readdirSync(`${this.#root}/fd`)) {
      const inode = /^socket:\[(\d+)\]$/.exec(linkOrEmpty(`${this.#root}/fd/${name}`))?.[1];
      if (inode !== undefined) inodes.add(Number(inode));
    }
    return inodes;
  }

  /** Names of the network interfaces. */
  interfaces(): string[] {
    const lines = readFileSync(`${this.#root}/net/dev`, 'utf8').split('\n');
    return lines.flatMap((line) => /^\s*([^:\s]+):/.exec(line)?.[1] ?? []);
  }

  /** Ends the thread, which is started again when it is needed. */
  endThread(): void {
    void this.#thread?.terminate();
    this.#thread = null;
  }

  close(): void {
    this.endThread();
    if (this.#countersFile !== null) closeSync(this.#countersFile);
    this.#countersFile = null;
  }

  #startThread(): Worker {
    const thread = new Worker(THREAD, {
      eval: true,
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2, stackSizeMb: 1 },
    });
    thread.unref();
    // An error also ends the thread: the census reports the exit.
    thread.on('error', () => undefined);
    thread.once('exit', () => {
      if (this.#thread === thread) this.#thread = null;
    });
    return thread;
  }
}

interface ComparedCounters extends Counters {
  /** The same memory as `bytes`. */
  readonly words: Int32Array;
}

function emptyCounters(): ComparedCounters {
  const words = new Int32Array(COUNTER_BYTES / 4);
  return { bytes: Buffer.from(words.buffer), words, length: 0 };
}

/** Loops, which V8 compiles within seconds: `Buffer.compare` checks its arguments first, and takes 5 to 10 µs more when caches are cold. */
function areEqual(one: ComparedCounters, other: ComparedCounters): boolean {
  const { length } = one;
  if (length !== other.length) return false;
  const words = length >> 2;
  for (let index = 0; index < words; index++) if (one.words[index] !== other.words[index]) return false;
  for (let index = 4 * words; index < length; index++)
    if (one.bytes[index] !== other.bytes[index]) return false;
  return true;
}

/** Lets other work run between two parts, so that a large table does not delay requests. */
async function takeInTurns(whole: Buffer, take: (part: Buffer) => number): Promise<void> {
  for (let at = 0; at < whole.length;) {
    const used = take(whole.subarray(at, at + BUFFER_BYTES));
    if (used === 0) return;
    at += used;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function openOrNull(path: string): number | null {
  try {
    return openSync(path, 'r');
  } catch {
    return null;
  }
}

/** A descriptor may be closed since the directory was read. */
function linkOrEmpty(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
