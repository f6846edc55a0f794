import { constants, type Dirent } from 'node:fs';
import { lstat, open, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import {
  byPath,
  chooseFiles,
  exceedsLimits,
  knownImports,
  MAX_BYTES,
  MAX_FILES,
  type Candidate,
} from '../../authoring/scan/choose-files.ts';
import { isSecretPath } from '../../authoring/scan/secrets.ts';
import type { SourceFile } from '../../authoring/scan/source.ts';
import { readCauseOf } from '../file-failure.ts';
import { decodeText } from '../source-files.ts';

/** The code of a directory, and what was not read. */
export interface Directory {
  files: SourceFile[];
  /** Paths of files that are not code. They are not read. */
  others: string[];
  /** Paths with the reason why they were not read. */
  skipped: { path: string; reason: string }[];
}

const CODE = /\.(?:py|ts|js|mjs|cjs)$/;
/** Directories of packages, build results and version control. */
const SKIPPED = new Set(['node_modules', '.git', 'dist', '.venv', '__pycache__', 'site-packages']);
/** Entries of directories, so that a scan of a file system ends. */
const MAX_ENTRIES = 100_000;
/** Files whose beginning is read to find the relevant ones. */
const MAX_HEADS = 1_000;
const HEAD_BYTES = 4_096;

/**
 * Reads the code below a directory within the limits of a scan. Symbolic links are not followed, and files whose names look like
 * secrets are not opened. Rejects if the directory itself cannot be read.
 */
export async function readDirectory(root: string): Promise<Directory> {
  const walk = await walkDirectory(root);
  const paths = walk.code.sort((a, b) => byPath(a.path, b.path));
  if (exceedsLimits(paths)) await addImports(root, paths);
  const { chosen, leftOut } = chooseFiles(paths);
  const files: SourceFile[] = [];
  const reason = `the limit of ${MAX_FILES} files and ${MAX_BYTES / 1000} KB is reached`;
  const skipped = [...walk.skipped, ...leftOut.map((path) => ({ path, reason }))];
  let rest = MAX_BYTES;
  for (const path of chosen) {
    try {
      // The file may have grown since its size was read.
      const bytes = await readStart(join(root, path), rest + 1);
      if (bytes.length > rest) skipped.push({ path, reason });
      else files.push({ path, text: decodeText(bytes) });
      rest -= bytes.length > rest ? 0 : bytes.length;
    } catch (error) {
      skipped.push({ path, reason: readCauseOf(error) });
    }
  }
  return { files, others: walk.others.sort(byPath), skipped };
}

interface Walk {
  code: Candidate[];
  others: string[];
  skipped: Directory['skipped'];
}

async function walkDirectory(root: string): Promise<Walk> {
  const walk: Walk = { code: [], others: [], skipped: [] };
  const pending = [''];
  let entries = 0;
  for (let path = pending.shift(); path !== undefined; path = pending.shift()) {
    const names = await namesIn(root, path, walk);
    // A virtual environment under another name than .venv.
    if (path !== '' && names.some(({ name }) => name === 'pyvenv.cfg')) continue;
    for (const entry of names.sort((a, b) => byPath(a.name, b.name))) {
      entries += 1;
      if (entries > MAX_ENTRIES) {
        walk.skipped.push({
          path: path || '.',
          reason: `the directory has more than ${MAX_ENTRIES} entries`,
        });
        return walk;
      }
      const own = path === '' ? entry.name : `${path}/${entry.name}`;
      if (isSecretPath(entry.name)) walk.skipped.push({ path: own, reason: 'its name looks like secrets' });
      else if (entry.isSymbolicLink())
        walk.skipped.push({ path: own, reason: 'symbolic links are not followed' });
      else if (entry.isDirectory() && !SKIPPED.has(entry.name)) pending.push(own);
      else if (entry.isFile()) await addFile(root, own, walk);
    }
  }
  return walk;
}

async function namesIn(root: string, path: string, walk: Walk): Promise<Dirent[]> {
  try {
    const directory = await opendir(join(root, path));
    const names: Dirent[] = [];
    for await (const entry of directory) if (names.push(entry) > MAX_ENTRIES) break;
    return names;
  } catch (error) {
    if (path === '') throw error;
    walk.skipped.push({ path, reason: readCauseOf(error) });
    return [];
  }
}

async function addFile(root: string, path: string, walk: Walk): Promise<void> {
  if (!CODE.test(path)) {
    walk.others.push(path);
    return;
  }
  try {
    const { size } = await lstat(join(root, path));
    walk.code.push({ path, bytes: size, imports: 0 });
  } catch (error) {
    walk.skipped.push({ path, reason: readCauseOf(error) });
  }
}

/** The first bytes of a file. */
async function readStart(path: string, bytes: number): Promise<Uint8Array> {
  // The flags fail for a symbolic link, also if it replaced a file since its directory was read.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  return await buffer(file.createReadStream({ end: bytes - 1 }));
}

/** Counts the known imports of each file, as far as its beginning shows them. */
async function addImports(root: string, candidates: Candidate[]): Promise<void> {
  for (const candidate of candidates.slice(0, MAX_HEADS)) {
    const head = await readStart(join(root, candidate.path), HEAD_BYTES).catch(() => new Uint8Array());
    // The last character may be cut.
    candidate.imports = knownImports({ path: candidate.path, text: new TextDecoder().decode(head) });
  }
}
