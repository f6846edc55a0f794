import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import type { CliContext } from './context.ts';
import { readCauseOf } from './file-failure.ts';
import { printable } from './rendered.ts';

/** One input text of a command. */
export interface SourceFile {
  /** Path as typed, or found in a typed directory; `-` is standard input. */
  file: string;
  /** Relative path in an output directory. */
  place: string;
  text: string;
}

export type SourcesResult =
  /** `isOne`: the input is a single file, so the output may be a file too. */
  { ok: true; sources: SourceFile[]; isOne: boolean } | { ok: false; problems: string[] };

/** Reads files, directories (`.yaml`, `.yml` and `.json`, except hidden files) and standard input. Returns all problems. */
export async function readSources(paths: readonly string[], context: CliContext): Promise<SourcesResult> {
  const sources: SourceFile[] = [];
  const problems: string[] = [];
  for (const path of paths) {
    try {
      const files = await filesOf(path, context);
      if (files.length === 0) problems.push(`${printable(path)}: contains no .yaml, .yml or .json file`);
      for (const file of files) {
        const bytes =
          file === '-'
            ? await (context.stdin?.() ?? missingInput())
            : await readFile(resolve(context.cwd, file));
        sources.push({ file, place: placeOf(path, file), text: decodeText(bytes) });
      }
    } catch (error) {
      problems.push(`${printable(path)}: ${readCauseOf(error)}`);
    }
  }
  if (problems.length > 0) return { ok: false, problems };
  const isOne = sources.length === 1 && sources[0]?.file === paths[0];
  return { ok: true, sources, isOne };
}

function missingInput(): never {
  throw new Error('no standard input');
}

async function filesOf(path: string, { cwd }: CliContext): Promise<string[]> {
  if (path === '-' || !(await stat(resolve(cwd, path))).isDirectory()) return [path];
  const entries = await readdir(resolve(cwd, path), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory() && /\.(?:ya?ml|json)$/.test(entry.name))
    .map((entry) => relative(resolve(cwd, path), join(entry.parentPath, entry.name)))
    .filter((file) => !file.split('/').some((part) => part.startsWith('.')))
    .sort()
    .map((file) => join(path, file));
}

function placeOf(path: string, file: string): string {
  if (file === '-') return 'stdin.yaml';
  return path === file ? basename(file) : relative(path, file);
}

/** Decodes UTF-8; throws a message for people if the bytes are not UTF-8. */
export function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Error('is not valid UTF-8 text');
  }
}
