import { lstat, readFile } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { labelFrom } from '../../authoring/import/names.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import type { ManifestOptions } from '../../authoring/scan/manifest-text.ts';
import { rejectionToWrite } from '../file-failure.ts';
import { decodeText } from '../source-files.ts';

/** Where a manifest is written. */
export interface ManifestTarget {
  /** Absolute path. */
  path: string;
  /** Path for messages. */
  shown: string;
  /** Added to the message about the written file. */
  note: string;
  options: ManifestOptions;
}

interface TargetFlags {
  dir: string;
  output?: string;
  update?: true;
  dryRun?: true;
}

export type TargetResult = { ok: true; target: ManifestTarget } | { ok: false; reason: string };

/**
 * Selects the file: `--output`, else `agent.yaml` in the directory, or `agent.yaml.new` if it exists and is not to be replaced.
 * A symbolic link in the directory is not written through: it may lead out of the directory.
 */
export async function manifestTarget(flags: TargetFlags, cwd: string): Promise<TargetResult> {
  const usual = join(resolve(cwd, flags.dir), 'agent.yaml');
  const before = await lstat(usual).catch(() => null);
  const isNew = flags.output === undefined && before !== null && flags.update === undefined;
  const file = isNew ? 'agent.yaml.new' : 'agent.yaml';
  const shown = flags.output ?? join(flags.dir, file);
  const path = resolve(cwd, shown);
  if (flags.output === undefined && (await lstat(path).catch(() => null))?.isSymbolicLink())
    return { ok: false, reason: `${shown} is a symbolic link; use --output to name the file to write` };
  const rejection = flags.dryRun ? null : await rejectionToWrite(path);
  if (rejection !== null) return { ok: false, reason: `cannot write ${shown}: ${rejection}` };
  const earlier = flags.output === undefined ? [] : [path];
  return {
    ok: true,
    target: {
      path,
      shown,
      note: isNew ? `, because ${join(flags.dir, 'agent.yaml')} exists; --update replaces it` : '',
      options: {
        name: labelFrom(basename(resolve(cwd, flags.dir))) ?? 'my-agent',
        metadata: await metadataIn(before?.isFile() ? [...earlier, usual] : earlier),
        relative: (name) => relativePath(dirname(path), join(dirname(usual), name)),
      },
    },
  };
}

/** Identity in the first of these files that is a valid manifest. */
async function metadataIn(paths: readonly string[]): Promise<Manifest['metadata'] | null> {
  for (const path of paths) {
    const text = await readFile(path)
      .then(decodeText)
      .catch(() => null);
    const parsed = text === null ? null : parseManifest(text);
    if (parsed?.ok) return parsed.manifest.metadata;
  }
  return null;
}

function relativePath(directory: string, path: string): string | null {
  const found = relative(directory, path).split(sep).join('/');
  return found.startsWith('../') || isAbsolute(found) ? null : found;
}
