import { Ajv2020, type Options, type ValidateFunction } from 'ajv/dist/2020.js';
import type { JsonSchema } from '../../core/untrusted/json-schema.ts';
import { isoTime, parseWith } from '../../core/shapes/field.ts';

const TIME = isoTime('A time.');

/** The parts of an OpenAPI document that tests read. */
export interface ApiDocument {
  servers: { url: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, ApiOperation>>;
  components: { schemas: Record<string, JsonSchema> };
}

export interface ApiOperation {
  operationId: string;
  tags?: string[];
  security: Record<string, unknown>[];
  parameters?: ApiParameter[];
  requestBody?: { content: Record<string, { schema: JsonSchema }> };
  responses: Record<string, { content?: Record<string, { schema: JsonSchema }> }>;
}

export interface ApiParameter {
  name: string;
  in: 'path' | 'query' | 'header';
  schema: JsonSchema;
  explode?: boolean;
}

const OPTIONS: Options = {
  strict: true,
  allErrors: true,
  // Like the parsers, which count UTF-16 units. ajv warns that the option is deprecated.
  unicode: false,
  logger: false,
  formats: {
    'date-time': (text) => parseWith(TIME, text).ok,
    date: /^\d{4}-\d{2}-\d{2}$/,
  },
};

/** Validators for the schemas of a document. Times must be as the product writes and accepts them. */
export class ApiSchemas {
  readonly #ajv: Ajv2020;
  readonly #compiled = new Map<string, ValidateFunction>();

  /** @param options.isNew checks the schemas with the schema of JSON Schema, whose compilation takes longest */
  constructor(components: ApiDocument['components'], { isNew = false } = {}) {
    this.#ajv = new Ajv2020({ ...OPTIONS, meta: isNew, validateSchema: isNew });
    this.#ajv.addKeyword('components').addSchema({ $id: 'openapi', components });
  }

  /** Errors of the value; empty: it is valid. Throws if the schema is not valid in the strict mode of ajv. */
  errors(schema: JsonSchema, value: unknown): string[] {
    // The schema is compiled alone, so its references need the name of the document.
    const text = JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"openapi#/');
    const validate = this.#compiled.get(text) ?? this.#ajv.compile(JSON.parse(text) as object);
    this.#compiled.set(text, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message = '', params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    );
  }
}

/** The operations of a document with the expressions that match their paths below every server. */
export function operationsOf({ servers, paths }: ApiDocument) {
  const prefixes = servers.map(({ url }) => escaped(url === '/' ? '' : url)).join('|');
  return Object.entries(paths).flatMap(([path, operations]) => {
    const template = path
      .split(/\{\w+\}/)
      .map(escaped)
      .join('[^/]+');
    // Express ignores case and a slash at the end.
    const pattern = new RegExp(`^(?:${prefixes})${template}/?$`, 'i');
    return Object.entries(operations).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      pattern,
      operation,
    }));
  });
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
