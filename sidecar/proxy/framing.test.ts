import { describe, expect, test } from '@jest/globals';
import { frame, type RequestHead } from './framing.ts';

const line = (overrides: Partial<RequestHead> = {}): RequestHead => ({
  method: 'GET',
  url: '/a?b=1',
  httpVersion: '1.1',
  rawHeaders: ['Host', 'shop.test'],
  ...overrides,
});

describe('accepts a request', () => {
  test.each([
    ['in origin form', line(), { path: '/a?b=1', host: 'shop.test', body: 'none' }],
    ['with a doubled slash', line({ url: '//a' }), { path: '//a', host: 'shop.test', body: 'none' }],
    [
      'in absolute form, whose authority replaces Host',
      line({ url: 'http://other.test:81/x?y' }),
      { path: '/x?y', host: 'other.test:81', body: 'none' },
    ],
    [
      'in absolute form without a path',
      line({ url: 'HTTP://other.test' }),
      { path: '/', host: 'other.test', body: 'none' },
    ],
    [
      'in absolute form with only a query',
      line({ url: 'http://o?q' }),
      { path: '/?q', host: 'o', body: 'none' },
    ],
    ['with OPTIONS *', line({ method: 'OPTIONS', url: '*' }), { path: '*', host: 'shop.test', body: 'none' }],
    [
      'with OPTIONS for a whole host',
      line({ method: 'OPTIONS', url: 'http://o' }),
      { path: '*', host: 'o', body: 'none' },
    ],
    [
      'in HTTP/1.0 without Host',
      line({ httpVersion: '1.0', rawHeaders: [] }),
      { path: '/a?b=1', host: null, body: 'none' },
    ],
    [
      'with a length',
      line({ rawHeaders: ['Host', 'shop.test', 'content-length', '5'] }),
      { path: '/a?b=1', host: 'shop.test', body: 'sized' },
    ],
    [
      'with a length of 0',
      line({ rawHeaders: ['Host', '[::1]:80', 'content-length', '0'] }),
      { path: '/a?b=1', host: '[::1]:80', body: 'none' },
    ],
    [
      'chunked',
      line({ rawHeaders: ['Host', 'a', 'Transfer-Encoding', 'Chunked'] }),
      { path: '/a?b=1', host: 'a', body: 'chunked' },
    ],
  ])('%s', (_title, request, expected) => {
    expect(frame(request)).toMatchObject({ ok: true, ...expected });
  });
});

describe('rejects a request', () => {
  test.each([
    ['with two Host headers', line({ rawHeaders: ['Host', 'a', 'hOST', 'a'] }), 400],
    ['without Host', line({ rawHeaders: [] }), 400],
    ['with an invalid Host', line({ rawHeaders: ['Host', 'a, b'] }), 400],
    ['with a fragment', line({ url: '/a#b' }), 400],
    ['with an invalid host in its target', line({ url: 'http://a b/' }), 400],
    [
      'with a length above the safe integers',
      line({ rawHeaders: ['Host', 'a', 'Content-Length', '9007199254740993'] }),
      413,
    ],
    ['in HTTP/0.9', line({ httpVersion: '0.9' }), 505],
    ['in HTTP/2.0', line({ httpVersion: '2.0' }), 505],
    [
      'in HTTP/1.0 with a transfer coding',
      line({ httpVersion: '1.0', rawHeaders: ['Transfer-Encoding', 'chunked'] }),
      400,
    ],
    [
      'with another coding before chunked',
      line({ rawHeaders: ['Host', 'a', 'Transfer-Encoding', 'gzip, chunked'] }),
      501,
    ],
    [
      'with a non-ASCII blank before chunked',
      line({ rawHeaders: ['Host', 'a', 'Transfer-Encoding', '\xa0chunked'] }),
      501,
    ],
    [
      'with chunked twice',
      line({ rawHeaders: ['Host', 'a', 'Transfer-Encoding', 'chunked', 'Transfer-Encoding', 'chunked'] }),
      501,
    ],
    ['for * with another method', line({ url: '*' }), 400],
    ['for another scheme', line({ url: 'ftp://a/' }), 400],
    ['with credentials in its target', line({ url: 'http://u:p@a/' }), 400],
    ['for a target that is not a path', line({ url: 'a/b' }), 400],
  ])('%s', (_title, request, status) => {
    expect(frame(request)).toMatchObject({ ok: false, status });
  });
});
