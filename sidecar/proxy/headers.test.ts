import { describe, expect, test } from '@jest/globals';
import { requestHeaders, requestTrailers, responseHeaders, responseTrailers } from './headers.ts';

const to = { requestId: 'r-1', host: 'shop.test', remoteAddress: '10.0.0.9', proto: 'http' as const };
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
      'loses what speaks about the connection',
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
      'loses what Connection lists',
      ['Connection', 'close, X-Hop', 'x-hop', '1', 'x-end', '2'],
      ['x-end', '2'],
    ],
    [
      'keeps its length though Connection lists it',
      ['Connection', 'content-length', 'Content-Length', '3'],
      ['Content-Length', '3'],
    ],
    [
      'says that trailers are understood, when the client does',
      ['TE', 'trailers, deflate;q=0.5'],
      ['TE', 'trailers'],
    ],
    ['does not speak for the agent', ['X-Platform-User-Confirmed', 'true', 'x-platform-anything', '1'], []],
    ['does not speak for the agent with underscores either', ['X_Platform_User_Confirmed', 'true'], []],
    ...[
      'X_Forwarded_For',
      'X-Forwarded_Proto',
      'x_forwarded-host',
      'X_Forwarded_Port',
      'X_Request_Id',
      'Content_Length',
      'Transfer_Encoding',
      'Proxy_Authorization',
    ].map((name): [string, string[], string[]] => [`loses ${name}`, [name, '1'], []]),
    ['keeps other names with underscores', ['api_key', '1'], ['api_key', '1']],
    [
      'announces no trailer that is dropped',
      [
        'Trailer',
        'X-Sum, X-Platform-Tools-Called,host, x_forwarded_for, X-Request-Id',
        'Connection',
        'x-sum',
      ],
      [],
    ],
    ['announces the others', ['trailer', 'Content-Length, X-Sum , X-Other'], ['trailer', 'X-Sum, X-Other']],
    ['asks for no 100-continue', ['Expect', '100-continue'], []],
    ['carries one request id', ['X-Request-ID', 'from-client'], []],
    ['carries one Host', ['Host', 'other'], []],
  ])('%s', (_title, raw, kept) => {
    expect(requestHeaders(raw, to)).toEqual(['Host', 'shop.test', ...kept, ...added]);
  });

  test('passes what earlier proxies have set as it is', () => {
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
  ])('sets the others where only %s is present', (name, value) => {
    const others = added.flatMap((each, i) =>
      i % 2 === 0 && each !== name ? [each, added[i + 1] ?? ''] : [],
    );
    expect(requestHeaders([name, value], to)).toEqual(['Host', 'shop.test', name, value, ...others]);
  });

  test.each([
    ['shop.test:8080', '10.0.0.9', '8080', 'for=10.0.0.9;host="shop.test:8080";proto=http'],
    ['[2001:db8::1]', '2001:db8::2', '80', 'for="[2001:db8::2]";host="[2001:db8::1]";proto=http'],
    ['[2001:db8::1]:81', '::ffff:10.0.0.9', '81', 'for=10.0.0.9;host="[2001:db8::1]:81";proto=http'],
  ])('of %s from %s names the port and the element', (host, remoteAddress, port, element) => {
    const head = requestHeaders([], { ...to, host, remoteAddress });
    expect(head[head.indexOf('X-Forwarded-Port') + 1]).toBe(port);
    expect(head[head.indexOf('Forwarded') + 1]).toBe(element);
  });

  test('has no trailers that belong into it, by their twins either', () => {
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

  test('says an IPv4 peer of a dual-stack socket plainly, and no host where there was none', () => {
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

describe('the head of an answer', () => {
  test('gives the product’s own headers to the sidecar and none of them to the client', () => {
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
    ['loses what Connection lists', ['Connection', 'x-a', 'X-A', '1', 'X-B', '2'], ['X-B', '2']],
    ['loses a length beside a transfer coding', ['Transfer-Encoding', 'chunked', 'Content-Length', '5'], []],
    ['keeps a length alone', ['Content-Length', '5'], ['Content-Length', '5']],
    [
      'keeps the names of its trailers, where chunks let it have some',
      ['Transfer-Encoding', 'chunked', 'Trailer', 'X-Sum'],
      ['Trailer', 'X-Sum'],
    ],
    [
      'loses the names of trailers that are dropped',
      ['Transfer-Encoding', 'chunked', 'Trailer', 'X-Platform-Tools-Called, X-Sum,X-Request-Id'],
      ['Trailer', 'X-Sum'],
    ],
    [
      'loses Trailer when none is left',
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
      'loses them where it can have none',
      ['Trailer', 'X-Sum', 'Content-Length', '5'],
      ['Content-Length', '5'],
    ],
  ])('%s', (_title, raw, kept) => {
    expect(responseHeaders(raw, 'r-1').headers).toEqual([...kept, 'X-Request-Id', 'r-1']);
  });

  test('trailers are split the same way', () => {
    expect(responseTrailers(['X-Sum', '1', 'X-Platform-Tools-Called', 'pay'])).toEqual({
      headers: ['X-Sum', '1'],
      platform: new Map([['x-platform-tools-called', 'pay']]),
    });
  });
});
