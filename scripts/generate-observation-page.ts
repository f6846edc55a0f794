import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { DRIFT_SUMMARIES } from '../core/injection/drift.ts';
import { CONDITIONS } from '../core/observation/conditions.ts';
import { OPERATOR_CONDITIONS, OWN_CONDITIONS } from '../operator/agents/conditions.ts';

interface Schema {
  type: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  enum?: unknown[];
  items?: Schema;
  format?: string;
  /** Of an object: its members. */
  default?: string | number | boolean | object;
  minimum?: number;
  maximum?: number;
}

interface Column {
  name: string;
  jsonPath: string;
  priority?: number;
}

interface Version {
  schema: { openAPIV3Schema: Required<Pick<Schema, 'properties'>> & Schema };
  additionalPrinterColumns: Column[];
  selectableFields: { jsonPath: string }[];
}

const SOURCE = join(import.meta.dirname, '../crds/agentobservations.yaml');

/** The resource definition as the chart carries it: the very same text. */
export function chartResourceDefinition(): string {
  return readFileSync(SOURCE, 'utf8');
}

const TABLES = [...CONDITIONS, ...OPERATOR_CONDITIONS];

/** One truth table a condition; those of the code itself. */
function conditionSections(): string[] {
  return TABLES.flatMap(({ type, meaning, rows }) => [
    `### ${type}`,
    `True: ${meaning}. Written by ${OWN_CONDITIONS.includes(type) ? 'the operator alone' : 'the control plane and the operator alike'}.`,
    table(
      ['Status', 'Reason', 'When'],
      rows.map(({ status, reason, when }) => [status, `\`${reason}\``, when]),
    ),
  ]);
}

const CONDITIONS_INTRODUCTION = `The first row that holds is the verdict. "Reports" is who was heard from within three of its intervals, and at least
two minutes. \`lastTransitionTime\` moves only when the status does. Injected, Routed and Conflict are judged by the live
pods; while there are none they stay as they were seen last.`;

const DRIFT_INTRODUCTION = `Live pods that the present installation would make differently, by reason. A restart of the workload
(\`kubectl rollout restart\`) makes them anew.`;

/** docs/reference/agentobservation.md */
export function observationReferencePage(): string {
  const [version] = (parse(chartResourceDefinition()) as { spec: { versions: [Version] } }).spec.versions;
  const { openAPIV3Schema } = version.schema;
  const selectable = version.selectableFields.map(({ jsonPath }) => `\`${jsonPath.slice(1)}\``).join(', ');
  return [
    '# AgentObservation',
    '<!-- Made by scripts/generate.ts from crds/agentobservations.yaml and the tables of the conditions. Do not edit. -->',
    openAPIV3Schema.description ?? '',
    '`kubectl get ao` (or `agentobservations`, or the category `platform`), `kubectl describe ao <name>`,\n`kubectl explain ao.status`, `kubectl wait --for=condition=Ready ao/<name>`.',
    '## Columns',
    table(
      ['Column', 'Field', 'Shown'],
      [
        ['NAME', '`metadata.name`', 'always'],
        ...version.additionalPrinterColumns.map(({ name, jsonPath, priority }) => [
          name.toUpperCase(),
          `\`${jsonPath.slice(1)}\``,
          priority ? 'with `-o wide`' : 'always',
        ]),
      ],
    ),
    `Field selectors: ${selectable}, as in \`kubectl get ao -A --field-selector status.phase=Unhealthy\`.`,
    '## Conditions',
    CONDITIONS_INTRODUCTION,
    ...conditionSections(),
    '## Drift',
    DRIFT_INTRODUCTION,
    table(
      ['Reason', 'When'],
      Object.entries(DRIFT_SUMMARIES).map(([reason, when]) => [`\`${reason}\``, when]),
    ),
    ...['spec', 'status'].flatMap((part) => sectionsOf(part, openAPIV3Schema.properties[part])),
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n');
}

/** One heading and table for every object, in the order of the file. */
function sectionsOf(path: string, node: Schema | undefined): string[] {
  if (!node) return [];
  if (node.items) return sectionsOf(`${path}[]`, node.items);
  if (!node.properties) return [];
  const rows = Object.entries(node.properties).map(([name, child]) => [
    `\`${name}\``,
    typeOf(child),
    node.required?.includes(name) ? 'yes' : '',
    child.description ?? '',
  ]);
  const inner = Object.entries(node.properties).flatMap(([name, child]) =>
    sectionsOf(`${path}.${name}`, child),
  );
  return [
    `## \`${path}\``,
    node.description ?? '',
    table(['Field', 'Value', 'Required', 'Meaning'], rows),
    ...inner,
  ];
}

function typeOf(node: Schema): string {
  const preset =
    typeof node.default === 'object' || node.default === undefined ? '' : `, default \`${node.default}\``;
  if (node.enum) return node.enum.map((value) => `\`${String(value)}\``).join(', ') + preset;
  if (node.items) return `list of ${typeOf(node.items)}`;
  if (node.format === 'date-time') return 'time';
  const { minimum, maximum } = node;
  const range = maximum === undefined ? '' : `, ${minimum ?? 0} to ${maximum}`;
  return WORDS[node.type] + range + preset;
}

const WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: '`true` or `false`',
  object: 'object',
};

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
