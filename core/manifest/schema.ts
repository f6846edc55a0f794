import { egress, mcp, memory, metadata, model, prompts, tools } from './schema-agent.ts';
import { constant, object, type SchemaNode } from './schema-node.ts';
import { api, compliance, evaluation, guardrails, humanInTheLoop } from './schema-operation.ts';
import { observability, requires, skills, subagents } from './schema-operation.ts';

export const MANIFEST_API_VERSION = 'platform.io/v1';
export const MANIFEST_KIND = 'PlatformAgent';

/** The type `Manifest` follows from it. */
export const manifest = object('The declaration of one agent.', {
  'apiVersion!': constant('Version of this format.', MANIFEST_API_VERSION),
  'kind!': constant('Kind of document.', MANIFEST_KIND),
  'metadata!': metadata,
  'spec!': object('Parts and operation of the agent.', {
    'model!': model,
    prompts,
    tools,
    mcp,
    egress,
    memory,
    requires,
    guardrails,
    evaluation,
    observability,
    compliance,
    api,
    subagents,
    skills,
    humanInTheLoop,
  }),
});

/**
 * JSON Schema (2020-12) of the manifest. It is the only source of the validator (validate.generated.ts), the published
 * agent.schema.json, the reference page and the problem messages.
 */
export const MANIFEST_SCHEMA: SchemaNode = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'https://platform.io/schemas/v1/agent.schema.json',
  title: 'Agent manifest',
  ...manifest,
};

/** Cache by pointer, because most validation errors refer to a few nodes. */
const cache = new Map<string, SchemaNode>();

/** The schema node that the JSON pointer of a validation error (`#/properties/spec/required`) refers to. */
export function schemaNodeAt(pointer: string): SchemaNode {
  const node = cache.get(pointer) ?? find(pointer);
  cache.set(pointer, node);
  return node;
}

function find(pointer: string): SchemaNode {
  let node: unknown = MANIFEST_SCHEMA;
  for (const token of pointer.replace(/^#\/?/, '').split('/')) {
    if (token === '' || typeof node !== 'object' || node === null) break;
    node = (node as Record<string, unknown>)[
      decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~')
    ];
  }
  return typeof node === 'object' && node !== null ? node : {};
}
