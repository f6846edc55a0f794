import { hostname } from 'node:os';
import { describe, expect, test } from '@jest/globals';
import { PushOptionsError, pushSettings, type PushOptions } from './push-settings.ts';

const ENV = { PLATFORM_URL: 'https://plane:8080', PLATFORM_KEY: 'k-1' };

describe('push settings', () => {
  test.each<[string, PushOptions | false | undefined, Record<string, string>]>([
    ['without options and variables', undefined, {}],
    ['with an empty variable', undefined, { PLATFORM_URL: '', PLATFORM_KEY: 'k' }],
    ['when push is disabled', false, ENV],
  ])('are null %s', (_name, options, env) => {
    expect(pushSettings(options, env)).toBeNull();
  });

  test('come from the environment', () => {
    const settings = pushSettings(undefined, {
      ...ENV,
      HEARTBEAT_SECONDS: '60',
      PLATFORM_CA_FILE: '/ca.pem',
    });
    expect(settings).toMatchObject({ caFile: '/ca.pem', intervalSeconds: 60, instance: hostname() });
    expect(settings?.url.href).toBe('https://plane:8080/');
    expect(settings?.credentials.kind === 'key' && settings.credentials.key.reveal()).toBe('k-1');
  });

  test('contain the path for the renewed key', () => {
    const env = { ...ENV, PLATFORM_KEY_STORE_PATH: '/var/lib/shop.key' };
    expect(pushSettings(undefined, env)?.credentials).toMatchObject({ keepPath: '/var/lib/shop.key' });
  });

  test('come from the options, which take precedence over the environment', () => {
    const options = { url: 'http://other', tokenFile: '/token', instance: 'shop-2' };
    expect(pushSettings(options, ENV)).toEqual({
      url: new URL('http://other'),
      credentials: { kind: 'file', path: '/token' },
      caFile: null,
      intervalSeconds: 30,
      instance: 'shop-2',
    });
  });

  test.each<[PushOptions | undefined, Record<string, string>, string[]]>([
    [
      undefined,
      { PLATFORM_URL: 'plane', HEARTBEAT_SECONDS: '5' },
      [
        'PLATFORM_URL must be a URL with the http: or https: protocol',
        'HEARTBEAT_SECONDS must be an integer from 10 to 3600',
        'exactly one of PLATFORM_KEY and PLATFORM_TOKEN_FILE is required',
      ],
    ],
    [
      { url: 'ftp://plane', key: 'k', tokenFile: '/t', intervalSeconds: 10.5 },
      {},
      [
        'push.url must be a URL with the http: or https: protocol',
        'push.intervalSeconds must be an integer from 10 to 3600',
        'exactly one of push.key and push.tokenFile is required',
      ],
    ],
    [
      { url: 'http://plane', tokenFile: '/t', keyStorePath: '/k' },
      {},
      ['push.keyStorePath must be used with push.key'],
    ],
    [
      { key: 'k' } as unknown as PushOptions,
      {},
      ['push.url must be a URL with the http: or https: protocol'],
    ],
    ...['k-1\n', 'two words', 'schlüssel', '\u0000'].map(
      (key): [PushOptions | undefined, Record<string, string>, string[]] => [
        undefined,
        { ...ENV, PLATFORM_KEY: key },
        ['PLATFORM_KEY must consist of visible ASCII characters, without spaces and line feeds'],
      ],
    ),
  ])('report all problems at once, without secrets (%#)', (options, env, problems) => {
    expect(() => pushSettings(options, env)).toThrow(new PushOptionsError(problems));
  });
});
