import { SUPPRESSION_STATES } from '../../shapes/values.ts';
import { RULE_KINDS } from '../../fleet/rule-texts.ts';
import { PACKS } from '../../manifest/packs.ts';
import { closed, COUNT, enumOf, listOf, orNull, TEXT } from '../../untrusted/json-schema.ts';
import type { JsonSchema } from '../../untrusted/json-schema.ts';
import { severity } from '../../shapes/gap.ts';

const NAME = { agentName: TEXT, namespace: TEXT } as const;

/** Schemas of `GET /rules`. */
export const RULE_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  RuleState: {
    description: 'A rule, and its state in the last reports of the agents.',
    ...closed({
      id: { ...TEXT, description: 'For example `MODEL-01`, `tool:<name>` or `policy.memory_ttl_mismatch`.' },
      kind: {
        ...enumOf(RULE_KINDS),
        description: '`gap`: its issues lower the score of the gap. `compliance`: the audit scores it.',
      },
      pack: { ...orNull(enumOf(PACKS)), description: 'null: a gap rule.' },
      title: TEXT,
      severity: { ...severity.returns, description: 'The highest severity of its issues.' },
      points: {
        ...COUNT,
        description: '`gap`: points of an issue with this severity. `compliance`: weight of the rule.',
      },
      meaning: TEXT,
      remedy: TEXT,
      failing: {
        ...listOf(closed(NAME)),
        maxItems: 100,
        description: 'The first agents that fail the rule, by namespace and name.',
      },
      failingCount: { ...COUNT, description: 'Number of all agents that fail the rule.' },
      suppressed: {
        ...listOf(
          closed({
            ...NAME,
            reason: TEXT,
            approvedBy: orNull(TEXT),
            expires: { ...orNull(TEXT), description: 'As written in the manifest; null: never.' },
            state: enumOf(SUPPRESSION_STATES),
          }),
        ),
        maxItems: 100,
        description: 'The first suppressions of the rule, by namespace and name of the agent.',
      },
      suppressedCount: { ...COUNT, description: 'Number of all suppressions of the rule.' },
    }),
  },
};
