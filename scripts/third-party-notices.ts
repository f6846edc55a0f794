import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the licences of bundled packages ask for: their names, versions and texts, in the order of the names. */
export function noticesOf(root: string, inputs: readonly string[]): string {
  // The folder below the last node_modules/, with its scope.
  const folders = inputs.map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]);
  const packages = [...new Set(folders)].filter((folder) => folder !== undefined).sort();
  const notices = packages.map((folder) => noticeOf(join(root, folder)));
  return `The programs of this package contain the following software.\n\n${[...new Set(notices)].join('\n')}`;
}

function noticeOf(folder: string): string {
  const about = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    name: string;
    version: string;
    license?: string;
  };
  if (about.license === undefined) throw new Error(`${about.name} says no licence`);
  const texts = readdirSync(folder)
    .filter((name) => /^(licen[cs]e|notice|copying)/i.test(name))
    .map((name) => readFileSync(join(folder, name), 'utf8').trim());
  return [`## ${about.name} ${about.version} (${about.license})`, ...texts].join('\n\n') + '\n';
}
