// Writes every generated file, or with --check lists the stale files (exit code 1). Add a row to GENERATED for a new file. Its
// content() may only read sources, so that two runs produce the same bytes.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { manifestReferencePage } from './generate-manifest-page.ts';
import { annotationsReferencePage } from './generate-annotations-page.ts';
import { publishedSchema, validatorModule } from './generate-manifest-validator.ts';
import { scaffoldTemplates } from './generate-scaffold-templates.ts';
import { INSTALL_PAGES, pageWithInstall } from './generate-install.ts';
import { auditEventsReferencePage } from './generate-audit-events-page.ts';
import { evidenceReferencePage } from './generate-evidence-page.ts';
import { organisationReferencePage } from './generate-organisation-page.ts';
import { complianceReferencePage } from './generate-compliance-page.ts';
import { rulesReferencePage } from './generate-rules-page.ts';
import { chartDefaults, chartPage } from './generate-chart-files.ts';
import { chartAnnotations, chartSchema, chartValues } from './generate-chart-values.ts';
import { clientsPage, measuredClientsPage } from './generate-clients-page.ts';
import { eventsReferencePage } from './generate-events-page.ts';
import { reviewPage } from './generate-evasion-tables.ts';
import { frameworksPage } from './generate-framework-pages.ts';
import { logMessagesReferencePage } from './generate-log-messages-page.ts';
import { terminalRecording } from './generate-terminal.ts';
import { PYTHON_PROBES, pythonProbes } from './generate-python-vendors.ts';
import { resourceDefinition } from './generate-crd.ts';
import { metricsReferencePage } from './generate-metrics-page.ts';
import { observationReferencePage } from './generate-observation-page.ts';

interface Generated {
  /** Path from the repository's root. */
  file: string;
  content: () => string | Promise<string>;
}

const GENERATED: Generated[] = [
  { file: 'core/manifest/validate.generated.ts', content: validatorModule },
  { file: 'core/manifest/agent.schema.generated.json', content: publishedSchema },
  { file: 'authoring/scaffold/templates.generated.ts', content: scaffoldTemplates },
  { file: PYTHON_PROBES, content: pythonProbes },
  { file: 'docs/reference/manifest.md', content: manifestReferencePage },
  { file: 'docs/reference/annotations.md', content: annotationsReferencePage },
  ...(['agentobservations', 'agentpolicies', 'agentstops'] as const).flatMap((plural) =>
    ['crds', 'helm/agent-compliance/files'].map((folder) => ({
      file: `${folder}/${plural}.yaml`,
      content: () => resourceDefinition(plural),
    })),
  ),
  { file: 'docs/reference/agentobservation.md', content: observationReferencePage },
  { file: 'docs/reference/rules.md', content: rulesReferencePage },
  { file: 'docs/reference/compliance.md', content: complianceReferencePage },
  { file: 'docs/reference/evidence.md', content: evidenceReferencePage },
  { file: 'docs/reference/organisation.md', content: organisationReferencePage },
  { file: 'docs/reference/metrics.md', content: metricsReferencePage },
  { file: 'docs/reference/events.md', content: eventsReferencePage },
  { file: 'docs/reference/audit-events.md', content: auditEventsReferencePage },
  { file: 'docs/reference/log-messages.md', content: logMessagesReferencePage },
  { file: 'docs/guide/clients.md', content: clientsPage },
  { file: 'docs/reference/clients.md', content: measuredClientsPage },
  { file: 'docs/reference/review.md', content: reviewPage },
  { file: 'docs/guide/frameworks.md', content: frameworksPage },
  ...INSTALL_PAGES.map((file) => ({ file, content: () => pageWithInstall(file) })),
  { file: 'docs/images/terminal.svg', content: terminalRecording },
  // Helm cannot read files outside the chart.
  { file: 'helm/agent-compliance/files/annotations.yaml', content: chartAnnotations },
  // Parts of these two; the rows below read values.yaml.
  { file: 'helm/agent-compliance/values.schema.json', content: chartSchema },
  { file: 'helm/agent-compliance/values.yaml', content: chartValues },
  { file: 'helm/agent-compliance/files/defaults.yaml', content: chartDefaults },
  { file: 'helm/agent-compliance/README.md', content: chartPage },
  {
    file: 'helm/agent-compliance/files/guard.yaml',
    // Imported dynamically: the sidecar's configuration needs the validator that a row above writes.
    content: async () => (await import('./generate-guard-table.ts')).chartGuardTable(),
  },
  {
    file: 'docs/reference/cli.md',
    // Imported dynamically, like the next ones: they need the validator that a row above writes.
    content: async () => (await import('./generate-cli-page.ts')).cliReferencePage(),
  },
  {
    file: 'docs/reference/manifest-example.md',
    content: async () => (await import('./generate-manifest-example.ts')).manifestExamplePage(),
  },
  {
    file: 'docs/reference/checks.md',
    content: async () => (await import('./generate-checks-page.ts')).checksReferencePage(),
  },
  {
    file: 'docs/reference/configuration.md',
    content: async () => (await import('./generate-configuration-page.ts')).configurationReferencePage(),
  },
  {
    file: 'docs/reference/routes.md',
    content: async () => (await import('./generate-routes-page.ts')).routesReferencePage(),
  },
  {
    file: 'docs/reference/http-bodies.md',
    content: async () => (await import('./generate-http-bodies-page.ts')).httpBodiesReferencePage(),
  },
  // The saved run of the benchmark. Imported dynamically, because its targets need the validator that a row above writes.
  {
    file: 'docs/images/benchmark.svg',
    content: async () => (await import('./generate-benchmark.ts')).benchmarkChart(),
  },
  {
    file: 'README.md',
    content: async () => (await import('./generate-benchmark.ts')).readmeWithBenchmark(),
  },
  {
    file: 'bench/README.md',
    content: async () => (await import('./generate-benchmark.ts')).benchPageWithResults(),
  },
  ...(['control-plane', 'sidecar'] as const).map((name) => ({
    file: `docs/reference/openapi/${name}.json`,
    content: async () => (await import('./generate-openapi.ts')).documentFile(name),
  })),
  // Names of the bodies in http-bodies.ts, which needs the validator; links.test.ts finds a missing one.
  ...['health-report', 'usage-report', 'events', 'registration', 'proof', 'heartbeat'].map((slug) => ({
    file: `docs/reference/schemas/${slug}.schema.json`,
    content: async () => (await import('./generate-openapi.ts')).bodySchemaFile(slug),
  })),
];

const root = dirname(import.meta.dirname);

async function generate(check: boolean): Promise<number> {
  const stale: string[] = [];
  for (const { file, content } of GENERATED) {
    const path = join(root, file);
    const wanted = await content();
    const found = existsSync(path) ? readFileSync(path, 'utf8') : null;
    if (found === wanted) continue;
    stale.push(file);
    if (check) continue;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, wanted);
  }
  if (!check) {
    for (const file of stale) console.log(`wrote ${file}`);
    return 0;
  }
  for (const file of stale) console.error(`${file} is stale: run npm run generate`);
  return stale.length > 0 ? 1 : 0;
}

const flags = process.argv.slice(2);
if (flags.some((flag) => flag !== '--check')) {
  console.error('usage: node scripts/generate.ts [--check]');
  process.exitCode = 1;
} else {
  process.exitCode = await generate(flags.includes('--check'));
}
