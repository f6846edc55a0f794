import { describe, expect, test } from '@jest/globals';
import { requestHeaders, requestTrailers, responseHeaders, responseTrailers, valuesOf } from './headers.ts';

const to = { requestId: 'r-1', traceparent: null, host: 'shop.test', remoteAddress: '10.0.0.9' };
const added = [
  'X-Forwarded-For',
  '10.0.0.9',
  'X-Forwarded-Proto',
  'http',
  'X-Forwarded-Host',
  'shop.test',
  'X-Forwarded-Port',
  '80',
  'Forwarded',
  'for=10.0.0.9;host=shop.test;proto=http',
  'X-Request-Id',
  'r-1',
];

describe('the head of a request', () => {
  test.each<[string, string[], string[]]>([
    [
      'keeps order, case and repeated lines',
      ['B-b', '1', 'a', '2', 'B-b', '3'],
      ['B-b', '1', 'a', '2', 'B-b', '3'],
    ],
    ['keeps the trace', ['traceparent', '00-1-2-01'], ['traceparent', '00-1-2-01']],
    [
      'drops hop-by-hop headers',
      [
        'Connection',
        'keep-alive',
        'Keep-Alive',
        'timeout=5',
        'Proxy-Connection',
        'x',
        'TE',
        'gzip',
        'Upgrade',
        'x',
        'Proxy-Authorization',
        'y',
      ],
      [],
    ],
    [
      'drops headers that Connection lists',
      ['Connection', 'close, X-Hop', 'x-hop', '1', 'x-end', '2'],
      ['x-end', '2'],
    ],
    [
      'keeps its length although Connection lists it',
      ['Connection', 'content-length', 'Content-Length', '3'],
      ['Content-Length', '3'],
    ],
    [
      'announces support for trailers if the client does',
      ['TE', 'trailers, deflate;q=0.5'],
      ['TE', 'trailers'],
    ],
    [
      'drops the product’s own headers',
      ['X-Platform-User-Confirmed', 'true', 'x-platform-anything', '1'],
      [],
    ],
    ['drops the product’s own headers with underscores', ['X_Platform_User_Confirmed', 'true'], []],
    ...[
      'X_Forwarded_For',
      'X-Forwarded_Proto',
      'x_forwarded-host',
      'X_Forwarded_Port',
      'X_Request_Id',
      'Content_Length',
      'Transfer_Encoding',
      'Proxy_Authorization',
    ].map((name): [string, string[], string[]] => [`drops ${name}`, [name, '1'], []]),
    ['keeps other names with underscores', ['api_key', '1'], ['api_key', '1']],
    [
      'announces no dropped trailer',
      [
        'Trailer',
        'X-Sum, X-Platform-Tools-Called,host, x_forwarded_for, X-Request-Id',
        'Connection',
        'x-sum',
      ],
      [],
    ],
    [
      'announces the other trailers',
      ['trailer', 'Content-Length, X-Sum , X-Other'],
      ['trailer', 'X-Sum, X-Other'],
    ],
    ['drops Expect: 100-continue', ['Expect', '100-continue'], []],
    ['has exactly one request id', ['X-Request-ID', 'from-client'], []],
    ['has exactly one Host', ['Host', 'other'], []],
  ])('%s', (_title, raw, kept) => {
    expect(requestHeaders(raw, to)).toEqual(['Host', 'shop.test', ...kept, ...added]);
  });

  test('passes headers of earlier proxies on unchanged', () => {
    const raw = [
      ...['X-Forwarded-For', '1.1.1.1', 'x-forwarded-for', '2.2.2.2', 'X-Forwarded-Proto', 'https'],
      ...['X-Forwarded-Host', 'outer', 'X-Forwarded-Port', '8443', 'Forwarded', 'for=_hidden'],
    ];
    expect(requestHeaders(raw, to)).toEqual(['Host', 'shop.test', ...raw, 'X-Request-Id', 'r-1']);
  });

  test.each([
    ['X-Forwarded-For', '1.1.1.1'],
    ['X-Forwarded-Proto', 'https'],
    ['X-Forwarded-Host', 'outer'],
    ['X-Forwarded-Port', '8443'],
    ['Forwarded', 'for=_hidden'],
  ])('sets the other headers if only %s is present', (name, value) => {
    const others = added.flatMap((each, i) =>
      i % 2 === 0 && each !== name ? [each, added[i + 1] ?? ''] : [],
    );
    expect(requestHeaders([name, value], to)).toEqual(['Host', 'shop.test', name, value, ...others]);
  });

  test.each([
    ['shop.test:8080', '10.0.0.9', '8080', 'for=10.0.0.9;host="shop.test:8080";proto=http'],
    ['[2001:db8::1]', '2001:db8::2', '80', 'for="[2001:db8::2]";host="[2001:db8::1]";proto=http'],
    ['[2001:db8::1]:81', '::ffff:10.0.0.9', '81', 'for=10.0.0.9;host="[2001:db8::1]:81";proto=http'],
  ])('for host %s from %s has the port and the Forwarded element', (host, remoteAddress, port, element) => {
    const head = requestHeaders([], { ...to, host, remoteAddress });
    expect(head[head.indexOf('X-Forwarded-Port') + 1]).toBe(port);
    expect(head[head.indexOf('Forwarded') + 1]).toBe(element);
  });

  test('drops trailers that belong into the head, including their variants with underscores', () => {
    const raw = [
      'X-Sum',
      '1',
      'X_Forwarded_For',
      '2',
      'content_length',
      '3',
      'X_Request_Id',
      '4',
      'Host',
      '5',
    ];
    expect(requestTrailers(raw)).toEqual(['X-Sum', '1']);
  });

  test('has the trace that begins here instead of the trace context of the client', () => {
    const raw = ['Traceparent', 'invalid', 'Tracestate', 'a=b', 'Baggage', 'c=d'];
    const headers = requestHeaders(raw, { ...to, traceparent: '00-1-2-01' });
    expect(valuesOf(headers, 'traceparent')).toEqual(['00-1-2-01']);
    expect([valuesOf(headers, 'tracestate'), valuesOf(headers, 'baggage')]).toEqual([[], ['c=d']]);
  });

  test('has the plain IPv4 address of a dual-stack peer, and no host if the request has none', () => {
    expect(requestHeaders([], { ...to, host: null, remoteAddress: '::ffff:10.0.0.9' })).toEqual([
      'X-Forwarded-For',
      '10.0.0.9',
      'X-Forwarded-Proto',
      'http',
      'Forwarded',
      'for=10.0.0.9;proto=http',
      'X-Request-Id',
      'r-1',
    ]);
  });
});

