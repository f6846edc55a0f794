// One version in all places: a release of anything else would name images or packages that are not there.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/**
 * The version of package.json, when the lock file and the chart have it too. With a `tag`, that has to say it as well (`v`
 * before it), and the changelog has to have its section. Throws with every place that has another.
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
    'package-lock.json, its first package': lock.packages['']?.version,
    'Chart.yaml, version': chart.version,
    'Chart.yaml, appVersion': chart.appVersion,
    ...(tag === undefined ? {} : { 'the tag': tag }),
  };
  const wanted = (place: string) => (place === 'the tag' ? `v${version}` : version);
  const others = Object.entries(found).filter(([place, each]) => each !== wanted(place));
  if (others.length > 0) {
    const list = others.map(([place, each]) => `${place}: ${each}`).join('; ');
    throw new Error(`package.json has version ${version}, and others have another: ${list}`);
  }
  if (tag !== undefined && !read('CHANGELOG.md').includes(`\n## [${version}]`))
    throw new Error(`CHANGELOG.md has no section [${version}]`);
  return version;
}
