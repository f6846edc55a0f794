import { expect, test } from '@jest/globals';
import { aManifest } from '../../testing/fleet/facts.ts';
import type { Api, Model } from './manifest.ts';
import { manifestWarnings } from './manifest-warnings.ts';

const MODEL: Model = { provider: 'openai', id: 'gpt-4o', apiKey: '$env:OPENAI_API_KEY' };

test.each<[string, Api, [path: string, message: string][]]>([
  ['no endpoints', {}, []],
  ['plain endpoint paths', { healthEndpoint: '/livez', capabilitiesEndpoint: '/tools' }, []],
  [
    'endpoint paths that are references',
    { healthEndpoint: '$env:HEALTH', capabilitiesEndpoint: '$file:tools.txt' },
    [
      [
        'spec.api.healthEndpoint',
        'a sidecar in a pod cannot resolve "$env:HEALTH" and probes /health instead',
      ],
      [
        'spec.api.capabilitiesEndpoint',
        'a sidecar in a pod cannot resolve "$file:tools.txt" and probes /capabilities instead',
      ],
    ],
  ],
  ['an A2A interface', { url: 'https://shop.example', a2a: { protocolBinding: 'JSONRPC' } }, []],
  [
    'an A2A interface whose URL is a reference',
    { url: '$env:PUBLIC_URL', a2a: { protocolBinding: 'JSONRPC' } },
    [['spec.api.a2a', 'the capability card lists no A2A interface: spec.api.url is a reference']],
  ],
  [
    'an A2A interface whose path is a reference',
    { url: 'https://shop.example', a2a: { protocolBinding: 'JSONRPC', path: '$env:A2A' } },
    [['spec.api.a2a', 'the capability card lists no A2A interface: spec.api.a2a.path is a reference']],
  ],
  [
    'an A2A interface with a WebSocket URL',
    { url: 'wss://shop.example', a2a: { protocolBinding: 'HTTP+JSON' } },
    [
      [
        'spec.api.a2a',
        'the capability card lists no A2A interface: spec.api.url is not an http or https URL',
      ],
    ],
  ],
  [
    'tokens of a declared issuer and audience',
    {
      auth: {
        type: 'jwt',
        jwksUri: 'https://id.example/jwks',
        issuer: 'https://id.example/',
        audience: 'shop',
      },
    },
    [],
  ],
  ['API keys, for which no issuer is needed', { auth: { type: 'apikey' } }, []],
  [
    'tokens without an audience',
    { auth: { type: 'jwt', jwksUri: 'https://id.example/jwks', issuer: 'https://id.example/' } },
    [
      [
        'spec.api.auth',
        'the sidecar does not read tokens; it requires jwksUri, issuer and audience without references, and audience is missing',
      ],
    ],
  ],
  [
    'tokens whose keys are at a reference, without an issuer',
    { auth: { type: 'jwt', jwksUri: '$env:JWKS_URI', audience: 'shop' } },
    [
      [
        'spec.api.auth',
        'the sidecar does not read tokens; it requires jwksUri, issuer and audience without references, and jwksUri and issuer are missing',
      ],
    ],
  ],
])('returns the warnings for %s', (_what, api, expected) => {
  const warnings = manifestWarnings(aManifest({ api, model: MODEL }));
  expect(warnings.map(({ path, message }) => [path, message])).toEqual(expected);
});

test('warns about a secret in the file and does not show it', () => {
  const warnings = manifestWarnings(aManifest({ model: { ...MODEL, apiKey: 'sk-1234567890' } }));
  expect(warnings).toEqual([
    {
      path: 'spec.model.apiKey',
      message:
        'a secret is written into the manifest; replace it by a reference, such as $env:VAR or $secret:name, and revoke it',
    },
  ]);
});
