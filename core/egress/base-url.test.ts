import { expect, test } from '@jest/globals';
import { parseBaseUrl } from './base-url.ts';

test.each<[string, string, string]>([
  ['https://api.openai.com', 'https://api.openai.com', ''],
  ['https://api.openai.com/', 'https://api.openai.com', '/'],
  ['https://api.openai.com:443/v1', 'https://api.openai.com', '/v1'],
  ['http://Gateway.llm.svc:8080/a/b/', 'http://gateway.llm.svc:8080', '/a/b/'],
  ['http://10.0.0.1:4000', 'http://10.0.0.1:4000', ''],
  ['http://127.0.0.1:8080/v1', 'http://127.0.0.1:8080', '/v1'],
  ['http://my_gateway/v1', 'http://my_gateway', '/v1'],
])('%s has the origin %s and the path "%s"', (value, origin, path) => {
  expect(parseBaseUrl(value)).toEqual({ ok: true, url: { origin, path } });
});

const NOT_A_URL = 'is not a URL with the http: or https: protocol, without credentials, query and fragment';

test.each([
  ...[
    'api.openai.com',
    'ftp://api.openai.com',
    'https://user:key@api.openai.com',
    'https://key@api.openai.com/v1',
    'https://api.openai.com/v1?key=secret',
    'https://api.openai.com/v1#a',
    'https://api.openai.com/a,b',
    'https://api.openai.com/$x',
    'https://api.openai.com:99999/v1',
    'https:///v1',
    'https://a b/v1',
    'https://[::1]/v1',
    ' https://api.openai.com',
    'https://api.openai.com\n',
  ].map((value) => [value, NOT_A_URL]),
  ['http://0.0.0.0:11434', 'is an address to listen on'],
  ...[
    ...['localhost:4000', '127.0.0.1:4001', '127.1.2.3:4002', 'localhost:4003', 'localhost.:4002'],
    ...['a.localhost:4002', 'LOCALHOST:4001', '2130706433:4002', '0x7f.1:4001', '0177.0.0.1:4001'],
  ].map((host) => [`http://${host}/openai/v1`, 'is an address of the sidecar']),
] as [string, string][])('%j %s', (value, problem) => {
  expect(parseBaseUrl(value)).toEqual({ ok: false, problem });
});

test.each([
  ['ollama', 'http://ollama:11434'],
  ['ollama:8080', 'http://ollama:8080'],
  ['https://ollama.corp.example', 'https://ollama.corp.example'],
])('without a scheme, %s is %s', (value, origin) => {
  expect(parseBaseUrl(value, 11_434)).toEqual({ ok: true, url: { origin, path: '' } });
});
