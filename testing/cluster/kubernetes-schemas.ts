import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { CLUSTER_CACHE } from '../machine/cluster-binary.ts';

/** Directory to which e2e/cluster/build.sh writes the schemas. */
export const SCHEMAS = join(CLUSTER_CACHE, 'bin/schemas');
const DEFINITION = '#/definitions/';
/** Keywords without effect on validation. */
const FOR_OTHERS = new Set(['description', 'format', 'default', 'title']);

interface Definition {
  'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[];
}

/**
 * Validates objects with the OpenAPI document of a Kubernetes minor version, such as `1.33`. Unknown members are
 * rejected. Throws if the document does not exist.
 */
export class KubernetesSchemas {
  readonly #ajv = new Ajv({ strict: false, allErrors: true });
  readonly #names = new Map<string, string>();
  readonly #compiled = new Map<string, ValidateFunction>();

  constructor(minor: string) {
    const file = readdirSync(SCHEMAS).find((name) => name.startsWith(`kubernetes-v${minor}.`));
    if (file === undefined)
      throw new Error(`no schemas of Kubernetes ${minor} in ${SCHEMAS}: run make cluster-binaries`);
    const { definitions } = JSON.parse(readFileSync(join(SCHEMAS, file), 'utf8')) as {
      definitions: Record<string, Definition>;
    };
    for (const [name, definition] of Object.entries(definitions))
      for (const { group, version, kind } of definition['x-kubernetes-group-version-kind'] ?? [])
        this.#names.set(`${group === '' ? version : `${group}/${version}`} ${kind}`, name);
    const strict = Object.entries(definitions).map(([name, each]) => [name, strictly(name, each)]);
    this.#ajv.addSchema({ $id: 'kubernetes', definitions: Object.fromEntries(strict) as object });
  }

  /** Problems of an object; empty if valid. */
  problems(object: { apiVersion: string; kind: string }): string[] {
    const name = this.#names.get(`${object.apiVersion} ${object.kind}`);
    if (name === undefined) return [`there is no ${object.apiVersion} ${object.kind}`];
    const validate =
      this.#compiled.get(name) ?? this.#ajv.compile({ $ref: `kubernetes${DEFINITION}${name}` });
    this.#compiled.set(name, validate);
    if (validate(object)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message ?? ''} ${JSON.stringify(params)}`,
    );
  }
}

function strictly(name: string, definition: object): object {
  if (name.endsWith('api.resource.Quantity')) return { type: ['string', 'number'] };
  if (name.endsWith('util.intstr.IntOrString')) return { type: ['string', 'integer'] };
  return closed(definition);
}

/** Removes other keywords and forbids unnamed members. */
function closed(schema: object): object {
  const kept: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword.startsWith('x-') || FOR_OTHERS.has(keyword)) continue;
    if (keyword === 'properties')
      kept[keyword] = Object.fromEntries(
        Object.entries(value as Record<string, object>).map(([name, child]) => [name, closed(child)]),
      );
    else if (keyword === 'items' || keyword === 'additionalProperties')
      kept[keyword] = closed(value as object);
    else kept[keyword] = value;
  }
  if ('properties' in kept && !('additionalProperties' in kept)) kept['additionalProperties'] = false;
  return kept;
}
