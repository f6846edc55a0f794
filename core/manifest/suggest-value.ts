import { isPlainYaml } from './describe-problem.ts';
import { nearest } from './nearest.ts';
import { FORMATS, type SchemaNode } from './schema-node.ts';
import { holdsPassword } from './wording.ts';
import type { Located } from './yaml-tree.ts';

type Repair = (text: string) => string;

/** Likely corrections of a value in a wrong format. A correction is used only if its result has the format. */
const REPAIRS: readonly [{ pattern: string }, Repair][] = [
  [
    FORMATS.dnsLabel,
    (text) =>
      text
        .trim()
        .toLowerCase()
        .replaceAll(/[^a-z0-9]+/g, '-')
        .replaceAll(/^-|-$/g, ''),
  ],
  [FORMATS.semver, (text) => completeVersion(text.trim().replace(/^[vV=]+/, ''))],
  [
    FORMATS.variable,
    (text) =>
      text
        .trim()
        .replace(/^\$(?:env:)?\{?/, '')
        .replace(/\}$/, '')
        .replaceAll('-', '_'),
  ],
  [FORMATS.httpUrl, (text) => `https://${text.trim()}`],
  [FORMATS.publicUrl, (text) => `https://${text.trim()}`],
  [FORMATS.urlPath, (text) => `/${text.trim()}`],
];

function completeVersion(version: string): string {
  const dots = version.split('.').length - 1;
  return version + '.0'.repeat(Math.max(0, 2 - dots));
}

const YES = new Set(['yes', 'on', 'y', 'true']);
const NO = new Set(['no', 'off', 'n', 'false']);

/** The value that was probably meant if `found` is not valid for `node`; undefined if no valid value is similar. */
export function suggestValue(node: SchemaNode, found: Located): string | undefined {
  if (node.writeOnly === true) return undefined;
  const source = found.source;
  if (source === undefined || source === '' || source.length > 200 || holdsPassword(source)) return undefined;
  const words = node.enum ?? (node.const === undefined ? [] : [node.const]);
  if (words.length > 0) return nearest(source, words);
  if (node.type === 'boolean') return booleanLike(source);
  if (node.type === 'integer' || node.type === 'number') return numberLike(node, found.value);
  if (node.type === 'string') return textLike(node, found);
  return undefined;
}

function booleanLike(source: string): string | undefined {
  const lower = source.toLowerCase();
  if (YES.has(lower)) return 'true';
  return NO.has(lower) ? 'false' : undefined;
}

function numberLike(node: SchemaNode, value: unknown): string | undefined {
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  const number = Number(value.replaceAll('_', ''));
  if (!Number.isFinite(number) || (node.type === 'integer' && !Number.isInteger(number))) return undefined;
  const fits = number >= (node.minimum ?? -Infinity) && number <= (node.maximum ?? Infinity);
  return fits ? String(number) : undefined;
}

function textLike(node: SchemaNode, found: Located): string | undefined {
  const source = found.source ?? '';
  const pattern = node.pattern ?? node.else?.pattern;
  const isOtherReference = source.startsWith('$') && pattern !== FORMATS.variable.pattern;
  if (isOtherReference) return undefined;
  if (pattern === undefined) return typeof found.value === 'string' ? undefined : JSON.stringify(source);
  const repair = REPAIRS.find(([format]) => format.pattern === pattern)?.[1];
  const repaired = repair?.(source) ?? source;
  if (!new RegExp(pattern).test(repaired) || repaired === found.value) return undefined;
  return isPlainYaml(repaired) ? JSON.stringify(repaired) : repaired;
}
