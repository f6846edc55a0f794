import type { ManifestProblem } from './manifest.ts';
import { nearest } from './nearest.ts';
import { oneOf, quoted } from './wording.ts';
import { keyOffsetAt, nodeAt, problemAt, valueOffsetAt } from './yaml-tree.ts';
import type { Located, PathToken, Place } from './yaml-tree.ts';

/** What a keyword of JSON Schema accepts. */
interface Kind {
  wanted: string;
  accepts: (value: unknown) => boolean;
  /** The schemas in the value, relative to it. */
  schemas?: 'self' | 'items' | 'members';
}

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];
const isType = (value: unknown): boolean => TYPES.some((type) => type === value);
const isList = (value: unknown, test: (item: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every(test) && new Set(value).size === value.length;
const isText = (value: unknown): value is string => typeof value === 'string';
const isMap = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isSchema = (value: unknown): boolean => typeof value === 'boolean' || isMap(value);
const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

/** Schemas must not compile to an error, so each pattern is compiled like ajv does it. */
function isPattern(text: unknown): boolean {
  if (!isText(text)) return false;
  try {
    return new RegExp(text, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

const ANYTHING: Kind = { wanted: 'any value', accepts: () => true };
const TEXT: Kind = { wanted: 'a string', accepts: isText };
const NUMBER: Kind = { wanted: 'a number', accepts: isNumber };
const FLAG: Kind = { wanted: 'true or false', accepts: (value) => typeof value === 'boolean' };
const COUNT: Kind = {
  wanted: 'an integer of at least 0',
  accepts: (value) => Number.isSafeInteger(value) && (value as number) >= 0,
};
const NAMES: Kind = { wanted: 'a list of different strings', accepts: (value) => isList(value, isText) };
const SCHEMA: Kind = { wanted: 'a JSON Schema', accepts: isSchema, schemas: 'self' };
const SCHEMAS: Kind = {
  wanted: 'a list of JSON Schemas, not empty',
  accepts: (value) => Array.isArray(value) && value.length > 0 && value.every(isSchema),
  schemas: 'items',
};
const SCHEMA_MAP: Kind = {
  wanted: 'an object of JSON Schemas',
  accepts: (value) => isMap(value) && Object.values(value).every(isSchema),
  schemas: 'members',
};

/**
 * The keywords that `spec.tools[].constraints` may have: those of JSON Schema 2020-12 without references, formats and
 * unevaluated properties. An unknown keyword would accept every value, so it is an error.
 */
export const CONSTRAINT_KEYWORDS: Readonly<Record<string, Kind>> = {
  type: {
    wanted: `${oneOf(TYPES)}, or a list of these`,
    accepts: (value) => isType(value) || (isList(value, isType) && (value as unknown[]).length > 0),
  },
  enum: {
    wanted: 'a list of values, not empty',
    accepts: (value) => Array.isArray(value) && value.length > 0,
  },
  const: ANYTHING,
  properties: SCHEMA_MAP,
  patternProperties: {
    ...SCHEMA_MAP,
    wanted: 'an object of JSON Schemas whose keys are regular expressions',
    accepts: (value) => SCHEMA_MAP.accepts(value) && Object.keys(value as object).every(isPattern),
  },
  additionalProperties: SCHEMA,
  propertyNames: SCHEMA,
  required: NAMES,
  dependentRequired: {
    wanted: 'an object of lists of different strings',
    accepts: (value) => isMap(value) && Object.values(value).every(NAMES.accepts),
  },
  minProperties: COUNT,
  maxProperties: COUNT,
  items: SCHEMA,
  prefixItems: SCHEMAS,
  contains: SCHEMA,
  minItems: COUNT,
  maxItems: COUNT,
  uniqueItems: FLAG,
  minLength: COUNT,
  maxLength: COUNT,
  pattern: { wanted: 'a regular expression', accepts: isPattern },
  minimum: NUMBER,
  maximum: NUMBER,
  exclusiveMinimum: NUMBER,
  exclusiveMaximum: NUMBER,
  multipleOf: { wanted: 'a number above 0', accepts: (value) => isNumber(value) && value > 0 },
  allOf: SCHEMAS,
  anyOf: SCHEMAS,
  oneOf: SCHEMAS,
  not: SCHEMA,
  if: SCHEMA,
  then: SCHEMA,
  else: SCHEMA,
  title: TEXT,
  description: TEXT,
  default: ANYTHING,
  examples: { wanted: 'a list', accepts: Array.isArray },
  $comment: TEXT,
};

/** The keyword of this name. Names of the prototype are not keywords. */
function kindOf(keyword: string): Kind | undefined {
  return Object.hasOwn(CONSTRAINT_KEYWORDS, keyword) ? CONSTRAINT_KEYWORDS[keyword] : undefined;
}

/** Mistakes in the constraints of tools. A schema without a problem compiles. */
export function constraintProblems(root: Located, place: Place): ManifestProblem[] {
  const problems: ManifestProblem[] = [];
  const tools = ['spec', 'tools'];
  for (const index of nodeAt(root, tools)?.items?.keys() ?? []) {
    const path = [...tools, index, 'constraints'];
    const schema = nodeAt(root, path);
    if (schema !== undefined) inspect(schema, path);
  }
  return problems;

  function inspect(schema: Located, path: PathToken[]): void {
    for (const [keyword, { node }] of schema.members ?? []) {
      const inner = [...path, keyword];
      const kind = kindOf(keyword);
      if (kind === undefined) problems.push(unknownKeyword(keyword, inner));
      else if (!kind.accepts(node.value))
        problems.push(problemAt(inner, `must be ${kind.wanted}`, place(valueOffsetAt(root, inner))));
      else for (const [token, each] of schemasIn(kind, node)) inspect(each, [...inner, ...token]);
    }
  }

  function unknownKeyword(keyword: string, path: PathToken[]): ManifestProblem {
    const suggestion = nearest(keyword, Object.keys(CONSTRAINT_KEYWORDS));
    const message = `${quoted(keyword)} is not a keyword that constraints can have`;
    return problemAt(path, message, place(keyOffsetAt(root, path)), suggestion);
  }
}

function schemasIn({ schemas }: Kind, node: Located): [PathToken[], Located][] {
  if (schemas === 'self') return [[[], node]];
  if (schemas === 'items') return (node.items ?? []).map((item, index) => [[index], item]);
  if (schemas === 'members') return [...(node.members ?? [])].map(([key, member]) => [[key], member.node]);
  return [];
}
