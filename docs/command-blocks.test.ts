// Every block of shell commands in the pages is listed here with the test that runs it, or with the reason why none does.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { DOCUMENTED_PAGES } from '../testing/documented-commands.ts';
import { EXAMPLE_ROWS } from '../testing/frameworks/example-rows.ts';

const ROOT = dirname(import.meta.dirname);

const IN_CLUSTER = 'e2e/install.test.ts';
const NAMES_OF_THE_READER = 'names a registry, a host, a key or a workload of the reader';
const NEEDS_A_RELEASE = 'needs a published release';
const FOR_AN_INCIDENT = 'shows the state of a cluster with an incident';

/** By page: the test that runs the blocks verbatim. */
const RUN: Readonly<Record<string, string>> = {
  'README.md': IN_CLUSTER,
  'docs/guide/laptop.md': 'docs/laptop.integration.test.ts',
};

/** By page, and for a part of a page by heading: the test that runs the same commands or routes with its own arguments. */
const COVERED: Readonly<Record<string, string>> = {
  'docs/control-plane.md#History': 'control-plane/history.test.ts',
  'docs/guide/agent.md#Start from a generated project': 'testing/frameworks/generated.integration.test.ts',
  'docs/guide/agent.md#The reporter': 'reporter/package.integration.test.ts',
  'docs/guide/agent.md#Write the manifest from the code': 'cli/commands/scan.test.ts',
  'docs/guide/audit.md#Compare with the main branch': 'cli/commands/diff.test.ts',
  'docs/guide/audit.md#Evaluate an agent': 'cli/commands/evaluate.test.ts',
  'docs/guide/editors.md': 'cli/mcp.integration.test.ts',
  'docs/guide/enforcement.md': 'core/policy/opa.integration.test.ts',
  'docs/guide/kubernetes.md': IN_CLUSTER,
  'docs/guide/kubernetes.md#Deploy an agent with its own sidecar': 'e2e/generate.test.ts',
  'docs/guide/kubernetes.md#Inject without the webhook': 'cli/commands/inject.test.ts',
  'docs/guide/kubernetes.md#Send OpenTelemetry spans to the sidecar': 'e2e/injection.test.ts',
  'docs/guide/python.md#Install the packages': 'scripts/python-package.sh',
  'docs/guide/upgrade.md': 'e2e/upgrade.test.ts',
  'docs/package.md': 'reporter/package.integration.test.ts',
  'docs/release.md#Create a release': 'scripts/release.integration.test.ts',
  ...Object.fromEntries(
    EXAMPLE_ROWS.map(({ page, packages }) => [
      `docs/guide/frameworks/${page}.md#Install the package`,
      packages === 'python' ? 'scripts/python-package.sh' : 'reporter/package.integration.test.ts',
    ]),
  ),
  ...Object.fromEntries(
    EXAMPLE_ROWS.map(({ folder }) => [
      `examples/${folder}/README.md`,
      'testing/frameworks/integrations.integration.test.ts',
    ]),
  ),
  'docs/sidecar.md#Follow the audit ring': 'sidecar/routes/audit-stream-route.test.ts',
};

/** Why no test runs the blocks. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'docs/guide/agent.md#Events': 'needs the id of a request that was just sent',
  'docs/guide/alerts.md': FOR_AN_INCIDENT,
  'docs/guide/audit.md': NAMES_OF_THE_READER,
  'docs/guide/dashboard.md': NAMES_OF_THE_READER,
  'docs/guide/llm-analysis.md': NAMES_OF_THE_READER,
  'docs/guide/operations.md': NAMES_OF_THE_READER,
  'docs/guide/troubleshooting.md': FOR_AN_INCIDENT,
  'docs/observation.md': FOR_AN_INCIDENT,
  'docs/release.md': NEEDS_A_RELEASE,
  'e2e/cluster/README.md': 'the suites start their clusters by the same scripts',
  'e2e/fixtures/README.md': 'renews recorded files from an old version',
  'helm/agent-compliance/README.md': NAMES_OF_THE_READER,
};

/** `page#heading` of every block marked `sh`. */
function blocks(): string[] {
  return DOCUMENTED_PAGES.flatMap((page) => {
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

const ENTRIES: Readonly<Record<string, string>> = { ...NOT_RUN, ...COVERED, ...RUN };
const isListed = (block: string): boolean =>
  [block, block.split('#')[0] ?? ''].some((entry) => Object.hasOwn(ENTRIES, entry));

test('every block of commands has a test or a reason', () => {
  expect(blocks().filter((block) => !isListed(block))).toEqual([]);
});

test('no entry is left over, and every test is there', () => {
  const pages = new Set(blocks().flatMap((block) => [block, block.split('#')[0]]));
  expect(Object.keys(ENTRIES).filter((entry) => !pages.has(entry))).toEqual([]);
  expect(Object.values({ ...COVERED, ...RUN }).filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
});
