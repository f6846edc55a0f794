import { isLiteralSecret } from '../../core/manifest/literal-secrets.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { holdsPassword } from '../../core/manifest/wording.ts';
import { isRecord } from '../../core/untrusted/fields.ts';

/** One difference between two manifests. */
export interface Change {
  type: 'added' | 'removed' | 'changed';
  /** Path with the identity of list items, for example `spec.guardrails.input[pii-detector].threshold`. */
  property: string;
  /** Undefined: absent in the first manifest. */
  from: unknown;
  /** Undefined: absent in the second manifest. */
  to: unknown;
  /** Path with list indexes in the second manifest. Of a removed value, only a parent exists there; its list index is -1. */
  path: Path;
}

export type Path = readonly (string | number)[];

/** A value of both manifests; undefined where it is absent. */
interface Pair {
  property: string;
  from: unknown;
  to: unknown;
  path: Path;
}

/** Objects that are added or removed as one change, like items of lists. The members of other objects are compared one by one. */
const UNITS: readonly string[] = [
  'spec.model.fallback',
  'spec.memory.shortTerm',
  'spec.memory.longTerm',
  'spec.memory.vector',
  'spec.evaluation',
  'spec.observability.tracing',
  'spec.observability.metrics',
  'spec.observability.logging',
];

/** The constraints of a tool are such an object too. */
const CONSTRAINTS = /^spec\.tools\[[^\]]*\]\.constraints$/;

/**
 * All differences in the order of the second manifest; of each object and list, what was removed comes last. Items of lists are
 * compared by their identity, so that their order is not a difference.
 */
export function changesBetween(from: Manifest, to: Manifest): Change[] {
  return changesOf({ property: '', from, to, path: [] });
}

function changesOf(pair: Pair): Change[] {
  const { property, from, to, path } = pair;
  const isUnit = property.endsWith(']') || UNITS.includes(property) || CONSTRAINTS.test(property);
  if (!isUnit || (from !== undefined && to !== undefined)) {
    const [before, after] = [from ?? emptyLike(to), to ?? emptyLike(from)];
    if (Array.isArray(before) && Array.isArray(after)) return changesOfLists(pair, before, after);
    if (isRecord(before) && isRecord(after)) return changesOfObjects(pair, before, after);
  }
  if (from === to) return [];
  if (from === undefined) return [{ type: 'added', property, from, to, path }];
  if (to === undefined) return [{ type: 'removed', property, from, to, path }];
  return [{ type: 'changed', property, from, to, path }];
}

function emptyLike(value: unknown): unknown {
  if (Array.isArray(value)) return [];
  return isRecord(value) ? {} : undefined;
}

function changesOfObjects(
  { property, path }: Pair,
  from: Record<string, unknown>,
  to: Record<string, unknown>,
): Change[] {
  return [...new Set([...Object.keys(to), ...Object.keys(from)])].flatMap((key) =>
    changesOf({
      property: property === '' ? key : `${property}.${key}`,
      from: Object.hasOwn(from, key) ? from[key] : undefined,
      to: Object.hasOwn(to, key) ? to[key] : undefined,
      path: [...path, key],
    }),
  );
}

function changesOfLists(
  { property, path }: Pair,
  from: readonly unknown[],
  to: readonly unknown[],
): Change[] {
  const [before, after] = [indexById(from), indexById(to)];
  return [...new Set([...after.keys(), ...before.keys()])].flatMap((id) => {
    const index = after.get(id) ?? -1;
    return changesOf({
      property: `${property}[${id}]`,
      from: from[before.get(id) ?? -1],
      to: to[index],
      path: [...path, index],
    });
  });
}

/** Index of each item by its identity. Items with the same identity get `#2`, `#3` and so on in the order of the list. */
export function indexById(items: readonly unknown[]): Map<string, number> {
  const indexes = new Map<string, number>();
  // The last number per identity: counting from 2 for each item would take quadratic time for a list of equal items.
  const numbers = new Map<string, number>();
  for (const [index, item] of items.entries()) {
    const id = identityOf(item);
    let unique = id;
    let number = numbers.get(id) ?? 1;
    while (indexes.has(unique)) {
      number += 1;
      unique = `${id}#${number}`;
    }
    numbers.set(id, number);
    indexes.set(unique, index);
  }
  return indexes;
}

/** Fields that identify an item, in order of precedence. */
const IDENTITIES = ['name', 'id', 'rule', 'type'] as const;

/** Without brackets, which separate the identity from the rest of a path. An argument of a command may be a secret. */
function identityOf(item: unknown): string {
  const id = rawIdentityOf(item);
  return (isLiteralSecret([], id) || holdsPassword(id) ? 'literal value' : id)
    .replaceAll('[', '(')
    .replaceAll(']', ')');
}

function rawIdentityOf(item: unknown): string {
  // An object may have a member with the name toString.
  if (Array.isArray(item)) return JSON.stringify(item);
  if (!isRecord(item)) return String(item);
  // A guardrail of the project's own code is identified by that code.
  if (item['type'] === 'custom') return `custom ${textOf(item['module'])}#${textOf(item['function'])}`;
  const field = IDENTITIES.find((name) => typeof item[name] === 'string');
  return field === undefined ? JSON.stringify(item) : textOf(item[field]);
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
