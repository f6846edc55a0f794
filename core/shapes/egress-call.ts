import { amount, count, utcDay } from './common.ts';
import { flag, integer, isoTime, like, nullable, oneOf, text, type Field } from './field.ts';
import { identity } from './identity.ts';
import { list, namedObject, type ObjectOf, type TypeOf } from './object.ts';
import { OUTCOMES } from './values.ts';

const tokenMembers = {
  promptTokens: count('Tokens of the prompt, with cached and written tokens.'),
  cachedTokens: count("Read from the vendor's cache. Part of promptTokens."),
  cacheWriteTokens: count("Written to the vendor's cache. Part of promptTokens."),
  completionTokens: count('Tokens of the completion, with the tokens of the reasoning.'),
  reasoningTokens: count('Part of completionTokens.'),
};

/** Tokens of one response. Cached and written tokens are parts of the prompt, reasoning tokens of the completion. */
export interface ModelUsage extends ObjectOf<typeof tokenMembers> {}

const PRICE_DATE = 'Day of the default price. Absent with costUsd: the manifest declares the price.';
const day = utcDay(PRICE_DATE);

export const egressUsage = namedObject('EgressUsage', 'Tokens as the vendor states them.', {
  ...tokenMembers,
  'costUsd?': amount('US dollars. Absent: the price of the model is not known.'),
  'priceDate?': like(day, () => ({ description: PRICE_DATE, type: 'string', format: 'date' })),
});

/** Tokens of one call as the vendor states them. */
export interface EgressUsage extends TypeOf<typeof egressUsage> {}

// The log shares the lists of its calls, so nothing may change them.
const names = (about: string): Field<readonly string[]> => list(about, text('A name or a reason.'));

const OUTCOME = 'failOpen: the policy engine could not evaluate the call, and it passed.';
const outcome = oneOf(OUTCOME, OUTCOMES);

export const egressCall = namedObject(
  'EgressCall',
  'One call of the agent through an egress lane. It has no bodies, no query and no keys.',
  {
    id: integer('Increases by one with each call of this sidecar.', { min: 1 }),
    at: isoTime('Time of arrival.'),
    lane: text('Such as `openai` or `mcp:files`; `connect`: a tunnel.'),
    method: text('Method of the request.'),
    path: text('Path at the upstream.'),
    model: nullable(text('The requested model; a deployment in the path is one. null: not known.')),
    stream: flag('Whether the request asks for a stream.'),
    toolsOffered: names(
      'Tools that the request offers to the model; for an MCP server: the tools that it lists.',
    ),
    toolsCalled: names(
      'Tools that the response calls, with removed calls; for an MCP server: the called tools.',
    ),
    toolsExecuted: names('Tools whose results are in the request.'),
    usage: nullable(egressUsage),
    statusCode: nullable(
      integer('Status that the agent received. null: it disconnected first.', { min: 100, max: 999 }),
    ),
    durationMs: amount('Milliseconds.'),
    violations: names('Reasons of the denial.'),
    blocked: flag('Whether the request was denied, or a call was removed from its response.'),
    outcome: like(outcome, () => ({ description: OUTCOME, enum: OUTCOMES })),
    requestId: nullable(text('The request during which the agent made the call. null: not known.')),
    'identity?': identity,
    'otherModels?': names(
      'Further models that the request names, such as fallbacks of a gateway. Absent: none.',
    ),
  },
);

/** One call of the agent through a lane, as `GET /egress` returns it. */
export interface EgressCall extends TypeOf<typeof egressCall> {}
