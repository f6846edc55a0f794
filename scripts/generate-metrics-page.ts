import ts from 'typescript';
import { markdownTable } from './markdown-table.ts';
import {
  checker,
  fileOf,
  methodCallsIn,
  nodesIn,
  PARTS,
  placeOf,
  sourcesOf,
  textsOf,
  valueOf,
  type MethodCall,
  type Part,
} from './source-code.ts';

/** Methods of `Metrics` (runtime/metrics.ts), and the methods that set the labels of their result. */
const UPDATES: Readonly<Record<string, { method: string; labels: number } | null>> = {
  counter: { method: 'add', labels: 0 },
  histogram: { method: 'observe', labels: 1 },
  gauge: null,
  total: null,
};

const typeOf = (method: string): string => (method === 'total' ? 'counter' : method);

/** Values by label; null: values that the code does not list. */
type Labels = Map<string, Set<string> | null>;

interface Metric {
  name: string;
  type: string;
  help: string;
  labels: Labels;
}

function metricsOf(part: Part): Metric[] {
  const files = sourcesOf(part);
  const calls = files.flatMap(methodCallsIn);
  const found = calls
    .filter(({ receiver, method }) => method in UPDATES && isOfType(receiver, 'Metrics'))
    .flatMap((call) => {
      const table = tableOf(call);
      return table === null ? [metricOf(call, calls)] : table.map((row) => metricOfRow(call.method, row));
    });
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

const isOfType = (node: ts.Expression, name: string): boolean =>
  checker().getTypeAtLocation(node).symbol?.name === name;

function metricOf(call: MethodCall, calls: readonly MethodCall[]): Metric {
  const { method: type, args } = call;
  const [name, help] = [textOf(args[0]), textOf(args[1])];
  const updates = UPDATES[type] ?? null;
  const labels: Labels = new Map();
  if (updates === null) addSamples(labels, args[2]);
  else
    for (const { args: update } of updatesOf(call, updates.method, calls))
      addLabels(labels, update[updates.labels]);
  return { name, type: typeOf(type), help, labels };
}

/** The rows of the table that a loop or `map` around the call reads; null: the call has literal arguments. */
function tableOf({ node, args: [name] }: MethodCall): ts.ObjectLiteralExpression[] | null {
  if (name === undefined || textsOf(name) !== null) return null;
  let outer: ts.Node = node;
  while (!ts.isSourceFile(outer)) {
    outer = outer.parent;
    const source = ts.isForOfStatement(outer)
      ? outer.expression
      : ts.isCallExpression(outer) && ts.isPropertyAccessExpression(outer.expression)
        ? outer.expression.expression
        : null;
    const table = source && valueOf(source);
    if (table && ts.isArrayLiteralExpression(table))
      return table.elements.filter(ts.isObjectLiteralExpression);
  }
  throw new Error(`${placeOf(node)}: the name of the metric is not a literal`);
}

function metricOfRow(type: string, row: ts.ObjectLiteralExpression): Metric {
  const member = (name: string): ts.Expression | undefined =>
    row.properties.filter(ts.isPropertyAssignment).find((each) => each.name.getText() === name)?.initializer;
  const labels: Labels = new Map();
  // A row either reads its samples, or has the labels of the samples that the loop reads.
  if (member('labels') === undefined) addSamples(labels, member('read'));
  else addLabels(labels, member('labels'));
  return { name: textOf(member('name')), type: typeOf(type), help: textOf(member('help')), labels };
}

function textOf(node: ts.Expression | undefined): string {
  const text = node && textsOf(node)?.[0];
  if (node === undefined || text === undefined) throw new Error('a metric without a literal name or help');
  return text;
}

/** The updates through the variable or member that contains the metric: in the same file, else in files without such a metric. */
function updatesOf({ node }: MethodCall, method: string, calls: readonly MethodCall[]): MethodCall[] {
  const holder = holderOf(node);
  const sameName = calls.filter(
    (each) => each.method === method && /[\w]+$/.exec(each.receiver.getText())?.[0] === holder,
  );
  const sameFile = sameName.filter((each) => fileOf(each.node) === fileOf(node));
  const holders = calls.filter((each) => each.method in UPDATES && holderOf(each.node) === holder);
  const elsewhere = sameName.filter(
    (each) => !holders.some((other) => fileOf(other.node) === fileOf(each.node)),
  );
  const updates = sameFile.length > 0 ? sameFile : elsewhere;
  if (updates.length === 0) throw new Error(`${placeOf(node)}: no update of this metric was found`);
  return updates;
}

function holderOf({ parent }: ts.Node): string | null {
  if (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent)) return parent.name.getText();
  return ts.isBinaryExpression(parent) ? (/[\w]+$/.exec(parent.left.getText())?.[0] ?? null) : null;
}

/** The labels of the samples that a gauge returns. */
function addSamples(labels: Labels, read: ts.Expression | undefined): void {
  if (read === undefined) throw new Error('a gauge without samples');
  const source = valueOf(ts.isCallExpression(read) ? read.expression : read);
  for (const each of nodesIn(source, ts.isPropertyAssignment))
    if (each.name.getText() === 'labels') addLabels(labels, each.initializer);
}

/** Adds the members of an object, of a variable with one, or of those that a function returns. */
function addLabels(labels: Labels, node: ts.Expression | undefined): void {
  if (node === undefined) return;
  const objects = nodesIn(
    valueOf(ts.isCallExpression(node) ? node.expression : node),
    ts.isObjectLiteralExpression,
  );
  if (objects.length === 0) throw new Error(`${placeOf(node)}: the labels are not known`);
  for (const { properties } of objects)
    for (const property of properties) {
      if (property.name === undefined) throw new Error(`${placeOf(property)}: the label is not known`);
      const name = property.name.getText();
      const value = ts.isPropertyAssignment(property) ? property.initializer : property.name;
      const texts = textsOf(value as ts.Expression);
      const known = labels.get(name);
      labels.set(name, texts && known !== null ? new Set([...(known ?? []), ...texts]) : null);
    }
}

const labelText = ([name, values]: [string, Set<string> | null]): string => {
  const listed = [...(values ?? [])].filter((value) => value !== '');
  return `\`${name}\`${listed.length === 0 ? '' : ` (${listed.join(', ')})`}`;
};

function tableOfPart(part: Part): string {
  const rows = metricsOf(part).map(({ name, type, help, labels }) => [
    `\`${name}\``,
    type,
    [...labels].map(labelText).join(', '),
    help,
  ]);
  return `## ${part}\n\n${markdownTable(['Metric', 'Type', 'Labels', 'Meaning'], rows)}`;
}

/** `docs/reference/metrics.md`. */
export function metricsReferencePage(): string {
  const parts = (Object.keys(PARTS) as Part[]).filter((part) => part !== 'Reporter');
  return `# Metrics

<!-- Generated by scripts/generate.ts from the metrics in the sources. Do not edit. -->

Every process serves \`GET /metrics\` in the Prometheus text format ([routes](routes.md)). Alerts and a dashboard that use these
metrics are described in [alerts](../guide/alerts.md). A histogram has the series \`_bucket\` (label \`le\`), \`_sum\` and \`_count\`.
Label values are listed where the code limits them.

${parts.map(tableOfPart).join('\n')}`;
}
