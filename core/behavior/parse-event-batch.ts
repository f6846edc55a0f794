import type { JsonSchema } from '../untrusted/json-schema.ts';
import {
  described,
  fail,
  flag,
  integer,
  INVALID,
  isRecord,
  list,
  nullable,
  number,
  object,
  own,
  parseWith,
  text,
  type Field,
  type Parsed,
} from '../untrusted/fields.ts';
import { MAX_TOKENS } from '../usage/token-counts.ts';
import type { BehavioralEvent, EventBatch } from './audit-entry.ts';

/** Limits of `POST /events`: bytes of the body and number of events. */
export const EVENT_BATCH_LIMITS = { bytes: 64 * 1024, events: 500 } as const;

const name = text({ max: 500 });
const count = integer({ min: 0, max: MAX_TOKENS });

/** The members of each event variant. */
const VARIANTS: { [T in BehavioralEvent['type']]: Field<Omit<BehavioralEvent & { type: T }, 'type'>> } = {
  guardrail: object(
    { guardrailType: name, invoked: flag },
    { blocked: flag, score: number({ min: -1e9, max: 1e9 }) },
  ),
  tool: object({ name }, { success: flag, latencyMs: number({ min: 0, max: 1e12 }) }),
  model: object({ modelId: name, promptTokens: count, completionTokens: count }),
  memory: object({}, { backend: name, ttlSeconds: integer({ min: 0 }), piiScrubbed: flag }),
};

/** The schema of an event, from the schema of its members without `type`. */
function variantSchema(type: string, { required = [], properties }: JsonSchema): JsonSchema {
  return {
    title: type,
    type: 'object',
    required: ['type', ...(required as string[])],
    properties: { type: { type: 'string', const: type }, ...(properties as object) },
  };
}

const event: Field<BehavioralEvent> = described(
  { anyOf: Object.entries(VARIANTS).map(([type, { schema }]) => variantSchema(type, schema)) },
  (value, path, errors) => {
    if (!isRecord(value)) return fail(errors, path, 'must be an object');
    const type = own(value, 'type');
    if (typeof type !== 'string' || !Object.hasOwn(VARIANTS, type))
      return fail(errors, `${path}.type`, `must be one of ${Object.keys(VARIANTS).join(', ')}`);
    const members = VARIANTS[type as BehavioralEvent['type']](value, path, errors);
    return members === INVALID ? INVALID : ({ type, ...members } as BehavioralEvent);
  },
);

const batch: Field<EventBatch> = object(
  { requestId: nullable(text({ max: 128 })), events: list(event, { max: EVENT_BATCH_LIMITS.events }) },
  // The name is recorded but not checked, so an empty name must not make the batch invalid.
  { agentName: text({ max: 500, cut: true }) },
);

/** A batch with a request id, or `model` events only. */
const BATCH_SCHEMA: JsonSchema = {
  ...batch.schema,
  if: { type: 'object', required: ['requestId'], properties: { requestId: { type: 'string' } } },
  else: {
    type: 'object',
    properties: {
      events: {
        type: 'array',
        items: { type: 'object', properties: { type: { type: 'string', const: 'model' } } },
      },
    },
  },
};

/** The body of `POST /events`. Without a request only token counts are meaningful: all other events describe one request. */
export const eventBatch: Field<EventBatch> = described(BATCH_SCHEMA, (value, path, errors) => {
  const read = batch(value, path, errors);
  if (read === INVALID || read.requestId !== null) return read;
  const problems = errors.length;
  for (const [index, { type }] of read.events.entries())
    if (type !== 'model') fail(errors, `events[${index}].type`, 'must be model if requestId is absent');
  return errors.length > problems ? INVALID : read;
});

/** Parses the body of `POST /events`. An invalid body is rejected as a whole, with all errors. */
export function parseEventBatch(value: unknown): Parsed<EventBatch> {
  return parseWith(eventBatch, value);
}
