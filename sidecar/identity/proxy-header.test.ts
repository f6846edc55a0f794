import { describe, expect, test } from '@jest/globals';
import { headerReader, parseProxies, type Named } from './proxy-header.ts';

/** What the header gives on a connection from `address`. */
function read(
  rawHeaders: string[],
  { name = 'x-forwarded-user', proxies = '10.0.0.0/8, 127.0.0.1,fd00::/8', address = '10.1.2.3' } = {},
): Named {
  return headerReader(name, parseProxies(proxies)!)(rawHeaders, address);
}
const alice = ['x-forwarded-user', 'alice'];
const bytes = (text: string): string => Buffer.from(text).toString('latin1');

test.each<[string, string[], Named]>([
  ['the name', alice, { user: 'alice' }],
  ['the name in any case of the header', ['X-FORWARDED-USER', ' alice '], { user: 'alice' }],
  ['a name in UTF-8', ['x-forwarded-user', bytes('zoë')], { user: 'zoë' }],
  ['a name with a comma', ['x-forwarded-user', 'CN=alice,OU=shop'], { user: 'CN=alice,OU=shop' }],
  ['no percent-decoded name', ['x-forwarded-user', 'al%69ce'], { user: 'al%69ce' }],
  ['nothing without the header', ['x-user', 'alice'], { reason: 'no-header' }],
  ['nothing of a repeated header', [...alice, ...alice], { reason: 'invalid-header' }],
  ['nothing of an empty header', ['x-forwarded-user', ' '], { reason: 'invalid-header' }],
  ['nothing of a long header', ['x-forwarded-user', 'a'.repeat(257)], { reason: 'invalid-header' }],
  ['nothing of bytes that are not UTF-8', ['x-forwarded-user', 'zo\xeb'], { reason: 'invalid-header' }],
  ['nothing with a tab', ['x-forwarded-user', 'a\tb'], { reason: 'invalid-header' }],
  ['nothing with a line separator', ['x-forwarded-user', bytes('a\u2028b')], { reason: 'invalid-header' }],
])('returns %s', (_what, headers, expected) => {
  expect(read(headers)).toEqual(expected);
});

test.each([
  ['10.255.0.1', { user: 'alice' }],
  ['::ffff:10.0.0.1', { user: 'alice' }],
  ['127.0.0.1', { user: 'alice' }],
  ['fd12::1', { user: 'alice' }],
  ['11.0.0.1', { reason: 'foreign-address' }],
  ['::ffff:11.0.0.1', { reason: 'foreign-address' }],
  ['127.0.0.2', { reason: 'foreign-address' }],
  ['::1', { reason: 'foreign-address' }],
  ['fe80::1%eth0', { reason: 'foreign-address' }],
  ['', { reason: 'foreign-address' }],
])('from %s', (address, expected) => {
  expect(read(alice, { address })).toEqual(expected);
});

test('an IPv4 address is in a network in IPv6 notation', () => {
  expect(read(alice, { proxies: '::ffff:10.0.0.0/104' })).toEqual({ user: 'alice' });
});

describe('the certificates of Envoy', () => {
  const certificates = (value: string): Named =>
    read(['X-Forwarded-Client-Cert', value], { name: 'x-forwarded-client-cert' });

  test.each([
    ['By=spiffe://td/ns/a/sa/agent;Hash=ab;URI=spiffe://td/ns/a/sa/web', 'spiffe://td/ns/a/sa/web'],
    ['URI=spiffe://td/first,By=x;URI=spiffe://td/second', 'spiffe://td/first'],
    ['URI=https://td/web;URI=spiffe://td/web', 'spiffe://td/web'],
    ['Subject="CN=a,O=\\"b;URI=spiffe://td/evil";URI="spiffe://td/web"', 'spiffe://td/web'],
    ['Subject=" ,URI=spiffe://td/evil";Hash=1, URI=spiffe://td/web', 'spiffe://td/web'],
  ])('%s', (value, user) => {
    expect(certificates(value)).toEqual({ user });
  });

  test.each([
    'Hash=ab',
    'URI=',
    'URI=https://td/web',
    'uri=spiffe://td/web',
    'Subject="unclosed;URI=spiffe://td/evil',
    'Subject=a"b;URI=spiffe://td/evil',
    'junk;URI=spiffe://td/web',
    `URI=spiffe://td/${'a'.repeat(300)}`,
    `Subject="${'\\"'.repeat(8_000)}`,
  ])('%s has no identity', (value) => {
    expect(certificates(value)).toEqual({ reason: 'invalid-header' });
  });
});

test.each([
  '',
  '10.0.0.0/8,',
  '10.0.0.0/33',
  '::/129',
  '0.0.0.0/0',
  '::/0',
  '10.0.0.0/8/8',
  '10.0.0.0/x',
  'proxy',
  '10.0.0',
  '10.0.0.0/ 8',
])('rejects the proxies %j', (raw) => {
  expect(parseProxies(raw)).toBeUndefined();
});
