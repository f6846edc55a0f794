// Checks that all places have the same version. Otherwise a release would refer to images or packages that do not exist.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/**
 * The version of package.json. Throws if the lock file or the chart has another version, and lists all of them. With a `tag`,
 * the tag must be this version with the prefix `v`, and the changelog must have a section for it.
 */
export function releaseVersion(root: string, tag?: string): string {
  const read = (path: string) => readFileSync(join(root, path), 'utf8');
  const { version } = JSON.parse(read('package.json')) as { version: string };
  const lock = JSON.parse(read('package-lock.json')) as {
    version: string;
    packages: Record<string, { version: string }>;
  };
  const chart = parse(read('helm/agent-compliance/Chart.yaml')) as { version: string; appVersion: string };
  const found: Record<string, string | undefined> = {
    'package-lock.json': lock.version,
    'package-lock.json, root package': lock.packages['']?.version,
    'Chart.yaml, version': chart.version,
    'Chart.yaml, appVersion': chart.appVersion,
    ...(tag === undefined ? {} : { 'the tag': tag }),
  };
  const wanted = (place: string) => (place === 'the tag' ? `v${version}` : version);
  const differing = Object.entries(found).filter(([place, each]) => each !== wanted(place));
  if (differing.length > 0) {
    const list = differing.map(([place, each]) => `${place}: ${each}`).join('; ');
    throw new Error(`package.json has version ${version}, but other places differ: ${list}`);
  }
  if (tag !== undefined && !read('CHANGELOG.md').includes(`\n## [${version}]`))
    throw new Error(`CHANGELOG.md has no section [${version}]`);
  return version;
}
