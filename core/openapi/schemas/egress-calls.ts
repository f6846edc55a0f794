import { OUTCOMES } from '../../behavior/audit-entry.ts';
import { AMOUNT, closed, COUNT, FLAG, listOf, orNull, ref, TEXT, TIME } from '../../untrusted/json-schema.ts';
import type { JsonSchema } from '../../untrusted/json-schema.ts';

/** Schemas of the calls through the egress lanes. */
export const EGRESS_CALL_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  EgressCall: {
    description: 'One call of the agent through an egress lane. It has no bodies, no query and no keys.',
    ...closed(
      {
        id: { type: 'integer', minimum: 1 },
        at: TIME,
        lane: { type: 'string', description: 'Such as `openai` or `mcp:files`; `connect`: a tunnel.' },
        method: TEXT,
        path: { type: 'string', description: 'Path at the upstream.' },
        model: { ...orNull(TEXT), description: 'The requested model; a deployment in the path is one.' },
        stream: FLAG,
        toolsOffered: { ...listOf(TEXT), description: 'For an MCP server: the tools that it lists.' },
        toolsCalled: { ...listOf(TEXT), description: 'Tools that the response calls, with removed calls.' },
        toolsExecuted: { ...listOf(TEXT), description: 'Tools whose results are in the request.' },
        usage: orNull(ref('EgressUsage')),
        statusCode: { ...orNull({ type: 'integer' }), description: 'null: the agent disconnected first.' },
        durationMs: AMOUNT,
        violations: listOf(TEXT),
        blocked: FLAG,
        outcome: {
          enum: OUTCOMES,
          description: 'failOpen: the policy engine could not evaluate the call, and it passed.',
        },
        requestId: { ...orNull(TEXT), description: 'The request during which the agent made the call.' },
      },
      {
        otherModels: {
          ...listOf(TEXT),
          description: 'Further models that the request names, such as fallbacks of a gateway. Absent: none.',
        },
      },
    ),
  },
  EgressUsage: {
    description: 'Tokens as the vendor states them.',
    ...closed(
      {
        promptTokens: COUNT,
        cachedTokens: { ...COUNT, description: 'Part of promptTokens.' },
        cacheWriteTokens: { ...COUNT, description: 'Part of promptTokens.' },
        completionTokens: COUNT,
        reasoningTokens: { ...COUNT, description: 'Part of completionTokens.' },
      },
      {
        costUsd: {
          ...AMOUNT,
          description: 'Absent: the price of the model is not known.',
        },
        priceDate: {
          ...{ type: 'string', format: 'date' },
          description: 'Day of the default price. Absent with costUsd: the manifest declares the price.',
        },
      },
    ),
  },
};
