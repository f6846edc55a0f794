import { existsSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { MANIFEST_SCHEMA } from '../core/manifest/schema.ts';
import { createFile } from './create-file.ts';
import { json } from './rendered.ts';

/** The schema in an installed package; package.json exports the same file. */
const PACKAGED = join('node_modules', 'agent-compliance', 'dist', 'schema', 'agent.schema.json');
const SCHEMA_FILE = 'agent.schema.json';

/** The schema of the package that a parent directory has installed, relative to `directory`; null: there is none. */
function installedSchema(directory: string): string | null {
  for (let parent = directory; ; parent = dirname(parent)) {
    const path = join(parent, PACKAGED);
    if (existsSync(path)) return relative(directory, path).split(sep).join('/');
    if (dirname(parent) === parent) return null;
  }
}

/**
 * The first line of a manifest in `directory`: YAML editors find the schema by this line. The path is relative, so that it is
 * valid in every checkout. `file`: a file that must be written for it; null: the package is installed there.
 */
export function modelineFor(directory: string): { line: string; file: string | null } {
  const installed = installedSchema(directory);
  const line = `# yaml-language-server: $schema=${installed ?? SCHEMA_FILE}\n`;
  return { line, file: installed === null ? join(directory, SCHEMA_FILE) : null };
}

/** Writes the schema for editors; false: the file exists, and is kept. Rejects with the system's error. */
export async function writeEditorSchema(file: string): Promise<boolean> {
  try {
    await createFile(file, json(MANIFEST_SCHEMA));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
