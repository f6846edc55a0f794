import { missingScrubFieldsPath } from './declarations.ts';
import { MEMORY, PROOF } from './evidence-kinds.ts';
import { OWASP } from './references.ts';
import type { RulesOfPack } from './rule.ts';

/** Rules about the agent's memory: personal data, retention, audit, isolation and size. */
export const MEMORY_RULES: RulesOfPack = {
  'MEM-01': {
    severity: 'critical',
    tier: 'X',
    passesWhen: 'there is no memory.longTerm, or memory.hygiene.piiScrubFields is not empty',
    violatedAt: missingScrubFieldsPath,
    evidence: PROOF,
    message: 'Personal data is stored in long-term memory without scrubbing.',
    recommendation: 'List the fields to scrub in spec.memory.hygiene.piiScrubFields.',
    references: [OWASP.disclosure],
  },
  'MEM-02': {
    severity: 'high',
    tier: 'P',
    passesWhen:
      'memory.shortTerm, if declared, has ttlSeconds, and memory.longTerm, if declared, has ttlDays',
    violatedAt: ({ spec }) => {
      const { shortTerm, longTerm } = spec.memory ?? {};
      if (shortTerm !== undefined && shortTerm.ttlSeconds === undefined)
        return 'spec.memory.shortTerm.ttlSeconds';
      if (longTerm !== undefined && longTerm.ttlDays === undefined) return 'spec.memory.longTerm.ttlDays';
      return null;
    },
    evidence: MEMORY,
    message: 'A declared memory has no TTL.',
    recommendation: 'Set spec.memory.shortTerm.ttlSeconds and spec.memory.longTerm.ttlDays.',
    references: [OWASP.disclosure],
  },
  'MEM-03': {
    severity: 'medium',
    tier: 'P',
    passesWhen: 'there is no memory.longTerm, or memory.hygiene.auditLog is true',
    violatedAt: ({ spec: { memory } }) =>
      memory?.longTerm !== undefined && memory.hygiene?.auditLog !== true
        ? 'spec.memory.hygiene.auditLog'
        : null,
    evidence: MEMORY,
    message: 'Writes to long-term memory are not recorded in an audit log.',
    recommendation: 'Set spec.memory.hygiene.auditLog to true.',
    references: [OWASP.poisoning],
  },
  'MEM-04': {
    severity: 'medium',
    tier: 'P',
    passesWhen: 'there is no memory.vector, or it has a namespace',
    violatedAt: ({ spec: { memory } }) =>
      memory?.vector !== undefined && !memory.vector.namespace?.trim()
        ? 'spec.memory.vector.namespace'
        : null,
    evidence: MEMORY,
    message: 'The vector store has no dedicated namespace.',
    recommendation: 'Set a dedicated namespace for this agent in spec.memory.vector.namespace.',
    references: [OWASP.vectors],
  },
  'MEM-05': {
    severity: 'low',
    tier: 'P',
    passesWhen: 'there is no memory.shortTerm, or it has maxTokens',
    violatedAt: ({ spec: { memory } }) =>
      memory?.shortTerm !== undefined && memory.shortTerm.maxTokens === undefined
        ? 'spec.memory.shortTerm.maxTokens'
        : null,
    evidence: MEMORY,
    message: 'Short-term memory has no token limit.',
    recommendation: 'Set spec.memory.shortTerm.maxTokens.',
    references: [OWASP.consumption],
  },
};
