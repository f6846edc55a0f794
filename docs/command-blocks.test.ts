// Every block of shell commands in the pages is run by a test, or is listed here with the reason why it is not.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';

const ROOT = dirname(import.meta.dirname);
const PAGES = globSync(['*.md', '{docs,examples,reporter,bench,e2e}/**/*.md'], { cwd: ROOT })
  .filter((page) => !page.includes('node_modules'))
  .sort();

const IN_CLUSTER = 'e2e/install.test.ts';
const NAMES_OF_THE_READER = 'names a registry, a host, a key or a workload of the reader';
const NEEDS_A_RELEASE = 'needs a published release';
const FOR_AN_INCIDENT = 'shows the state of a cluster with an incident';

/** By page, and for a part of a page by heading: the test that runs these commands. README.md and laptop.md are run verbatim. */
const RUN: Readonly<Record<string, string>> = {
  'README.md': IN_CLUSTER,
  'docs/guide/laptop.md': 'docs/laptop.integration.test.ts',
  'docs/guide/agent.md#The reporter': 'reporter/package.integration.test.ts',
  'docs/package.md': 'reporter/package.integration.test.ts',
  'docs/guide/kubernetes.md#Inject without the webhook': 'cli/commands/inject.test.ts',
  'docs/guide/upgrade.md': 'e2e/upgrade.test.ts',
  'docs/sidecar.md#Follow the audit ring': 'sidecar/routes/audit-stream-route.test.ts',
  'docs/release.md#Create a release': 'scripts/release.integration.test.ts',
  'docs/guide/enforcement.md': 'core/policy/opa.integration.test.ts',
};

/** Why the blocks are not run verbatim. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'docs/guide/agent.md#Events': 'needs the id of a request that was just sent',
  'docs/guide/alerts.md': FOR_AN_INCIDENT,
  'docs/guide/audit.md': NAMES_OF_THE_READER,
  'docs/guide/kubernetes.md': `${NAMES_OF_THE_READER}; ${IN_CLUSTER} runs the same steps`,
  'docs/guide/operations.md': NAMES_OF_THE_READER,
  'docs/guide/troubleshooting.md': FOR_AN_INCIDENT,
  'docs/observation.md': FOR_AN_INCIDENT,
  'docs/release.md': NEEDS_A_RELEASE,
  'e2e/cluster/README.md': 'the suites start their clusters by the same scripts',
  'e2e/fixtures/README.md': 'renews recorded files from an old version',
};

/** `page#heading` of every block marked `sh`. */
function blocks(): string[] {
  return PAGES.flatMap((page) => {
    const found: string[] = [];
    let [heading, isInBlock] = ['', false];
    for (const line of readFileSync(join(ROOT, page), 'utf8').split('\n')) {
      if (!isInBlock && line.startsWith('#')) heading = line.replace(/^#+ /, '');
      if (!/^\s*```/.test(line)) continue;
      if (!isInBlock && line.trim() === '```sh') found.push(`${page}#${heading}`);
      isInBlock = !isInBlock;
    }
    return found;
  });
}

const reasonFor = (block: string): string | undefined =>
  RUN[block] ?? NOT_RUN[block] ?? RUN[block.split('#')[0] ?? ''] ?? NOT_RUN[block.split('#')[0] ?? ''];

test('every block of commands is run by a test, or has a reason', () => {
  expect(blocks().filter((block) => reasonFor(block) === undefined)).toEqual([]);
});

test('no entry is left over, and every test is there', () => {
  const pages = new Set(blocks().flatMap((block) => [block, block.split('#')[0]]));
  expect([...Object.keys(RUN), ...Object.keys(NOT_RUN)].filter((entry) => !pages.has(entry))).toEqual([]);
  expect(Object.values(RUN).filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
});
