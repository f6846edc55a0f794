import { expect, test } from '@jest/globals';
import { parseReply } from './parse-reply.ts';

const proof = {
  ruleId: 'MEM-01',
  verifiedBy: 'qa',
  method: 'sent a card number',
  verifiedAt: '2026-03-01T10:00:00Z',
};

test.each<[string, unknown, unknown]>([
  ['an empty object', {}, {}],
  ['a complete reply', whole(), whole()],
  ['proofs without a revision', { proof: [proof] }, {}],
  ['a revision without proofs', { proofRevision: 3 }, {}],
  [
    'proofs with their origins, one of them not a valid origin',
    {
      proof: [
        { ...proof, origin: 'local' },
        { ...proof, origin: 'control-plane' },
        { ...proof, origin: 'admin' },
      ],
      proofRevision: 2,
    },
    {
      proof: [{ ...proof, origin: 'local' }, { ...proof, origin: 'control-plane' }, proof],
      proofRevision: 2,
    },
  ],
  [
    'a malformed proof next to a valid proof',
    { proof: [{ ...proof, method: 7 }, proof, null], proofRevision: 2 },
    { proof: [proof], proofRevision: 2 },
  ],
  [
    'unknown members',
    { proof: [{ ...proof, extra: 1 }], proofRevision: 2, more: true },
    { proof: [proof], proofRevision: 2 },
  ],
  ['a negative total', { othersToday: { tokens: -1, costUsd: 0 } }, {}],
  ['an interval out of range', { intervalSeconds: 3 }, {}],
  ['a list', [1], {}],
])('keeps the valid members of %s', (_name, body, reply) => {
  expect(parseReply(JSON.stringify(body))).toEqual(reply);
});

test('a body that is not JSON is an empty reply', () => {
  expect(parseReply('<html>')).toEqual({});
});

function whole(): unknown {
  return {
    proof: [{ ...proof, expiresAt: '2027-03-01T10:00:00Z' }],
    proofRevision: 4,
    othersToday: { tokens: 12, costUsd: 0.5 },
    intervalSeconds: 60,
  };
}