describe('the head of a response', () => {
  test('passes the product’s own headers to the sidecar and none of them to the client', () => {
    const head = responseHeaders(
      [
        'Content-Type',
        'text/plain',
        'X-Platform-Guardrails-Invoked',
        'pii-detector',
        'x-platform-guardrails-invoked',
        'topic-filter',
        'X-Platform-Policy-Violations',
        'forged',
        'X-Request-Id',
        'the-agents-own',
        'Set-Cookie',
        'a=1',
        'Set-Cookie',
        'b=2',
      ],
      'r-1',
    );
    expect(head).toEqual({
      headers: [
        'Content-Type',
        'text/plain',
        'Set-Cookie',
        'a=1',
        'Set-Cookie',
        'b=2',
        'X-Request-Id',
        'r-1',
      ],
      platform: new Map([
        ['x-platform-guardrails-invoked', 'pii-detector,topic-filter'],
        ['x-platform-policy-violations', 'forged'],
      ]),
    });
  });

  test.each<[string, string[], string[]]>([
    ['drops headers that Connection lists', ['Connection', 'x-a', 'X-A', '1', 'X-B', '2'], ['X-B', '2']],
    ['drops a length next to a transfer coding', ['Transfer-Encoding', 'chunked', 'Content-Length', '5'], []],
    ['keeps a length without a transfer coding', ['Content-Length', '5'], ['Content-Length', '5']],
    [
      'keeps the names of its trailers if it is chunked',
      ['Transfer-Encoding', 'chunked', 'Trailer', 'X-Sum'],
      ['Trailer', 'X-Sum'],
    ],
    [
      'drops the names of dropped trailers',
      ['Transfer-Encoding', 'chunked', 'Trailer', 'X-Platform-Tools-Called, X-Sum,X-Request-Id'],
      ['Trailer', 'X-Sum'],
    ],
    [
      'drops Trailer if no name is left',
      [
        'Transfer-Encoding',
        'chunked',
        'Trailer',
        'x_platform_tools_called',
        'Trailer',
        'Keep-Alive, X-Hop',
        'Connection',
        'X-Hop',
      ],
      [],
    ],
    [
      'drops Trailer if it is not chunked',
      ['Trailer', 'X-Sum', 'Content-Length', '5'],
      ['Content-Length', '5'],
    ],
  ])('%s', (_title, raw, kept) => {
    expect(responseHeaders(raw, 'r-1').headers).toEqual([...kept, 'X-Request-Id', 'r-1']);
  });

  test('splits trailers in the same way', () => {
    expect(responseTrailers(['X-Sum', '1', 'X-Platform-Tools-Called', 'pay'])).toEqual({
      headers: ['X-Sum', '1'],
      platform: new Map([['x-platform-tools-called', 'pay']]),
    });
  });
});

test('rules do not depend on how many other names, and how long names, were seen', () => {
  const long = `X-Platform-${'a'.repeat(100)}`;
  for (let number = 0; number < 1_200; number++) {
    const name = `x-header-${number}`;
    const raw = [name, '1', 'TE', 'gzip', long, '2', 'X_Forwarded_For', '3'];
    expect(requestHeaders(raw, to)).toEqual(['Host', 'shop.test', name, '1', ...added]);
  }
  const { headers, platform } = responseHeaders([long, '2', 'Keep-Alive', 'x', 'Date', 'now'], 'r-1');
  expect(headers).toEqual(['Date', 'now', 'X-Request-Id', 'r-1']);
  expect([...platform]).toEqual([[long.toLowerCase(), '2']]);
});
