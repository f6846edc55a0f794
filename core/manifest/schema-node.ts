import { present } from '../untrusted/present.ts';

/** The subset of JSON Schema 2020-12 that the manifest schema uses. */
export interface SchemaNode {
  $schema?: string;
  $id?: string;
  title?: string;
  type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  description?: string;
  default?: string | number | boolean;
  /** Values that editors propose. */
  examples?: (string | number)[];
  properties?: Record<string, SchemaNode>;
  patternProperties?: Record<string, true>;
  additionalProperties?: SchemaNode | false;
  required?: string[];
  items?: SchemaNode;
  enum?: string[];
  const?: string;
  pattern?: string;
  minLength?: number;
  minimum?: number;
  maximum?: number;
  if?: SchemaNode;
  then?: SchemaNode;
  else?: SchemaNode;
  anyOf?: SchemaNode[];
  oneOf?: SchemaNode[];
  /** The value must not appear in messages. */
  writeOnly?: true;
  /** Describes the expected value in the message of a failed pattern or alternative. */
  $comment?: string;
}

declare const VALUE: unique symbol;

/** A node whose valid values are of the type `T`. `VALUE` is for the compiler only: no node has that member. */
export type Typed<T> = SchemaNode & { readonly [VALUE]?: T };

/** The type of the values that are valid by the node. */
export type ValueOf<N extends SchemaNode> = N extends { readonly [VALUE]?: infer T } ? T : never;

type Properties = Record<string, SchemaNode>;

/** The type of an object with these properties. */
type ObjectOf<P extends Properties> = Flat<
  { [K in keyof P as K extends `${infer Name}!` ? Name : never]: ValueOf<P[K]> } & {
    [K in keyof P as K extends `${string}!` ? never : K]?: ValueOf<P[K]>;
  }
>;
type Flat<T> = { [K in keyof T]: T[K] } & {};

/** Splits marked property names: `name!` is a required property. */
function splitRequired(marked: Properties): { properties: Properties; required: string[] } {
  const properties: Properties = {};
  const required: string[] = [];
  for (const [name, node] of Object.entries(marked)) {
    const bare = name.replace(/!$/, '');
    properties[bare] = node;
    if (bare !== name) required.push(bare);
  }
  return { properties, required };
}

/** A closed object: unknown keys are errors, keys that begin with `x-` are allowed. `name!` marks a required key. */
export function object<P extends Properties>(description: string, marked: P): Typed<ObjectOf<P>> {
  const { properties, required } = splitRequired(marked);
  return {
    type: 'object',
    description,
    properties,
    ...(required.length > 0 ? { required } : {}),
    patternProperties: { '^x-': true },
    additionalProperties: false,
  };
}

/** An object with arbitrary keys. */
export function map<T>(description: string, values: Typed<T>): Typed<Record<string, T>> {
  return { type: 'object', description, additionalProperties: values };
}

/** A value that the schema does not restrict. */
export function anything(description: string): Typed<unknown> {
  return { description };
}

/** The node with further keywords, which do not change the type of its values. */
export function restricted<T>(node: Typed<T>, keywords: SchemaNode): Typed<T> {
  return { ...node, ...keywords };
}

type OneMember<T> = { [K in keyof T]-?: { [M in K]-?: T[M] } }[keyof T];

/** The object with exactly one of its keys. */
export function exactlyOne<T>(node: Typed<T>, $comment: string): Typed<OneMember<T>> {
  const { properties = {} }: SchemaNode = node;
  const alternatives = Object.keys(properties).map((name) => ({ required: [name] }));
  return { ...(node as SchemaNode), oneOf: alternatives, $comment };
}

export function list<T>(description: string, items: Typed<T>): Typed<T[]> {
  return { type: 'array', description, items };
}

/** Values that editors propose. Other values are valid too. */
type Examples = readonly string[];

const proposed = (examples: Examples): SchemaNode =>
  examples.length === 0 ? {} : { examples: [...examples] };

/** Any string, including a reference. */
export function text(description: string, examples: Examples = []): Typed<string> {
  return { type: 'string', description, ...proposed(examples) };
}

/** A non-empty string. */
export function filled(description: string, examples: Examples = []): Typed<string> {
  return { type: 'string', description, minLength: 1, ...proposed(examples) };
}

/** A key or token. Its value never appears in a message. */
export function secret(description: string, examples: Examples = []): Typed<string> {
  return { ...filled(description), writeOnly: true, ...proposed(examples) };
}

