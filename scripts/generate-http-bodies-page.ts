import { isRecord } from '../core/untrusted/fields.ts';
import type { JsonSchema } from '../core/untrusted/json-schema.ts';
import { HTTP_BODIES, slugOf, type HttpBody } from './http-bodies.ts';
import { markdownTable } from './markdown-table.ts';

type Path = readonly (string | number)[];

/** A member of a body: its path in the example, and the value there. */
interface Member {
  path: Path;
  value: unknown;
}

/** All members of a value in order; of lists with several entries those of each entry. */
function membersIn(value: unknown, path: Path = []): Member[] {
  if (Array.isArray(value)) return value.flatMap((entry, index) => membersIn(entry, [...path, index]));
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, member]) => [
    { path: [...path, key], value: member },
    ...membersIn(member, [...path, key]),
  ]);
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce((inner, key) => (inner as Record<string | number, unknown> | undefined)?.[key], value);
}

/** A copy of the body with another value at the path; undefined removes the member. */
function changed(body: unknown, path: Path, value: unknown): unknown {
  const copy = structuredClone(body);
  (valueAt(copy, path.slice(0, -1)) as Record<string | number, unknown>)[path.at(-1) ?? ''] = value;
  return copy;
}

/** As in error messages: `checks[0].id`. */
const pathText = (path: Path): string =>
  path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : text === '' ? key : `${text}.${key}`),
    '',
  );

/** The message of the parser about this member, without "must be"; null: it accepts the value. */
function complaint({ parse, example }: HttpBody, path: Path, value: unknown): string | null {
  const parsed = parse(changed(example, path, value));
  const message = parsed.ok
    ? undefined
    : parsed.errors.find((error) => error.path === pathText(path))?.message;
  return message?.replace(/^must (?:be )?/, '') ?? null;
}

const LONG = 20_000;
const NOT_READ = 'not read';

/** What the parser accepts for a member, from its messages about other values. */
function acceptedBy(body: HttpBody, { path, value }: Member): string {
  const accepted = complaint(body, path, typeof value === 'string' ? 0.5 : 'x');
  if (accepted === null) return NOT_READ;
  if (typeof value === 'string')
    return accepted + limitOf(body, path, { long: value + 'x'.repeat(LONG), unit: 'characters' });
  return Array.isArray(value)
    ? accepted + limitOf(body, path, { long: Array<unknown>(LONG).fill(value[0]), unit: 'entries' })
    : accepted;
}

/** The limit for a longer text or list: the parser rejects it, or keeps only a part. */
function limitOf(
  body: HttpBody,
  path: Path,
  { long, unit }: { long: string | unknown[]; unit: string },
): string {
  const limit = /have at most (.*)/.exec(complaint(body, path, long) ?? '')?.[1];
  if (limit !== undefined) return `, at most ${limit}`;
  const parsed = body.parse(changed(body.example, path, long));
  const kept = parsed.ok ? (valueAt(parsed.value, path) as typeof long | undefined) : undefined;
  // The parser may also replace a text by another one.
  const isCut = kept !== undefined && kept.length > long.length - LONG && kept.length < long.length;
  return isCut ? `, cut after ${kept.length} ${unit}` : '';
}

/** The name in the table, and the `type` of the entry if the list has entries of several types. */
function nameOf({ example }: HttpBody, path: Path): { name: string; variant: string } {
  const name = pathText(path).replaceAll(/\[\d+\]/g, '[]');
  const index = path.findLastIndex((key) => typeof key === 'number');
  const entries = valueAt(example, path.slice(0, index)) as unknown[];
  if (index < 0 || entries.length < 2 || path.at(-1) === 'type') return { name, variant: '' };
  return { name, variant: ` (${String(valueAt(example, [...path.slice(0, index + 1), 'type']))})` };
}

/** The description of the member at the path. */
function descriptionIn(schema: JsonSchema | undefined, path: Path): string | undefined {
  let found = [schema].filter(isRecord);
  for (const key of path)
    found = found
      .flatMap((each) => (each['anyOf'] as JsonSchema[] | undefined) ?? [each])
      .flatMap(
        ({ items, properties }) => (typeof key === 'number' ? items : valueAt(properties, [key])) ?? [],
      )
      .filter(isRecord);
  return found[0]?.['description'] as string | undefined;
}

function rowsOf(body: HttpBody): string[][] {
  const rows = new Map<string, string[]>();
  const skipped = new Set<string>();
  for (const member of membersIn(body.example)) {
    const { path } = member;
    const { name, variant } = nameOf(body, path);
    if (skipped.has(pathText(path.slice(0, -1)))) continue;
    const accepted = acceptedBy(body, member);
    if (accepted === NOT_READ) skipped.add(pathText(path));
    const isRequired = complaint(body, path, undefined) !== null;
    const meaning = descriptionIn(body.schema, path) ?? descriptionIn(body.returns, path) ?? '';
    rows.set(name + variant, [`\`${name}\`${variant}`, accepted, isRequired ? 'yes' : '', meaning]);
  }
  return [...rows.values()];
}

function sectionOf(body: HttpBody): string {
  const parsed = body.parse(body.example);
  if (!parsed.ok)
    throw new Error(`the example of ${body.title} is not valid: ${JSON.stringify(parsed.errors)}`);
  return `## ${body.title}

${body.about} [JSON Schema](schemas/${slugOf(body.title)}.schema.json).

\`\`\`json
${JSON.stringify(body.example, null, 2)}
\`\`\`

${markdownTable(['Member', 'Value', 'Required', 'Meaning'], rowsOf(body))}`;
}

/** `docs/reference/http-bodies.md`. */
export function httpBodiesReferencePage(): string {
  return `# HTTP bodies

<!-- Generated by scripts/generate.ts: the values and limits are what the parsers of the product accept. Do not edit. -->

The JSON bodies that other programs send to the product, or serve for it. The routes are in [routes](routes.md), and the objects
that the product returns in the pages of the [reference](README.md).

- *Required* applies within the object that contains the member. A member that is not required may be absent or \`null\`.
- Unknown members are ignored. Members that are "not read" are ignored too, because the receiver computes them.
- "Cut after" means that a longer text or list is shortened. A list or text with "at most" is rejected if it is longer.
- A text with "at most" must not be empty.
- Times are ISO 8601 with a time zone.

${HTTP_BODIES.map(sectionOf).join('\n')}`;
}
