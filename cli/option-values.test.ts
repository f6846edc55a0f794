import { describe, expect, test } from '@jest/globals';
import { httpUrl, secretUrl } from './option-values.ts';

describe('the value of a URL option', () => {
  test.each([
    // As typed, as the URL of a sidecar or an agent, as the URL of a server that gets a secret.
    ['http://h:1/a', 'http://h:1/a', 'http://h:1/a'],
    ['https://h', 'https://h/', 'https://h/'],
    ['localhost:4001', 'http://localhost:4001/', 'http://localhost:4001/'],
    ['127.0.0.1:4001/platform', 'http://127.0.0.1:4001/platform', 'http://127.0.0.1:4001/platform'],
    ['[::1]:4001', 'http://[::1]:4001/', 'http://[::1]:4001/'],
    ['platform.example.com', 'http://platform.example.com/', 'https://platform.example.com/'],
    ['platform.example.com:8443', 'http://platform.example.com:8443/', 'https://platform.example.com:8443/'],
  ])('%s', (value, plain, secret) => {
    expect(httpUrl(value).href).toBe(plain);
    expect(secretUrl(value).href).toBe(secret);
  });

  test.each(['', 'ftp://h', 'h:port', 'h?a=b', 'http://h/#a', '://h'])('"%s" is rejected', (value) => {
    for (const parse of [httpUrl, secretUrl])
      expect(() => parse(value)).toThrow('Must be an http(s) URL without a query.');
  });
});