/**
 * A string in the given format, or a reference. The description names the format, because editors show it next to their own message,
 * which has only the pattern.
 */
export function formatted(
  description: string,
  format: { pattern: string; wanted: string },
  { default: fallback, examples = [] }: { default?: string; examples?: Examples } = {},
): Typed<string> {
  return {
    ...text(`${description} Must be ${format.wanted}, or a reference.`),
    ...present({ default: fallback }),
    if: { pattern: REFERENCE_START },
    else: { pattern: format.pattern, $comment: format.wanted },
    ...proposed(examples),
  };
}

/** A name that is used before references are resolved, so a reference is not allowed. */
export function identifier(
  description: string,
  { pattern, wanted }: { pattern: string; wanted: string },
  examples: Examples = [],
): Typed<string> {
  const about = `${description} Must be ${wanted}.`;
  return { type: 'string', description: about, pattern, $comment: wanted, ...proposed(examples) };
}

/** One of a fixed set of values. It is read before references are resolved, so a reference is not allowed. */
export function word<const W extends string>(
  description: string,
  words: readonly W[],
  fallback?: NoInfer<W>,
): Typed<W> {
  return { type: 'string', description, enum: [...words], ...present({ default: fallback }) };
}

/** Exactly this value. */
export function constant<const V extends string>(description: string, value: V): Typed<V> {
  return { type: 'string', description, const: value };
}

interface Range {
  min?: number;
  max?: number;
  default?: number;
}

export function integer(description: string, range: Range = {}): Typed<number> {
  return { type: 'integer', description, ...bounds(range) };
}

export function number(description: string, range: Range = {}): Typed<number> {
  return { type: 'number', description, ...bounds(range) };
}

function bounds(range: Range): SchemaNode {
  return present({ minimum: range.min, maximum: range.max, default: range.default });
}

export function flag(description: string, fallback?: boolean): Typed<boolean> {
  return { type: 'boolean', description, ...present({ default: fallback }) };
}

/** Prefix of a reference. The manifest parser checks the rest, because it can report a more precise problem than a pattern. */
export const REFERENCE_START = '^\\$(env|file|secret|func):';

const PORT = '(?:[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5])';
const HOST_NAME = '[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?';
const HOST = `(?:\\[[0-9A-Fa-f:.]+\\]|${HOST_NAME})`;

export const FORMATS = {
  dnsLabel: {
    pattern: '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$',
    wanted: 'a DNS label (1 to 63 lower-case letters, digits and hyphens, no hyphen at either end)',
  },
  semver: {
    pattern:
      '^(?:0|[1-9]\\d*)\\.(?:0|[1-9]\\d*)\\.(?:0|[1-9]\\d*)' +
      '(?:-(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)(?:\\.(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*))*)?' +
      '(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$',
    wanted: 'a semantic version such as 1.2.3',
  },
  variable: {
    pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
    wanted: 'an environment variable name (letters, digits and _, not starting with a digit)',
  },
  httpUrl: { pattern: '^https?://[^\\s/?#][^\\s]*$', wanted: 'a URL that begins with http:// or https://' },
  publicUrl: {
    pattern: '^(?:https?|wss?)://[^\\s/?#][^\\s]*$',
    wanted: 'a URL that begins with http://, https://, ws:// or wss://',
  },
  address: {
    pattern: `^(?:[A-Za-z][A-Za-z0-9+.-]*://[^\\s]+|${HOST}:${PORT})$`,
    wanted: 'host:port (port 1 to 65535) or a connection URL such as redis://cache:6379',
  },
  urlPath: { pattern: '^/[^\\s]*$', wanted: 'a path that begins with /' },
  hostPattern: {
    pattern: `^(?:(?:\\*\\.)?${HOST_NAME}|\\[[0-9A-Fa-f:.]+\\])$`,
    wanted: 'a host name or an IP address without a port, or *. and a domain',
  },
  toolPattern: { pattern: '^[^*$][^*]*\\*?$', wanted: 'a name, or the start of a name and *' },
  date: {
    pattern:
      '^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])(?:T\\d{2}:\\d{2}(?::\\d{2}(?:\\.\\d+)?)?(?:Z|[+-]\\d{2}:\\d{2}))?$',
    wanted: 'an ISO 8601 date such as 2027-01-31, or 2027-01-31T12:00:00Z',
  },
} as const;
