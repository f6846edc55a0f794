import type { Operation, OperationParameter, OperationResponse } from './operation.ts';
import { ref, TEXT, type JsonSchema } from '../untrusted/json-schema.ts';

/** A row of a route table, as far as the document describes it. */
export interface DocumentedRoute {
  method: string;
  /** An Express path, such as `/proof/rule/:ruleId`. */
  path: string;
  access: string;
  summary: string;
  operation: Operation;
  /** Name of the group in which documentation shows the operation. */
  tag?: string;
}

/** What all routes of one kind of access have in common. */
export interface Access extends Pick<Operation, 'responses' | 'headers'> {
  /** Names of security schemes; empty: no credentials. */
  security: readonly string[];
}

export interface DocumentOptions {
  title: string;
  description: string;
  version: string;
  /** Each route is served below each of these URLs. */
  servers: readonly { url: string; description: string }[];
  routes: readonly DocumentedRoute[];
  access: (route: DocumentedRoute) => Access;
  securitySchemes?: Readonly<Record<string, JsonSchema>>;
  /** Parameters of paths by name. */
  pathParameters: Readonly<Record<string, OperationParameter>>;
  /** Descriptions of the tags, in the order of the document; default: no tags. */
  tags?: Readonly<Record<string, string>>;
  /** The schemas that operations and schemas name. Those that are not used are left out. */
  schemas: Readonly<Record<string, JsonSchema>>;
}

/** Responses by status: of the operation, else of its access, else of its parts. */
type Responses = Operation['responses'];

const EVERY_OPERATION: Responses = {
  431: 'The request has too many or too long header fields.',
  500: 'Internal error; see the log of the process.',
};
const WITH_PATH_PARAMETER: Responses = { 400: 'The path is not a valid URI.' };
const WITH_QUERY: Responses = { 400: 'The query is not valid.' };
const WITH_BODY: Responses = {
  400: 'The body is not valid; `errors` lists each invalid member.',
  413: 'The body is too large.',
  415: 'The content type is another one, or its charset or encoding is not supported.',
};

const JSON_TYPE = 'application/json';

/** A parameter or wildcard of an Express path. */
const PARAMETER = /[:*](\w+)/g;

/** The OpenAPI 3.1 document of a route table. Throws if an operation names an unknown schema or tag. */
export function openApiDocument(options: DocumentOptions): JsonSchema {
  const { title, description, version, servers, routes, securitySchemes, tags } = options;
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(PARAMETER, '{$1}');
    (paths[path] ??= {})[route.method.toLowerCase()] = operationOf(route, options);
  }
  return {
    openapi: '3.1.0',
    info: { title, description, version, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers,
    ...(tags && { tags: Object.entries(tags).map(([name, about]) => ({ name, description: about })) }),
    paths,
    components: {
      schemas: usedSchemas(paths, options.schemas),
      ...(securitySchemes && { securitySchemes }),
    },
  };
}

function operationOf(route: DocumentedRoute, options: DocumentOptions): JsonSchema {
  const { operation, summary: description, tag } = route;
  if (tag !== undefined && options.tags?.[tag] === undefined)
    throw new Error(`the tag ${tag} is not defined`);
  const access = options.access(route);
  const parameters = [
    ...pathParametersOf(route.path, options),
    ...parametersIn('query', operation.query),
    ...parametersIn('header', { ...access.headers, ...operation.headers }),
  ];
  return {
    ...(tag !== undefined && { tags: [tag] }),
    operationId: operation.id,
    summary: titleOf(operation.id),
    description,
    security: access.security.map((name) => ({ [name]: [] })),
    ...(parameters.length > 0 && { parameters }),
    ...(operation.body !== undefined && {
      requestBody: { required: true, content: contentOf(operation.bodyType ?? JSON_TYPE, operation.body) },
    }),
    responses: responsesOf(route, access),
  };
}

/** `listAgents` → `List agents` */
function titleOf(id: string): string {
  const words = id.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1).replaceAll(/\bapi\b/g, 'API');
}

const namesIn = (path: string): string[] => [...path.matchAll(PARAMETER)].map(([, name = '']) => name);

function pathParametersOf(path: string, { pathParameters }: DocumentOptions): JsonSchema[] {
  return namesIn(path).map((name) => ({
    name,
    in: 'path',
    required: true,
    ...(pathParameters[name] ?? { schema: TEXT }),
  }));
}

const parametersIn = (place: string, parameters: Operation['query'] = {}): JsonSchema[] =>
  Object.entries(parameters).map(([name, { schema, description, explode }]) => ({
    name,
    in: place,
    description,
    // A QueryParameter also has its reader, which is not part of the document.
    schema,
    ...(explode === false && { explode }),
  }));

function responsesOf({ path, operation }: DocumentedRoute, access: Access): JsonSchema {
  const all: Responses = {
    ...EVERY_OPERATION,
    ...(namesIn(path).length > 0 && WITH_PATH_PARAMETER),
    ...(operation.query && WITH_QUERY),
    ...(operation.body !== undefined && WITH_BODY),
    ...access.responses,
    ...operation.responses,
  };
  const rows = Object.entries<OperationResponse | string>(withEtag(all));
  return Object.fromEntries(rows.map(([status, response]) => [status, responseOf(Number(status), response)]));
}

/** The response that a 304 stands for has the same ETag. */
function withEtag(all: Responses): Responses {
  const { 200: ok, 304: unchanged } = all;
  if (typeof ok !== 'object' || typeof unchanged !== 'object') return all;
  return { ...all, 200: { ...ok, headers: { ...ok.headers, ...unchanged.headers } } };
}

function responseOf(status: number, given: OperationResponse | string): JsonSchema {
  const response = typeof given === 'string' ? { description: given } : given;
  const { description, headers }: OperationResponse = response;
  const content = contentOfResponse(status, response);
  return { description, ...(headers && { headers: headersOf(headers) }), ...(content && { content }) };
}

function contentOfResponse(status: number, { schema, contentType }: OperationResponse): JsonSchema | null {
  if (contentType !== undefined) return contentOf(contentType, schema ?? TEXT);
  if (status >= 400) return contentOf('application/problem+json', schema ?? 'Problem');
  return schema === undefined ? null : contentOf(JSON_TYPE, schema);
}

const headersOf = (headers: Readonly<Record<string, string>>): JsonSchema =>
  Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: TEXT }]),
  );

const contentOf = (type: string, schema: string | JsonSchema): JsonSchema => ({
  [type]: { schema: typeof schema === 'string' ? ref(schema) : schema },
});

/** The schemas that the paths name, and those that these schemas name, sorted by name. */
function usedSchemas(
  paths: object,
  schemas: Readonly<Record<string, JsonSchema>>,
): Record<string, JsonSchema> {
  const used = new Map<string, JsonSchema>();
  const follow = (part: object): void => {
    for (const name of referencesIn(part)) {
      if (used.has(name)) continue;
      const schema = schemas[name];
      if (schema === undefined) throw new Error(`the schema ${name} is not defined`);
      used.set(name, schema);
      follow(schema);
    }
  };
  follow(paths);
  return Object.fromEntries([...used].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function referencesIn(part: object): string[] {
  return Object.entries(part).flatMap(([key, value]: [string, unknown]) => {
    if (key === '$ref' && typeof value === 'string') return [value.replace(/^.*\//, '')];
    return typeof value === 'object' && value !== null ? referencesIn(value) : [];
  });
}
