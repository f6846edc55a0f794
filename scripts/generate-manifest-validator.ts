import { Ajv2020 } from 'ajv/dist/2020.js';
import standaloneCode from 'ajv/dist/standalone/index.js';
import { MANIFEST_SCHEMA } from '../core/manifest/schema.ts';
import type { SchemaNode } from '../core/manifest/schema-node.ts';

/** Keywords that say something to people and nothing to the validator; the messages read them from schema.ts. */
const FOR_PEOPLE = new Set(['$id', '$schema', 'title', 'description', 'default', 'writeOnly', '$comment']);

function withoutProse(node: SchemaNode): SchemaNode {
  const bare: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(node)) {
    if (FOR_PEOPLE.has(keyword)) continue;
    if (keyword === 'properties')
      bare[keyword] = Object.fromEntries(
        Object.entries(value as Record<string, SchemaNode>).map(([name, child]) => [
          name,
          withoutProse(child),
        ]),
      );
    else if (keyword === 'anyOf' || keyword === 'oneOf')
      bare[keyword] = (value as SchemaNode[]).map(withoutProse);
    else if (['items', 'if', 'then', 'else', 'additionalProperties'].includes(keyword) && value !== false)
      bare[keyword] = withoutProse(value as SchemaNode);
    else bare[keyword] = value;
  }
  return bare;
}

/**
 * The validator as a module without imports: ajv compiles at build time, so no bundle carries its compiler.
 * `unicode: false` counts a string's length without ajv's run-time helper; the only length is "not empty".
 */
export function validatorModule(): string {
  const ajv = new Ajv2020({
    allErrors: true,
    messages: false,
    strict: true,
    strictTypes: true,
    strictRequired: false,
    unicode: false,
    logger: false,
    code: { source: true, esm: true, lines: true },
  });
  const compiled = ajv.compile(withoutProse(MANIFEST_SCHEMA));
  const source = standaloneCode.default(ajv, compiled);
  if (/\brequire\(/.test(source)) throw new Error('the validator must not need a module of ajv');
  const local = /export default (\w+);/.exec(source)?.[1];
  if (local === undefined) throw new Error('ajv names its export in a way that is not known here');
  return [
    '// @ts-nocheck',
    '// Made by scripts/generate.ts from core/manifest/schema.ts. Do not edit.',
    source
      .replace('"use strict";', '')
      .replace(/export const validate = \w+;\s*/, '')
      .replace(/export default \w+;\s*/, '')
      .trim(),
    `export const validateManifest: ((data: unknown) => boolean) & { errors?: object[] | null } = ${local};`,
    '',
  ].join('\n');
}

export function publishedSchema(): string {
  return `${JSON.stringify(MANIFEST_SCHEMA, null, 2)}\n`;
}
