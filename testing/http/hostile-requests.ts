import { gzipSync } from 'node:zlib';
import type { JsonSchema } from '../../core/untrusted/json-schema.ts';
import { HOSTILE_VALUES, mutationsOf, type Mutation } from '../random/mutations.ts';
import type { ApiOperation, ApiParameter, ApiSchemas } from './open-api.ts';
import { IN_SOAK } from '../time/real-time.ts';

/**
 * Bad values that each member of a body gets, in turns. scripts/http-bodies.test.ts gives all values to the parsers, without
 * requests.
 */
const VALUES_PER_MEMBER = IN_SOAK ? HOSTILE_VALUES.length + 1 : 2;

/** A part of a request that must be rejected with one of the statuses. */
export interface HostilePart {
  title: string;
  statuses: readonly number[];
}

const TEXTS: readonly string[] = [
  '',
  ' ',
  'x',
  '0',
  '-1',
  '1.5',
  '1e3',
  'NaN',
  '99999999999999999999',
  'true,x',
  '..',
  '../../etc/passwd',
  '%00',
  '\u0000',
  '__proto__',
  'constructor',
  'toString',
  'ÄÖ🎉',
  "' OR 1=1 --",
  '2026-02-30T00:00:00Z',
  'x'.repeat(4_000),
];

/** Encoded texts for a parameter of the path. */
export const HOSTILE_SEGMENTS: readonly string[] = [
  '%20',
  '%00',
  '%ff',
  '%E0%A4%A',
  '%2e%2e%2f%2e%2e',
  'A',
  '-x',
  '__proto__',
  'constructor',
  'x'.repeat(4_000),
];

/** Queries that the schemas of the parameters do not accept, and parameters that are given twice. */
export function hostileQueries(
  { parameters = [] }: ApiOperation,
  schemas: ApiSchemas,
): (HostilePart & { query: string; name: string })[] {
  return parameters
    .filter((parameter) => parameter.in === 'query')
    .flatMap((parameter) => {
      const { name } = parameter;
      const isRejected = (text: string): boolean =>
        schemas.errors(parameter.schema, valueOf(text, parameter)).length > 0;
      const twice = `${name}=x&${name}=x`;
      return [
        ...TEXTS.filter(isRejected).map((text) => ({
          title: `${name}=${text.slice(0, 30)}`,
          query: queryOf(name, text),
        })),
        { title: twice, query: twice },
      ].map((each) => ({ ...each, name, statuses: [400] }));
    });
}

const queryOf = (name: string, text: string): string => `${name}=${encodeURIComponent(text)}`;

/** The value that the text of a parameter stands for. */
function valueOf(text: string, { schema, explode }: ApiParameter): unknown {
  if (explode === false) return text.split(',');
  return schema['type'] === 'integer' && /^\d+$/.test(text) ? Number(text) : text;
}

export interface HostileBody extends HostilePart {
  body: string | Uint8Array;
  headers?: Record<string, string>;
}

/** Bodies that the schema does not accept, and bytes that are not JSON. `limit`: more bytes than any route accepts. */
export function hostileBodies(
  example: object,
  schema: JsonSchema,
  { schemas, limit }: { schemas: ApiSchemas; limit: number },
): HostileBody[] {
  const isRejected = (body: unknown): boolean => schemas.errors(schema, body).length > 0;
  const mutated = [
    ...HOSTILE_VALUES.filter(isRejected).map((body) => ({
      title: `the body ${JSON.stringify(body).slice(0, 40)}`,
      body,
    })),
    ...inTurns(mutationsOf(example).filter(({ body }) => isRejected(body))),
  ];
  const text = JSON.stringify(example);
  return [
    // As text, because a rig sends texts and bytes without encoding them again.
    ...mutated.map(({ title, body }) => ({ title, body: JSON.stringify(body), statuses: [400] })),
    { title: 'no body', body: '', statuses: [400] },
    { title: 'half of the body', body: text.slice(0, text.length / 2), statuses: [400] },
    { title: 'deeply nested lists', body: '['.repeat(6_000) + ']'.repeat(6_000), statuses: [400] },
    { title: 'bytes that are not UTF-8', body: new Uint8Array([0xff, 0xfe, 0x00, 0xd8]), statuses: [400] },
    { title: 'too many bytes', body: text.padEnd(limit + 1, ' '), statuses: [413] },
    {
      title: 'too many bytes, compressed',
      body: gzipSync(Buffer.alloc(limit * 20, ' ')),
      headers: { 'content-encoding': 'gzip' },
      statuses: [413],
    },
    {
      title: 'invalid gzip',
      body: text,
      headers: { 'content-encoding': 'gzip' },
      statuses: [400],
    },
    ...['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=x'].map((type) => ({
      title: `the body as ${type}`,
      body: text,
      headers: { 'content-type': type },
      statuses: [415],
    })),
    {
      title: 'an unknown encoding',
      body: text,
      headers: { 'content-encoding': 'x' },
      statuses: [415],
    },
  ];
}

/** Some mutations of each member, beginning with another one for each. */
function inTurns(mutations: readonly Mutation[]): Mutation[] {
  return [...Map.groupBy(mutations, ({ path }) => path).values()].flatMap((all, turn) => {
    const start = (turn * VALUES_PER_MEMBER) % all.length;
    return [...all.slice(start), ...all.slice(0, start)].slice(0, VALUES_PER_MEMBER);
  });
}
