import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import {
  ANNOTATIONS,
  DEFAULTED,
  OTHER_ANNOTATIONS,
  type AnnotationRow,
  type DefaultedRow,
} from '../core/injection/annotations.ts';

const CHART = join(import.meta.dirname, '../helm/agent-compliance');
const SOURCE = 'Generated from core/injection/annotations.ts';
/** A generated part of values.yaml, with the part of the chart to which its values belong. */
const BLOCK = new RegExp(`^  # ${SOURCE}: (?<part>[a-z]+)\\n[^]*?^  # End of the generated values$`, 'gm');

const rows = DEFAULTED.map(([, row]) => row);
const read = (file: string): string => readFileSync(join(CHART, file), 'utf8');
/** The part and the key of a generated value; null for a value deeper inside a part, which is written by hand. */
const placeOf = ({ chart }: DefaultedRow): { part: string; key: string } | null => {
  const [part = '', key = '', ...deeper] = chart.path.split('.');
  return deeper.length > 0 ? null : { part, key };
};

/** `values.yaml` with the defaults of annotations in its generated parts. */
export function chartValues(): string {
  const text = read('values.yaml').replaceAll(BLOCK, (_block, part: string) =>
    [
      `  # ${SOURCE}: ${part}`,
      ...rows.flatMap((row) => (placeOf(row)?.part === part ? [valueOf(row)] : [])),
      '  # End of the generated values',
    ].join('\n'),
  );
  const values: unknown = parse(text);
  for (const { chart } of rows)
    if (valueAt(values, chart.path) !== chart.default)
      throw new Error(`values.yaml does not have the default ${String(chart.default)} at ${chart.path}`);
  return text;
}

function valueOf({ name, summary, allowed, chart }: DefaultedRow): string {
  const [, key = ''] = chart.path.split('.');
  const value = stringify({ [key]: chart.default }, { version: '1.1', singleQuote: true }).trimEnd();
  const text = `-- ${summary.replaceAll('`', '')} Must be ${allowed}. The default of the annotation ${name}.`;
  return `${text.replaceAll(/(.{1,122})(?: |$)/g, '  # $1\n')}  ${value}`;
}

function valueAt(values: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], values);
}

interface Schema {
  $comment?: string;
  properties: Record<string, Schema>;
}

/** `values.schema.json` with the kinds of these values. */
export function chartSchema(): string {
  const schema = JSON.parse(read('values.schema.json')) as Schema;
  for (const [name, part] of Object.entries(schema.properties)) {
    const wanted = rows.flatMap((row) => {
      const place = placeOf(row);
      return place?.part === name ? [[place.key, { $comment: SOURCE, ...row.schema }] as const] : [];
    });
    const own = Object.fromEntries(wanted);
    for (const [key, { $comment }] of Object.entries(part.properties ?? {}))
      if ($comment === SOURCE && !(key in own)) delete part.properties[key];
    if (wanted.length > 0) Object.assign(part.properties, own);
  }
  // Lists of plain values on one line, as the formatter writes them.
  const oneLine = (list: string): string =>
    list.replaceAll(/\s*\n\s*/g, ' ').replaceAll(/\[ | \]/g, (end) => end.trim());
  return `${JSON.stringify(schema, null, 2).replaceAll(/\[[^[\]{}]*\]/g, oneLine)}\n`;
}

/** `files/annotations.yaml` of the chart: the guard's check of each annotation, other known names, and the injector's variables. */
export function chartAnnotations(): string {
  const annotations = Object.values<AnnotationRow<unknown>>(ANNOTATIONS).map(({ name, allowed, cel }) => ({
    name,
    allowed,
    cel,
  }));
  const variables = rows.map(({ chart: { variable, path } }) => ({ variable, path: path.split('.') }));
  return `# ${SOURCE} by scripts/generate.ts. Do not edit.\n${stringify({ annotations, otherAnnotations: OTHER_ANNOTATIONS, variables }, { version: '1.1', lineWidth: 0 })}`;
}
