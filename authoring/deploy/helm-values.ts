import { ANNOTATIONS } from '../../core/injection/annotations.ts';
import { heapMebibytes } from '../../core/injection/build-sidecar.ts';
import type { Container } from '../../core/injection/pod.ts';
import type { GeneratedFile } from '../scaffold/generated-file.ts';
import { parseImage } from './image.ts';
import type { DeployPlan } from './plan.ts';
import { yamlText } from './yaml-text.ts';

/** One value of the chart: the source for values.yaml, its schema and the README. */
export interface ValueRow {
  path: readonly string[];
  value: unknown;
  summary: string;
  /** Default: any value of the same type. */
  schema?: Readonly<Record<string, unknown>>;
  /** Text instead of the default in the README. */
  shown?: string;
}

const PULL_POLICY = { enum: ['IfNotPresent', 'Always', 'Never'] };
const POSITIVE = { type: 'integer', minimum: 1 };
const DECLARED = { shown: 'from the manifest' };

export function valueRows(
  { model, agentImage = '' }: DeployPlan,
  agent: Container,
  sidecar: Container,
): ValueRow[] {
  const variable = (name: string) => sidecar.env?.find((each) => each.name === name)?.value;
  const heap = heapMebibytes(String(sidecar.resources?.limits?.['memory']));
  const { mode, logLevel } = ANNOTATIONS;
  const image = parseImage(agentImage) ?? { repository: '', tag: '' };
  return [
    row('replicaCount', 1, 'Number of pods.', { schema: { type: 'integer', minimum: 0 } }),
    row('image.repository', image.repository, 'Image of the agent, without a tag. Required.'),
    row('image.tag', image.tag, 'Tag of the image; empty: the version of the manifest.'),
    row('image.pullPolicy', agent['imagePullPolicy'], 'Pull policy of the image.', { schema: PULL_POLICY }),
    row('imagePullSecrets', [], 'Secrets for the registries, as in a pod.'),
    row('fullnameOverride', '', 'Name of the objects; empty: from the release and the chart.'),
    row(
      'secretName',
      '',
      "Secret with the agent's variables; empty: the name of the objects, with `-secrets`.",
    ),
    row('env', [], 'More variables of the agent, as in a container.'),
    row('resources', agent.resources, 'Requests and limits of the agent.'),
    row('model.provider', model.provider, 'MODEL_PROVIDER of the agent.', DECLARED),
    row('model.id', model.id, 'MODEL_ID of the agent.', DECLARED),
    row(
      'sidecar.image',
      sidecar.image,
      'Image of the sidecar, in a registry that the cluster can pull from.',
    ),
    row('sidecar.pullPolicy', sidecar['imagePullPolicy'], 'Pull policy of the image.', {
      schema: PULL_POLICY,
    }),
    row('sidecar.policyMode', variable('POLICY_PROXY_MODE'), 'Handling of policy denials.', {
      schema: mode.schema,
    }),
    row('sidecar.logLevel', variable('LOG_LEVEL'), 'Log level of the sidecar.', {
      schema: logLevel.schema,
    }),
    row('sidecar.resources', sidecar.resources, 'Requests and limits of the sidecar.'),
    row('sidecar.heapMebibytes', heap, 'JavaScript heap: half of the memory limit.', { schema: POSITIVE }),
    row('podAnnotations', {}, 'Annotations of the pods.'),
    row('nodeSelector', {}, 'Labels of the nodes for the pods.'),
    row('tolerations', [], 'Tolerations of the pods.'),
    row('affinity', {}, 'Affinity of the pods.'),
  ];
}

type Extras = Pick<ValueRow, 'schema' | 'shown'>;

function row(path: string, value: unknown, summary: string, extras: Extras = {}): ValueRow {
  return { path: path.split('.'), value, summary, ...extras };
}

export function valuesFile(rows: readonly ValueRow[]): GeneratedFile {
  const values = tree(rows, ({ value }) => value);
  const comments = rows.map(({ path, summary }) => [path, summary] as const);
  return { path: 'helm/values.yaml', content: yamlText(values, { comments }) };
}

/** Rejects unknown values, so that a misspelt name is not ignored. */
export function valuesSchemaFile(rows: readonly ValueRow[]): GeneratedFile {
  const branch = (properties: object) => ({ type: 'object', additionalProperties: false, properties });
  const leaf = ({ schema, value }: ValueRow): object =>
    schema ?? { type: Array.isArray(value) ? 'array' : typeof value };
  const properties = tree(rows, leaf, branch);
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...branch({ ...properties, global: { type: 'object' } }),
  };
  return { path: 'helm/values.schema.json', content: `${JSON.stringify(schema, null, 2)}\n` };
}

export function valuesTable(rows: readonly ValueRow[]): string {
  const lines = rows.map(
    ({ path, value, summary, shown = `\`${JSON.stringify(value)}\`` }) =>
      `| \`${path.join('.')}\` | ${shown} | ${summary} |`,
  );
  return ['| Value | Default | Purpose |', '| --- | --- | --- |', ...lines].join('\n');
}

/** Nests what `leaf` makes of the rows by their paths; `branch` wraps the members of each inner object. */
function tree(
  rows: readonly ValueRow[],
  leaf: (row: ValueRow) => unknown,
  branch = (members: object): object => members,
): object {
  const root: Record<string, unknown> = {};
  for (const [name, group] of Map.groupBy(rows, ({ path: [first = ''] }) => first)) {
    const [row] = group;
    const inner = group.map((each) => ({ ...each, path: each.path.slice(1) }));
    root[name] = row?.path.length === 1 ? leaf(row) : branch(tree(inner, leaf, branch));
  }
  return root;
}
