import { mcp, memory, metadata, model, prompts, tools } from './schema-agent.ts';
import { object, type SchemaNode } from './schema-node.ts';
import { api, compliance, evaluation, guardrails, humanInTheLoop } from './schema-operation.ts';
import { observability, requires, skills, subagents } from './schema-operation.ts';

export const MANIFEST_API_VERSION = 'platform.io/v1';
export const MANIFEST_KIND = 'PlatformAgent';

/**
 * The manifest's JSON Schema (2020-12): the one source of the validator (validate.generated.ts), the published
 * agent.schema.json, the reference page and the messages of problems.
 */
export const MANIFEST_SCHEMA: SchemaNode = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'https://platform.io/schemas/v1/agent.schema.json',
  title: 'Agent manifest',
  ...object('The declaration of one agent.', {
    'apiVersion!': { type: 'string', description: 'Version of this format.', const: MANIFEST_API_VERSION },
    'kind!': { type: 'string', description: 'Kind of document.', const: MANIFEST_KIND },
    'metadata!': metadata,
    'spec!': object('What the agent is made of and how it is run.', {
      'model!': model,
      prompts,
      tools,
      mcp,
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
  }),
};

/** By pointer: a validator's errors name the same few again and again. */
const known = new Map<string, SchemaNode>();

/** The node that a JSON pointer of a validation error (`#/properties/spec/required`) points into. */
export function schemaNodeAt(pointer: string): SchemaNode {
  const node = known.get(pointer) ?? find(pointer);
  known.set(pointer, node);
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
