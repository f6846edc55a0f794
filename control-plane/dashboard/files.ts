import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '../../dist/dashboard');

/**
 * The built files of the dashboard as text, by name; null: not built. This module is for a process that runs from source. In the
 * bundle, scripts/build-dashboard.mjs replaces it by a module that contains the files.
 */
export function dashboardFiles(): ReadonlyMap<string, string> | null {
  if (!existsSync(join(FOLDER, 'index.html'))) return null;
  const names = readdirSync(FOLDER).filter((name) => /\.(?:html|js|css|svg)$/.test(name));
  return new Map(names.map((name) => [name, readFileSync(join(FOLDER, name), 'utf8')]));
}
