import { expect, test } from '@jest/globals';
import { aManifest } from '../../testing/facts.ts';
import type { Api } from './manifest.ts';
import { manifestWarnings } from './manifest-warnings.ts';

test.each<[string, Api, [path: string, message: string][]]>([
  ['no path', {}, []],
  ['a path', { healthEndpoint: '/livez', capabilitiesEndpoint: '/tools' }, []],
  [
    'a path that is a reference',
    { healthEndpoint: '$env:HEALTH', capabilitiesEndpoint: '$file:tools.txt' },
    [
      [
        'spec.api.healthEndpoint',
        'the sidecar of a pod cannot resolve "$env:HEALTH", and asks /health instead',
      ],
      [
        'spec.api.capabilitiesEndpoint',
        'the sidecar of a pod cannot resolve "$file:tools.txt", and asks /capabilities instead',
      ],
    ],
  ],
])('%s of an endpoint', (_what, api, expected) => {
  const warnings = manifestWarnings(aManifest({ api }));
  expect(warnings.map(({ path, message }) => [path, message])).toEqual(expected);
});
