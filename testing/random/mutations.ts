import { isRecord } from '../../core/untrusted/fields.ts';

/** Values that few members accept. All of them can be sent as JSON. */
export const HOSTILE_VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  0.5,
  1e300,
  Number.MAX_SAFE_INTEGER + 1,
  '',
  ' \t\n',
  '\u0000\u001b[31m',
  '__proto__',
  'x'.repeat(9_000),
  '🎉'.repeat(300),
  '2026-02-30T00:00:00Z',
  '2026-03-01 10:00',
  [],
  [[[[]]]],
  {},
  JSON.parse('{"__proto__": {"polluted": true}, "constructor": {"prototype": {}}}'),
];

export interface Mutation {
  title: string;
  /** For example `checks[0].id`. */
  path: string;
  body: unknown;
}

type Path = readonly (string | number)[];

/** Copies of a body, each with one member absent or with a hostile value. */
export function mutationsOf(body: unknown, values: readonly unknown[] = HOSTILE_VALUES): Mutation[] {
  return pathsIn(body).flatMap((path) => {
    const text = pathText(path);
    const absent = { title: `${text} absent`, path: text, body: changed(body, path, undefined) };
    const others = values.map((value) => ({
      title: `${text} = ${JSON.stringify(value).slice(0, 40)}`,
      path: text,
      body: changed(body, path, value),
    }));
    return [absent, ...others];
  });
}

/** All members of a value, and the entries of its lists. */
function pathsIn(value: unknown, path: Path = []): Path[] {
  if (!Array.isArray(value) && !isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, member]: [string, unknown]) => {
    const inner = [...path, Array.isArray(value) ? Number(key) : key];
    return [inner, ...pathsIn(member, inner)];
  });
}

function changed(body: unknown, path: Path, value: unknown): unknown {
  const copy = structuredClone(body);
  const parent = path.slice(0, -1).reduce<unknown>((inner, key) => (inner as Keyed)[key], copy);
  (parent as Keyed)[path.at(-1) ?? ''] = value;
  // Absent members and entries are sent like this.
  return JSON.parse(JSON.stringify(copy)) as unknown;
}

type Keyed = Record<string | number, unknown>;

const pathText = (path: Path): string =>
  path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : text === '' ? key : `${text}.${key}`),
    '',
  );
