import { expect, test } from '@jest/globals';
import { crossSign, issueCa, issueLeaf } from '../../webhook/certificates/issue.ts';
import { certificatesIn, leadsTo } from './certificates.ts';

const NOW = { now: new Date(), days: 30 };
const old = await issueCa(NOW);
const next = await issueCa(NOW);
const cross = await crossSign(next, old, NOW.now);
const leaf = await issueLeaf(next, ['webhook.platform-system.svc'], NOW);

test.each([
  ['the CA that signed it', leaf.cert, next.cert, true],
  ['one of several CAs', leaf.cert, `${old.cert}${next.cert}`, true],
  ['another CA', leaf.cert, old.cert, false],
  ['the previous CA through the served chain', `${leaf.cert}${cross}`, old.cert, true],
  ['an empty bundle', leaf.cert, '', false],
  ['a CA if the chain is not a certificate', 'none', next.cert, false],
])('checks whether a certificate leads to %s', (_which, chain, bundle, leads) => {
  expect(leadsTo(certificatesIn(chain), certificatesIn(bundle))).toBe(leads);
});
