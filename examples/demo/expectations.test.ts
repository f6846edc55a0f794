import { expect, test } from '@jest/globals';
import { differences, type Seen } from './expectations.ts';

const PROPERTIES = ['auditable', 'evaluated', 'service:orders-db', 'tools.undeclared.refund_order'];

function seen(
  overrides: { row?: Partial<Seen['row']>; properties?: string[] } & Omit<Partial<Seen>, 'row'> = {},
): Seen {
  const { row, properties = PROPERTIES, ...rest } = overrides;
  return {
    row: {
      agentName: 'gappy',
      phase: 'Degraded',
      grade: 'D',
      score: 45,
      tokens: 90,
      evidence: { percent: 40, shown: 2, declared: 5 },
      proved: 7,
      compliant: { status: 'False', reason: 'GradeTooLow', message: 'the grade is too low' },
      lastSeen: '2026-03-01T10:00:00Z',
      ...row,
    },
    gap: {
      score: 45,
      grade: 'D',
      source: 'agent-sdk',
      issues: properties.map((property) => ({
        severity: 'low',
        property,
        description: 'd',
        recommendation: 'r',
      })),
      evidence: null,
    },
    upstreamTokens: 90,
    clientTokens: 90,
    seededTokens: 0,
    ...rest,
  };
}

test.each<[string, Seen, string[]]>([
  ['nothing', seen(), []],
  ['the phase', seen({ row: { phase: 'Healthy' } }), ['gappy: phase is Healthy, expected Degraded']],
  [
    'grade and score',
    seen({ row: { grade: 'B', score: 80 } }),
    ['gappy: grade is B, expected D', 'gappy: score is 80, expected 45'],
  ],
  [
    'an issue',
    seen({ properties: ['auditable', 'evaluated'] }),
    [`gappy: issues is auditable, evaluated, expected ${PROPERTIES.join(', ')}`],
  ],
  [
    'evidence',
    seen({ row: { evidence: { percent: 0, shown: 0, declared: 5 } } }),
    ['gappy: evidence is 0, expected 40'],
  ],
  [
    'evidence that has not arrived yet',
    seen({ row: { evidence: null } }),
    ['gappy: evidence is undefined, expected 40'],
  ],
  [
    'the verdict',
    seen({ row: { compliant: { status: 'True', reason: 'Compliant', message: '' } } }),
    ['gappy: Compliant is True Compliant, expected False GradeTooLow'],
  ],
  ['nothing, where the agent has no reporter,', seen({ upstreamTokens: null }), []],
  ['nothing, with the tokens of the seeded history', seen({ row: { tokens: 110 }, seededTokens: 20 }), []],
  ['tokens not reported yet', seen({ row: { tokens: 80 } }), ['gappy: tokens is 80, expected 90']],
  [
    'tokens that the agent counted otherwise than its client',
    seen({ clientTokens: 91 }),
    ['gappy: tokens that the upstream counted is 90, expected 91'],
  ],
])('reports a wrong value: %s', (_name, agent, sentences) => {
  expect(differences('gappy', agent)).toEqual(sentences);
});
