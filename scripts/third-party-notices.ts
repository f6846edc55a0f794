import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundledPackages, type BundledPackage } from './release/bundled-packages.ts';

/** What the licences of the packages in these bundles ask for: names, versions and texts, in the order of the names. */
export function noticesOf(root: string, parts: readonly string[]): string {
  const notices = bundledPackages(root, parts).map((each) => noticeOf(root, each));
  return `What is here contains the following software.\n\n${[...new Set(notices)].join('\n')}`;
}

function noticeOf(root: string, { folder, name, version, license }: BundledPackage): string {
  const texts = readdirSync(join(root, folder))
    .filter((file) => /^(licen[cs]e|notice|copying)/i.test(file))
    .map((file) => readFileSync(join(root, folder, file), 'utf8').trim());
  return [`## ${name} ${version} (${license})`, ...texts].join('\n\n') + '\n';
}
