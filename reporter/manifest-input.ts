import { readFileSync } from 'node:fs';
import type { Manifest } from '../core/manifest/manifest.ts';

/** A manifest as the agent's author hands it over: the parsed object, or the path of a `.json` file. */
export type ManifestInput = Manifest | string;

/** Raised by createReporter, with every problem at once. */
export class ManifestInputError extends Error {
  readonly code = 'PLATFORM_MANIFEST_INPUT';
  readonly problems: readonly string[];

  constructor(problems: readonly string[], cause?: unknown) {
    super(
      `the reporter cannot use this manifest: ${problems.join('; ')}`,
      cause === undefined ? {} : { cause },
    );
    this.name = 'ManifestInputError';
    this.problems = problems;
  }
}

/**
 * The manifest itself. The reporter carries neither a YAML parser nor the schema (`platform validate` has both); it
 * checks the members that it reads, so that a wrong one is said here and not at the first check.
 */
export function manifestFrom(input: ManifestInput): Manifest {
  const value: unknown = typeof input === 'string' ? readJson(input) : input;
  const problems = SHAPE.flatMap(({ path, kind, required }) => {
    const found = valueAt(value, path);
    if (found === undefined && !required) return [];
    return KINDS[kind](found) ? [] : [`${path.join('.')} must be ${kind}`];
  });
  if (problems.length > 0) throw new ManifestInputError(problems);
  return value as Manifest;
}

function readJson(path: string): unknown {
  if (!path.endsWith('.json'))
    throw new ManifestInputError([
      `${JSON.stringify(path)} is no .json file: parse agent.yaml with a YAML library and pass the object`,
    ]);
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as unknown;
  } catch (error) {
    throw new ManifestInputError([`${path} cannot be read as JSON`], error);
  }
}

const isNamed = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'name' in value && typeof value.name === 'string';
const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const KINDS = {
  'a non-empty string': (value: unknown) => typeof value === 'string' && value !== '',
  'an object': isObject,
  'a list of strings': (value: unknown) =>
    Array.isArray(value) && value.every((item) => typeof item === 'string'),
  'a list of objects': (value: unknown) => Array.isArray(value) && value.every(isObject),
  'a list of objects with a name': (value: unknown) => Array.isArray(value) && value.every(isNamed),
} as const;

interface ShapeRow {
  path: string[];
  kind: keyof typeof KINDS;
  required?: true;
}

const SHAPE: readonly ShapeRow[] = [
  { path: ['metadata', 'name'], kind: 'a non-empty string', required: true },
  { path: ['spec', 'model', 'provider'], kind: 'a non-empty string', required: true },
  { path: ['spec', 'model', 'id'], kind: 'a non-empty string', required: true },
  { path: ['spec', 'model', 'apiKey'], kind: 'a non-empty string', required: true },
  { path: ['spec', 'tools'], kind: 'a list of objects with a name' },
  { path: ['spec', 'mcp'], kind: 'an object' },
  { path: ['spec', 'mcp', 'servers'], kind: 'a list of objects with a name' },
  { path: ['spec', 'memory'], kind: 'an object' },
  { path: ['spec', 'requires'], kind: 'an object' },
  { path: ['spec', 'requires', 'envVars'], kind: 'a list of strings' },
  { path: ['spec', 'requires', 'services'], kind: 'a list of objects' },
  { path: ['spec', 'guardrails'], kind: 'an object' },
  { path: ['spec', 'guardrails', 'input'], kind: 'a list of objects' },
  { path: ['spec', 'guardrails', 'output'], kind: 'a list of objects' },
  { path: ['spec', 'evaluation'], kind: 'an object' },
  { path: ['spec', 'evaluation', 'datasets'], kind: 'a list of objects with a name' },
];

function valueAt(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== 'object' || current === null) return undefined;
    current = (current as Readonly<Record<string, unknown>>)[key];
  }
  return current;
}
