// Which pages the site has, and where. Everything else stays in the repository: a link to it leads there.
import { posix } from 'node:path';

/** Pages for contributors and files that are no pages. */
export const EXCLUDED: string[] = [
  '**/node_modules/**',
  '{dist,testing,core,coverage}/**',
  'CHANGELOG.md',
  'bench/**',
  'docs/decisions/**',
  'e2e/**',
  '**/prompts/**',
  '**/prompt.md',
  'examples/agents-{node,python}/**',
];

/** Whether the site leaves out a page; `page`: path from the root of the repository. */
export const isExcluded = (page: string): boolean => EXCLUDED.some((glob) => posix.matchesGlob(page, glob));

const section = (text: string, base: string, pages: [title: string, page: string][]) => ({
  text,
  collapsed: true,
  items: pages.map(([title, page]) => ({ text: title, link: `${base}${page}` })),
});

/** In the order of the site. */
export const SIDEBAR = [
  section('Developer', '/', [
    ['Get started', 'docs/guide/start'],
    ['Frameworks', 'docs/guide/frameworks'],
    ['My client, my variable', 'docs/guide/clients'],
    ['Lanes', 'docs/guide/egress'],
    ['Integrate your agent', 'docs/guide/agent'],
    ['Reporter for Node.js', 'reporter/'],
    ['Reporter for Python', 'docs/guide/python'],
    ['OpenTelemetry spans', 'docs/guide/otlp'],
    ['Copies of the audit log', 'docs/guide/audit-forwarding'],
    ['Audit in CI', 'docs/guide/audit'],
    ['Results of other test tools', 'docs/guide/test-results'],
    ['Editors and assistants', 'docs/guide/editors'],
    ['Each part on a laptop', 'docs/guide/laptop'],
  ]),
  section('Platform engineer', '/docs/guide/', [
    ['Install on Kubernetes', 'kubernetes'],
    ['GitOps, meshes, managed clusters', 'platforms'],
    ['Organisation rules', 'organisation'],
    ['Roll out rules to teams', 'organisation-rollout'],
    ['Roles', 'roles'],
    ['Operate', 'operations'],
    ['Stop an agent', 'stop'],
    ['Dashboard', 'dashboard'],
    ['Sign in with your identity provider', 'sign-in'],
    ['Alerts', 'alerts'],
    ['Size', 'sizing'],
    ['Upgrade', 'upgrade'],
    ['Troubleshooting', 'troubleshooting'],
  ]),
  section('Security', '/docs/', [
    ['Threat model', 'guide/threat-model'],
    ['Who made a request', 'guide/identity'],
    ['Policy enforcement', 'guide/enforcement'],
    ['Audit log', 'guide/audit-log'],
    ['Audit log in a SIEM', 'guide/siem'],
    ['LLM analysis', 'guide/llm-analysis'],
    ['Review: what remains possible', 'reference/review'],
    ['Webhook and certificates', 'webhook'],
    ['Releases', 'release'],
  ]),
  section('Concepts', '/docs/', [
    ['Glossary', 'glossary'],
    ['Sidecar', 'sidecar'],
    ['AgentObservation', 'observation'],
    ['Control plane', 'control-plane'],
  ]),
  section('Reference', '/docs/reference/', [
    ['Overview', ''],
    ['Manifest', 'manifest'],
    ['Manifest example', 'manifest-example'],
    ['Command line', 'cli'],
    ['Annotations', 'annotations'],
    ['Configuration', 'configuration'],
    ['HTTP routes', 'routes'],
    ['HTTP bodies', 'http-bodies'],
    ['AgentObservation', 'agentobservation'],
    ['Events', 'events'],
    ['Audit events', 'audit-events'],
    ['Metrics', 'metrics'],
    ['Log messages', 'log-messages'],
    ['Issues and policy rules', 'rules'],
    ['Compliance rules', 'compliance'],
    ['Evidence', 'evidence'],
    ['Organisation rules', 'organisation'],
    ['Installation checks', 'checks'],
    ['Measured clients', 'clients'],
  ]),
];
