import { scrubsLongTerm } from './declarations.ts';
import { MEMORY, PROOF } from './evidence-kinds.ts';
import { OWASP } from './references.ts';
import type { Rule } from './rule.ts';

/** What an agent remembers, for how long, and who can tell. */
export const MEMORY_RULES: readonly Rule[] = [
  {
    id: 'MEM-01',
    pack: 'memory-hygiene',
    severity: 'critical',
    tier: 'X',
    passesWhen: 'there is no memory.longTerm, or memory.hygiene.piiScrubFields names fields',
    violatedAt: scrubsLongTerm,
    evidence: PROOF,
    message: 'Personal data goes into the long-term memory as it comes.',
    recommendation: 'Name the fields to scrub: spec.memory.hygiene.piiScrubFields.',
    references: [OWASP.disclosure],
  },
  {
    id: 'MEM-02',
    pack: 'memory-hygiene',
    severity: 'high',
    tier: 'P',
    passesWhen: 'memory.shortTerm has ttlSeconds and memory.longTerm has ttlDays, where they are declared',
    violatedAt: ({ spec }) => {
      const { shortTerm, longTerm } = spec.memory ?? {};
      if (shortTerm !== undefined && shortTerm.ttlSeconds === undefined)
        return 'spec.memory.shortTerm.ttlSeconds';
      if (longTerm !== undefined && longTerm.ttlDays === undefined) return 'spec.memory.longTerm.ttlDays';
      return null;
    },
    evidence: MEMORY,
    message: 'A memory keeps what it has for ever.',
    recommendation: 'Set spec.memory.shortTerm.ttlSeconds and spec.memory.longTerm.ttlDays.',
    references: [OWASP.disclosure],
  },
  {
    id: 'MEM-03',
    pack: 'memory-hygiene',
    severity: 'medium',
    tier: 'P',
    passesWhen: 'there is no memory.longTerm, or memory.hygiene.auditLog is true',
    violatedAt: ({ spec: { memory } }) =>
      memory?.longTerm !== undefined && memory.hygiene?.auditLog !== true
        ? 'spec.memory.hygiene.auditLog'
        : null,
    evidence: MEMORY,
    message: 'Nobody can tell what was written to the long-term memory.',
    recommendation: 'Set spec.memory.hygiene.auditLog to true.',
    references: [OWASP.poisoning],
  },
  {
    id: 'MEM-04',
    pack: 'memory-hygiene',
    severity: 'medium',
    tier: 'P',
    passesWhen: 'there is no memory.vector, or it has a namespace',
    violatedAt: ({ spec: { memory } }) =>
      memory?.vector !== undefined && !memory.vector.namespace?.trim()
        ? 'spec.memory.vector.namespace'
        : null,
    evidence: MEMORY,
    message: 'The vector store is not parted from what others keep in it.',
    recommendation: 'Give the agent a namespace of its own: spec.memory.vector.namespace.',
    references: [OWASP.vectors],
  },
  {
    id: 'MEM-05',
    pack: 'memory-hygiene',
    severity: 'low',
    tier: 'P',
    passesWhen: 'there is no memory.shortTerm, or it has maxTokens',
    violatedAt: ({ spec: { memory } }) =>
      memory?.shortTerm !== undefined && memory.shortTerm.maxTokens === undefined
        ? 'spec.memory.shortTerm.maxTokens'
        : null,
    evidence: MEMORY,
    message: 'A conversation can fill the context without a limit.',
    recommendation: 'Set spec.memory.shortTerm.maxTokens.',
    references: [OWASP.consumption],
  },
];
