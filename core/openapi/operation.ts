import type { JsonSchema } from '../untrusted/json-schema.ts';

/** The response of one status. */
export interface OperationResponse {
  description: string;
  /**
   * Name of a schema in `SCHEMAS` (core/openapi/schemas.ts), or a schema. Absent: a Problem for 4xx and 5xx, a text if
   * `contentType` is set, else no body.
   */
  schema?: string | JsonSchema;
  /** Default: `application/json`; `application/problem+json` for 4xx and 5xx. */
  contentType?: string;
  headers?: Readonly<Record<string, string>>;
}

/** A parameter of a request: the values that are accepted, and what it is for. */
export interface OperationParameter {
  schema: JsonSchema;
  description: string;
  /** false: the values of a list are in one parameter, separated by commas. */
  explode?: false;
}

/** What a row of a route table states about its requests and responses, for OpenAPI. */
export interface Operation {
  /** The operation id: camelCase, unique in its document, such as `listAgents`. */
  id: string;
  /** Parameters of the query by name: the readers of `readQuery`, so that the document and the validator are one table. */
  query?: Readonly<Record<string, OperationParameter>>;
  /** Request headers by name, without credentials. */
  headers?: Readonly<Record<string, OperationParameter>>;
  /** Name of a schema in `SCHEMAS`, or a schema; absent: no body. */
  body?: string | JsonSchema;
  /** Content type of the body; default: `application/json`. */
  bodyType?: string;
  /** By status. A Problem, or a response without a body, needs only a description: `{ 404: 'Unknown agent.' }`. */
  responses: Readonly<Record<number, OperationResponse | string>>;
}
