import { COVERAGE_KINDS } from '../../fleet/kinds.ts';
import { closed, COUNT, enumOf, listOf, orNull, ref, TEXT, TIME } from '../../untrusted/json-schema.ts';
import type { JsonSchema } from '../../untrusted/json-schema.ts';

const KIND: JsonSchema = enumOf(COVERAGE_KINDS);

/** Schemas of `GET /coverage`. */
export const COVERAGE_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  CoverageReport: {
    description: 'The parts of agents that nothing reports.',
    ...closed({
      generatedAt: TIME,
      agents: { ...COUNT, description: 'Number of examined agents.' },
      gaps: {
        ...listOf(ref('CoverageGap')),
        description: 'By kind, then by namespace and name; at most `limit` of each kind.',
      },
      kinds: { ...listOf(ref('CoverageKind')), description: 'Every kind, also without gaps.' },
    }),
  },
  CoverageGap: {
    description: 'One part of one agent that nothing reports.',
    ...closed({
      kind: KIND,
      agentName: TEXT,
      namespace: TEXT,
      reason: { ...TEXT, description: 'What is not seen, with its numbers and names.' },
      remedy: { ...TEXT, description: 'What to do about it.' },
      since: { ...orNull(TIME), description: 'null: not known.' },
    }),
  },
  CoverageKind: {
    description: 'A kind of gap.',
    ...closed({
      kind: KIND,
      title: TEXT,
      explanation: TEXT,
      count: { ...COUNT, description: 'Number of agents, also of those that `gaps` does not list.' },
    }),
  },
};
