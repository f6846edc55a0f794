// Every block of shell commands in the pages, and every block of README.md and the guides, is listed here with the test that runs it or
// compares it, or with the reason why none does.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { DOCUMENTED_PAGES } from '../testing/documents/documented-commands.ts';
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
  'docs/guide/start.md': 'docs/start.integration.test.ts',
};

/** By page, and for a part of a page by heading: the test that runs the same commands or routes with its own arguments. */
const COVERED: Readonly<Record<string, string>> = {
  'docs/control-plane.md#Audit events': 'control-plane/audit-events.test.ts',
  'docs/control-plane.md#History': 'control-plane/history.test.ts',
  'docs/guide/agent.md#Start from a generated project': 'testing/frameworks/generated.integration.test.ts',
  'docs/guide/agent.md#The reporter': 'reporter/package.integration.test.ts',
  'docs/guide/agent.md#Write the manifest from the code': 'cli/commands/scan.test.ts',
  'docs/guide/audit.md#Compare with the main branch': 'cli/commands/diff.test.ts',
  'docs/guide/audit.md#Evaluate an agent': 'cli/commands/evaluate.test.ts',
  'docs/guide/editors.md': 'cli/mcp.integration.test.ts',
  'docs/guide/enforcement.md': 'core/policy/opa.integration.test.ts',
  'docs/guide/organisation.md': 'docs/organisation-example.test.ts',
  'docs/guide/organisation-rollout.md#Keep the rules in Git': 'docs/organisation-example.test.ts',
  'docs/guide/organisation-rollout.md#Decide who may write the rules': 'crds/definitions.apiserver.test.ts',
  'docs/guide/frameworks.md#Install the package': 'reporter/package.integration.test.ts',
  'docs/guide/kubernetes.md': IN_CLUSTER,
  'docs/guide/kubernetes.md#Deploy an agent with its own sidecar': 'e2e/generate.test.ts',
  'docs/guide/kubernetes.md#Inject without the webhook': 'cli/commands/inject.test.ts',
  'docs/guide/kubernetes.md#Send OpenTelemetry spans to the sidecar': 'e2e/injection.test.ts',
  'docs/guide/python.md#Install the packages': 'scripts/python-package.sh',
  'docs/guide/roles.md#Credentials': 'control-plane/roles.apiserver.test.ts',
  'docs/guide/stop.md': 'cli/cluster/stop-agents.apiserver.test.ts',
  'docs/guide/test-results.md': 'cli/commands/proof.test.ts',
  'docs/guide/upgrade.md': 'e2e/upgrade.test.ts',
  'docs/package.md': 'reporter/package.integration.test.ts',
  'docs/release.md#Create a release': 'scripts/release.integration.test.ts',
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
  'docs/guide/organisation-rollout.md': NAMES_OF_THE_READER,
  'docs/guide/sign-in.md': NAMES_OF_THE_READER,
  'docs/guide/troubleshooting.md': FOR_AN_INCIDENT,
  'docs/observation.md': FOR_AN_INCIDENT,
  'docs/reference/review.md': NAMES_OF_THE_READER,
  'docs/release.md': NEEDS_A_RELEASE,
  'e2e/cluster/README.md': 'the suites start their clusters by the same scripts',
  'e2e/fixtures/README.md': 'renews recorded files from an old version',
  'helm/agent-compliance/README.md': NAMES_OF_THE_READER,
};

/** Other snippets and outputs of the guides, on pages without an entry above: the test that runs or compares them. */
const CHECKED: Readonly<Record<string, string>> = {
  'docs/guide/siem.md#Elastic': 'testing/siem/unrun-configurations.test.ts',
  'docs/guide/siem.md#OpenTelemetry Collector': 'testing/siem/otel-collector.integration.test.ts',
  'docs/guide/agent.md#A2A interface': 'core/manifest/card.test.ts',
  'docs/guide/agent.md#Behavioral headers': 'core/behavior/behavior.test.ts',
  'docs/guide/agent.md#Health report in another language': 'core/health/parse-agent-report.test.ts',
  'docs/guide/egress.md#Vendors with a private CA': 'core/injection/decide.test.ts',
  'docs/guide/frameworks.md': 'scripts/framework-texts.test.ts',
  'docs/guide/identity.md': 'sidecar/identity/guide.test.ts',
  'docs/guide/roles.md#Rights in a cluster': 'control-plane/roles.apiserver.test.ts',
  'docs/guide/roles.md#Rights outside a cluster': 'control-plane/auth/access/roles.test.ts',
  'docs/guide/otlp.md': 'testing/frameworks/instrumented.integration.test.ts',
  'docs/guide/python.md': 'python/tests/test_documentation.py',
};

/** `page#heading` of every block marked `sh`, and on README.md and the guides of every block. */
function blocks(): string[] {
  return DOCUMENTED_PAGES.flatMap((page) => {
    const isGuide = /^(?:README\.md|docs\/guide\/)/.test(page);
    const found: string[] = [];
    let [heading, isInBlock] = ['', false];
    for (const line of readFileSync(join(ROOT, page), 'utf8').split('\n')) {
      if (!isInBlock && line.startsWith('#')) heading = line.replace(/^#+ /, '');
      const language = /^\s*```(.*)$/.exec(line)?.[1];
      if (language === undefined) continue;
      // `text` is a picture.
      if (!isInBlock && (language === 'sh' || (isGuide && language !== 'text')))
        found.push(`${page}#${heading}`);
      isInBlock = !isInBlock;
    }
    return found;
  });
}

const ENTRIES: Readonly<Record<string, string>> = { ...NOT_RUN, ...COVERED, ...CHECKED, ...RUN };
const isListed = (block: string): boolean =>
  [block, block.split('#')[0] ?? ''].some((entry) => Object.hasOwn(ENTRIES, entry));

test('every block of commands, and every block of a guide, has a test or a reason', () => {
  expect(blocks().filter((block) => !isListed(block))).toEqual([]);
});

test('no entry is left over, and every test is there', () => {
  const pages = new Set(blocks().flatMap((block) => [block, block.split('#')[0]]));
  expect(Object.keys(ENTRIES).filter((entry) => !pages.has(entry))).toEqual([]);
  expect(
    Object.values({ ...COVERED, ...CHECKED, ...RUN }).filter((file) => !existsSync(join(ROOT, file))),
  ).toEqual([]);
});
