import { readFileSync } from 'node:fs';
import { isRecord } from '../core/untrusted/fields.ts';
import type { Manifest } from '../core/manifest/manifest.ts';

/** A manifest option: the parsed object, or the path of a `.json` file. */
export type ManifestInput = Manifest | string;

/** Thrown by createReporter with all problems. */
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
 * Reads and validates the manifest. The reporter has neither a YAML parser nor the schema (`platform validate` has both). It
 * validates only the members that it reads, so that errors occur here and not in the first check.
 */
export function manifestFrom(input: ManifestInput): Manifest {
  const value: unknown = typeof input === 'string' ? readJson(input) : input;
  const problems = SHAPE.flatMap(([path, kind, required]) =>
    valuesAt(value, path.split('.')).flatMap(({ at, found, hasParent }) => {
      const isWanted = required === 'always' || (required === 'in its parent' && hasParent);
      if (found === undefined && !isWanted) return [];
      return KINDS[kind](found) ? [] : [`${at} must be ${kind}`];
    }),
  );
  if (problems.length > 0) throw new ManifestInputError(problems);
  return value as Manifest;
}

function readJson(path: string): unknown {
  if (!path.endsWith('.json'))
    throw new ManifestInputError([
      `${JSON.stringify(path)} is not a .json file; parse agent.yaml with a YAML library and pass the object`,
    ]);
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as unknown;
  } catch (error) {
    throw new ManifestInputError([`cannot read ${path} as JSON`], error);
  }
}

const isNamed = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'name' in value && typeof value.name === 'string';

const KINDS = {
  'a non-empty string': (value: unknown) => typeof value === 'string' && value !== '',
  'a string': (value: unknown) => typeof value === 'string',
  'a number': (value: unknown) => typeof value === 'number' && Number.isFinite(value),
  'true or false': (value: unknown) => typeof value === 'boolean',
  'an object': isRecord,
  'a list of strings': (value: unknown) =>
    Array.isArray(value) && value.every((item) => typeof item === 'string'),
  'a list of objects': (value: unknown) => Array.isArray(value) && value.every(isRecord),
  'a list of objects with a name': (value: unknown) => Array.isArray(value) && value.every(isNamed),
} as const;

/** `in its parent`: required if the parent object exists. */
type Row = [path: string, kind: keyof typeof KINDS, required?: 'always' | 'in its parent'];

/** Every member that the reporter reads, outer members first; `*`: each entry of the list. */
const SHAPE: readonly Row[] = [
  ['metadata.name', 'a non-empty string', 'always'],
  ['spec.model.provider', 'a non-empty string', 'always'],
  ['spec.model.id', 'a non-empty string', 'always'],
  ['spec.model.apiKey', 'a non-empty string', 'always'],
  ['spec.model.fallback', 'an object'],
  ['spec.model.fallback.provider', 'a non-empty string', 'in its parent'],
  ['spec.model.fallback.id', 'a non-empty string', 'in its parent'],
  ['spec.model.fallback.apiKey', 'a non-empty string', 'in its parent'],
  ['spec.model.costControls', 'an object'],
  ['spec.model.costControls.maxMonthlyUSD', 'a number'],
  ['spec.model.costControls.maxTokensPerDay', 'a number'],
  ['spec.model.costControls.usdPerMillionTokens', 'an object'],
  ['spec.model.costControls.usdPerMillionTokens.input', 'a number'],
  ['spec.model.costControls.usdPerMillionTokens.output', 'a number'],
  ['spec.tools', 'a list of objects with a name'],
  ['spec.tools.*.annotations', 'an object'],
  ['spec.tools.*.annotations.destructiveHint', 'true or false'],
  ['spec.mcp', 'an object'],
  ['spec.mcp.servers', 'a list of objects with a name'],
  ['spec.mcp.servers.*.transport', 'a string'],
  ['spec.mcp.servers.*.command', 'a string'],
  ['spec.mcp.servers.*.url', 'a string'],
  ['spec.mcp.servers.*.host', 'a string'],
  ['spec.mcp.servers.*.port', 'a number'],
  ['spec.mcp.servers.*.healthCheck', 'an object'],
  ['spec.mcp.servers.*.healthCheck.timeoutSeconds', 'a number'],
  ['spec.memory', 'an object'],
  ['spec.memory.backend', 'a string'],
  ['spec.memory.shortTerm', 'an object'],
  ['spec.memory.shortTerm.backend', 'a string'],
  ['spec.memory.shortTerm.connection', 'a string'],
  ['spec.memory.shortTerm.ttlSeconds', 'a number'],
  ['spec.memory.longTerm', 'an object'],
  ['spec.memory.longTerm.backend', 'a string'],
  ['spec.memory.longTerm.connectionString', 'a string'],
  ['spec.memory.vector', 'an object'],
  ['spec.memory.vector.backend', 'a string'],
  ['spec.memory.vector.connectionString', 'a string'],
  ['spec.requires', 'an object'],
  ['spec.requires.envVars', 'a list of strings'],
  ['spec.requires.services', 'a list of objects'],
  ['spec.requires.services.*.name', 'a string'],
  ['spec.requires.services.*.type', 'a string'],
  ['spec.requires.services.*.address', 'a string'],
  ['spec.requires.services.*.critical', 'true or false'],
  ['spec.guardrails', 'an object'],
  ['spec.guardrails.input', 'a list of objects'],
  ['spec.guardrails.input.*.type', 'a string'],
  ['spec.guardrails.output', 'a list of objects'],
  ['spec.guardrails.output.*.type', 'a string'],
  ['spec.guardrails.output.*.threshold', 'a number'],
  ['spec.evaluation', 'an object'],
  ['spec.evaluation.datasets', 'a list of objects with a name'],
  ['spec.observability', 'an object'],
  ['spec.observability.tracing', 'an object'],
  ['spec.observability.tracing.backend', 'a string'],
  ['spec.observability.tracing.endpoint', 'a string'],
];

interface Place {
  at: string;
  found: unknown;
  hasParent: boolean;
}

/** The values at a path with their locations; undefined for a missing value. */
function valuesAt(value: unknown, path: readonly string[], at = '', hasParent = true): Place[] {
  const [key, ...rest] = path;
  if (key === undefined) return [{ at, found: value, hasParent }];
  if (key === '*')
    return Array.isArray(value) ? value.flatMap((each, n) => valuesAt(each, rest, `${at}[${n}]`)) : [];
  const inner: unknown = isRecord(value) ? (value as Readonly<Record<string, unknown>>)[key] : undefined;
  return valuesAt(inner, rest, at === '' ? key : `${at}.${key}`, isRecord(value));
}
