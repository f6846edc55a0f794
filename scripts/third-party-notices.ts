import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundledPackages, type BundledPackage } from './release/bundled-packages.ts';

/** Licence notices of the packages in these bundles: names, versions and texts. */
export function noticesOf(root: string, parts: readonly string[]): string {
  const notices = bundledPackages(root, parts).map((each) => noticeOf(root, each));
  return `This distribution contains the following software.\n\n${[...new Set(notices)].join('\n')}`;
}

function noticeOf(root: string, { folder, name, version, license }: BundledPackage): string {
  const texts = readdirSync(join(root, folder))
    .filter((file) => /^(licen[cs]e|notice|copying)/i.test(file))
    .map((file) => readFileSync(join(root, folder, file), 'utf8').trim());
  return [`## ${name} ${version} (${license})`, ...texts].join('\n\n') + '\n';
}
