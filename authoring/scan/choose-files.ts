import type { SourceFile } from './source.ts';
import { isTest, sourceOf } from './source.ts';
import { importsOf } from './imports.ts';
import { IMPORT_ROWS } from './rows/imports.ts';

/** Limits of one scan. */
export const MAX_FILES = 50;
export const MAX_BYTES = 200_000;

/** A file of code that was found. */
export interface Candidate {
  /** Relative to the scanned directory, with `/`. */
  path: string;
  bytes: number;
  /** Number of imports that a pattern matches, in the part of the file that was read; 0 if the files need no order. */
  imports: number;
}

/** The files that fit into the limits, and the paths of those that do not. */
export interface Choice {
  chosen: string[];
  leftOut: string[];
}

export const exceedsLimits = (candidates: readonly Pick<Candidate, 'bytes'>[]): boolean =>
  candidates.length > MAX_FILES || candidates.reduce((sum, { bytes }) => sum + bytes, 0) > MAX_BYTES;

/**
 * Chooses files by relevance: those that import a known library first, tests and generated files last, then files near the top of
 * the directory. The same directory always gives the same files. A file that does not fit is left out, and smaller ones follow.
 */
export function chooseFiles(candidates: readonly Candidate[]): Choice {
  const ranked = candidates.toSorted(
    (a, b) =>
      lastly(a.path) - lastly(b.path) ||
      b.imports - a.imports ||
      depthOf(a.path) - depthOf(b.path) ||
      byPath(a.path, b.path),
  );
  const chosen: string[] = [];
  const leftOut: string[] = [];
  let bytes = 0;
  for (const candidate of ranked) {
    const fits = chosen.length < MAX_FILES && bytes + candidate.bytes <= MAX_BYTES;
    (fits ? chosen : leftOut).push(candidate.path);
    if (fits) bytes += candidate.bytes;
  }
  return { chosen: chosen.sort(byPath), leftOut: leftOut.sort(byPath) };
}

/** Order of code units, which does not depend on the language of the machine. */
export const byPath = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

const lastly = (path: string): number =>
  isTest(path) || /\.min\.[cm]?js$|\.d\.ts$|(?:^|\/)(?:build|out|vendor|coverage|migrations)\//.test(path)
    ? 1
    : 0;

const depthOf = (path: string): number => path.split('/').length;

/** Number of known libraries that the beginning of a file imports. */
export function knownImports(file: SourceFile): number {
  const modules = [...importsOf(sourceOf(file)).modules.keys()];
  return IMPORT_ROWS.filter(({ name }) => modules.some((module) => name.test(module))).length;
}
