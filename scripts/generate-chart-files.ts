import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { markdownTable } from './markdown-table.ts';

const CHART = join(import.meta.dirname, '../helm/agent-compliance');

/** Parts with the same keys: what values.yaml says of a key of one holds for the same key of all. */
const ALIKE = ['operator', 'webhook', 'controlPlane', 'sidecar'];

const COMMENT = /^ *# (?<mark>-- )?(?<text>.*)$/;
const KEY = /^(?<indent> *)(?<name>[A-Za-z]+):/;

const values = (): string => readFileSync(join(CHART, 'values.yaml'), 'utf8');

/** Each key's comment that begins with `# -- `, by the key's path. */
function commentsOf(yaml: string): Map<string, string> {
  const comments = new Map<string, string>();
  const path: { indent: number; name: string }[] = [];
  let said: string[] | null = null;
  for (const line of yaml.split('\n')) {
    const comment = COMMENT.exec(line)?.groups;
    if (comment) {
      if (comment['mark']) said = [];
      said?.push(comment['text'] ?? '');
      continue;
    }
    const key = KEY.exec(line)?.groups;
    if (key) {
      const indent = key['indent']?.length ?? 0;
      while (indent <= (path.at(-1)?.indent ?? -1)) path.pop();
      path.push({ indent, name: key['name'] ?? '' });
      if (said) comments.set(path.map(({ name }) => name).join('.'), said.join(' '));
    }
    said = null;
  }
  return comments;
}

/** A row for each value that is described; a map that is described as a whole is one. */
function rowsOf(value: unknown, path: string, comments: ReadonlyMap<string, string>): string[][] {
  const text = textOf(path, comments);
  if (text !== undefined) return [[`\`${path}\``, `\`${JSON.stringify(value)}\``, text]];
  if (value === null || typeof value !== 'object' || Object.keys(value).length === 0)
    throw new Error(`values.yaml: ${path} has no comment that begins with "# -- "`);
  return Object.entries(value).flatMap(([key, inside]) =>
    rowsOf(inside, path === '' ? key : `${path}.${key}`, comments),
  );
}

function textOf(path: string, comments: ReadonlyMap<string, string>): string | undefined {
  const own = comments.get(path);
  const part = ALIKE.find((each) => path.startsWith(`${each}.`));
  if (own !== undefined || part === undefined) return own;
  const twins = ALIKE.map((each) => comments.get(each + path.slice(part.length)));
  return twins.find((each) => each !== undefined);
}

const INTRODUCTION = `# agent-compliance

<!-- Made by scripts/generate.ts from values.yaml. Do not edit. -->

The injector (webhook), the operator and the control plane of Agent Compliance, for Kubernetes 1.33 and later.

\`\`\`sh
helm install agent-compliance helm/agent-compliance --namespace platform-system --create-namespace --wait \\
  --set image.registry=registry.example.com
helm test agent-compliance --namespace platform-system
\`\`\`

What it puts into the cluster, beside three Deployments with their Services, ServiceAccounts and roles:

- a MutatingWebhookConfiguration that asks about pods with \`platform.io/inject\`, and no others;
- a ValidatingAdmissionPolicy, the guard, that refuses such a pod when it ends without the true sidecar;
- a ValidatingAdmissionPolicy for the ServiceAccount of the operator and one for that of the webhook, which reduce their roles to
  one annotation and to \`caBundle\` ([what a stolen token can do](../../docs/guide/operations.md#stolen-tokens));
- the namespace \`platform-canary\`, with a policy that allows only dry-run pods in it, and a ServiceAccount that can create
  those and nothing else: the operator tries injection out with it every minute (\`canary.enabled\`);
- the CustomResourceDefinition \`agentobservations.platform.io\`, which stays after \`helm uninstall\` (\`crds.keep\`);
- the namespace \`platform-remote\`, for the observations of agents outside the cluster.

No cert-manager: the webhook makes, renews and shares the certificates. No job runs before or after an installation. How it
is run for years, its network policies, metrics and alerts: [operations](../../docs/guide/operations.md) and
[alerts](../../docs/guide/alerts.md).

A second installation under another release name needs \`crds.install=false\`, and a \`remote.namespace\` and a
\`canary.namespace\` of its own, and Lease names and pod annotations are shared: one per cluster is what is meant. A CRD that
was kept is taken over by a release of the same name and namespace; for another one add \`--take-ownership\`.

## Values

Checked by \`values.schema.json\`: an unknown key or a wrong type is refused. Combinations that would not do what they seem to
(\`guard.action: off\` with a \`policy.minimumMode\`, a budget that lets no node be drained, an image called \`latest\`) are
refused with a sentence each, all at once.

`;

/** `helm/agent-compliance/README.md`. */
export function chartPage(): string {
  const yaml = values();
  const rows = rowsOf(parse(yaml), '', commentsOf(yaml));
  return INTRODUCTION + markdownTable(['Value', 'Default', 'Meaning'], rows);
}

/**
 * `files/defaults.yaml` of the chart: `helm upgrade --reuse-values` gives a chart the defaults of the one before it, without
 * the values that came later, and a template cannot read values.yaml. Helm reads YAML 1.1, in which `off` is false.
 */
export function chartDefaults(): string {
  return `# Made by scripts/generate.ts from values.yaml. Do not edit.\n${stringify(parse(values()), { version: '1.1' })}`;
}
