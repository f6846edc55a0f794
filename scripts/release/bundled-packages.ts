// Lists the packages in a bundle from the bundler's metadata, independent of the installed packages.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface BundledPackage {
  /** Path in node_modules from the repository root; may be nested in another package. */
  folder: string;
  name: string;
  version: string;
  /** An SPDX identifier or expression. */
  license: string;
  /** Directories of the bundled packages that it imports, sorted. */
  imports: string[];
}

interface BundleRecord {
  inputs: Record<string, { imports: { path: string }[] }>;
  outputs: Record<
    string,
    {
      inputs: Record<string, { bytesInOutput: number }>;
      imports?: { path: string; external?: boolean }[];
    }
  >;
}

/** The package directory in the last node_modules/ of a path; undefined for the project's own files. */
export function packageFolderOf(path: string): string | undefined {
  return /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0];
}

/**
 * The packages with at least one byte in one of the bundles or in a bundle that they load, start or contain, sorted by directory.
 * Throws if a bundle is not built or a package declares no licence.
 */
export function bundledPackages(root: string, parts: readonly string[]): BundledPackage[] {
  const importsOf = new Map<string, Set<string>>();
  const all = new Set(parts);
  // A set also visits what is added meanwhile.
  for (const part of all) {
    const record = readRecord(root, part);
    collect(record, importsOf);
    for (const bundles of [loadedBundles, containedBundles, startedBundles])
      for (const other of bundles(record)) all.add(other);
  }
  return [...importsOf]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([folder, imports]) => ({ folder, ...aboutPackage(root, folder), imports: [...imports].sort() }));
}

/** Bundles that a bundle loads when it needs them (scripts/build.mjs). */
function loadedBundles({ outputs }: BundleRecord): string[] {
  return Object.values(outputs)
    .flatMap(({ imports = [] }) => imports)
    .filter(({ external }) => external === true)
    .flatMap(({ path }) => /^\.\.\/([\w-]+)\/main\.js$/.exec(path)?.[1] ?? []);
}

/** Bundles whose files a bundle contains as text (scripts/build-dashboard.mjs). */
function containedBundles({ inputs }: BundleRecord): string[] {
  return Object.keys(inputs).flatMap((path) => /^dist\/([\w-]+)\//.exec(path)?.[1] ?? []);
}

/** Bundles that a bundle starts as a thread: the script of a thread has the name of the file that starts it. */
function startedBundles({ inputs }: BundleRecord): string[] {
  return Object.keys(inputs).flatMap((path) => /^runtime\/([\w-]+-worker)\.ts$/.exec(path)?.[1] ?? []);
}

function readRecord(root: string, part: string): BundleRecord {
  return JSON.parse(readFileSync(join(root, `dist/${part}/meta.json`), 'utf8')) as BundleRecord;
}

function collect(record: BundleRecord, importsOf: Map<string, Set<string>>): void {
  const used = new Set(
    Object.values(record.outputs).flatMap(({ inputs }) =>
      Object.keys(inputs).filter((path) => (inputs[path]?.bytesInOutput ?? 0) > 0),
    ),
  );
  for (const path of used) {
    const folder = packageFolderOf(path);
    if (folder === undefined) continue;
    const imports = importsOf.get(folder) ?? new Set();
    importsOf.set(folder, imports);
    for (const { path: imported } of record.inputs[path]?.imports ?? []) {
      const other = used.has(imported) ? packageFolderOf(imported) : undefined;
      if (other !== undefined && other !== folder) imports.add(other);
    }
  }
}

function aboutPackage(root: string, folder: string): Pick<BundledPackage, 'name' | 'version' | 'license'> {
  const about = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Omit<
    BundledPackage,
    'license'
  > & { license?: string };
  const { name, version, license } = about;
  if (license === undefined) throw new Error(`${name} declares no licence`);
  return { name, version, license };
}
