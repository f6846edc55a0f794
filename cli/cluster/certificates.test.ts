import { expect, test } from '@jest/globals';
import { crossSign, issueCa, issueLeaf } from '../../webhook/certificates/issue.ts';
import { certificatesIn, leadsTo } from './certificates.ts';

const NOW = { now: new Date(), days: 30 };
const old = await issueCa(NOW);
const next = await issueCa(NOW);
const cross = await crossSign(next, old, NOW.now);
const leaf = await issueLeaf(next, ['webhook.platform-system.svc'], NOW);

test.each([
  ['the authority that signed it', leaf.cert, next.cert, true],
  ['one of several', leaf.cert, `${old.cert}${next.cert}`, true],
  ['another authority', leaf.cert, old.cert, false],
  ['the one before, by the chain that it brings', `${leaf.cert}${cross}`, old.cert, true],
  ['none', leaf.cert, '', false],
  ['nothing that is a certificate', 'none', next.cert, false],
])('a certificate leads to %s', (_which, chain, bundle, leads) => {
  expect(leadsTo(certificatesIn(chain), certificatesIn(bundle))).toBe(leads);
});
