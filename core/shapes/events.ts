import { fail, INVALID } from '../untrusted/fields.ts';
import type { JsonSchema } from '../untrusted/json-schema.ts';
import { count, cutText, MAX_TEXT } from './common.ts';
import {
  fieldOf,
  flag,
  named,
  nullable,
  number,
  oneOf,
  optional,
  parseWith,
  text,
  type Field,
  type Parsed,
} from './field.ts';
import type { REQUESTED_ID } from './hidden-members.ts';
import { list, object, variants, type TypeOf } from './object.ts';
import { tokenCount } from './tokens.ts';

/** Limits of `POST /events`: bytes of the body and number of events. */
export const EVENT_BATCH_LIMITS = { bytes: 64 * 1024, events: 500 } as const;

const name = (description: string): Field<string> => text(description, { max: MAX_TEXT });

const guardrail = {
  guardrailType: name('`type` of the guardrail in the manifest.'),
  invoked: flag('Whether the guardrail ran.'),
  blocked: optional(flag('Whether it blocked the request or response.')),
  score: optional(number('Score of the detector.', { min: -1e9, max: 1e9 })),
};
const tool = {
  name: name('Name of the tool in the manifest.'),
  success: optional(flag('Whether the call succeeded.')),
  latencyMs: optional(number('Duration of the call in milliseconds.', { min: 0, limit: 1e12 })),
};
const model = {
  modelId: name('Model that was called.'),
  promptTokens: tokenCount('Tokens of the prompt.'),
  completionTokens: tokenCount('Tokens of the completion.'),
};
const memory = {
  backend: optional(name('Memory backend that was written to.')),
  ttlSeconds: optional(count('Time after which the entry expires.')),
  piiScrubbed: optional(flag('Whether personal data was removed first.')),
};

const source = optional(oneOf('The event was read from an OpenTelemetry span.', ['span']));

const event = variants('What the agent did for a request.', {
  guardrail: { ...guardrail, source },
  tool: { ...tool, source },
  model: { ...model, source },
  memory: { ...memory, source },
});

/** An event in the audit ring. Without `source` the agent sent it. */
export type BehavioralEvent = TypeOf<typeof event> & { [REQUESTED_ID]?: string };
export const behavioralEvent: Field<BehavioralEvent> = named('BehavioralEvent', event);

const batch = object('Events of one request.', {
  requestId: nullable(
    text(
      '`X-Request-Id` of the request. If absent, the batch belongs to no request and has only `model` events.',
      { max: 128 },
    ),
  ),
  events: list(
    'The events, in order.',
    variants('An event has the members of its `type`.', { guardrail, tool, model, memory }),
    { max: EVENT_BATCH_LIMITS.events },
  ),
  // The name is not checked, so an empty name must not make the batch invalid.
  'agentName?': cutText('Recorded, not verified.'),
});
export interface EventBatch extends TypeOf<typeof batch> {}

/** Accepts a batch with a request id, or with `model` events only. */
const ONLY_MODEL_EVENTS: JsonSchema = {
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
export const eventBatch: Field<EventBatch> = fieldOf(
  (value, path, errors) => {
    const read = batch(value, path, errors);
    if (read === INVALID || read.requestId !== null) return read;
    const problems = errors.length;
    for (const [index, { type }] of read.events.entries())
      if (type !== 'model') fail(errors, `events[${index}].type`, 'must be model if requestId is absent');
    return errors.length > problems ? INVALID : read;
  },
  () => ({ ...batch.schema, ...ONLY_MODEL_EVENTS }),
  () => batch.returns,
);

/** Parses the body of `POST /events`. An invalid body is rejected as a whole, with all errors. */
export function parseEventBatch(value: unknown): Parsed<EventBatch> {
  return parseWith(eventBatch, value);
}
