import { expect, test } from '@jest/globals';
import { readConfig } from '../config.ts';
import { mirrorSettings } from './config.ts';

const URL_TEXT = 'https://fleet.example';

test('mirrors nothing without a URL, even with a key', () => {
  const result = readConfig({ PLATFORM_ADMIN_KEY: 'k' });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  expect(mirrorSettings(result.config)).toEqual({
    source: null,
    namespace: 'platform-remote',
    pollSeconds: 30,
  });
});

test('reads the URL with its key and its CA file', () => {
  const result = readConfig({
    PLATFORM_CONTROL_PLANE_URL: URL_TEXT,
    PLATFORM_ADMIN_KEY: 'k',
    PLATFORM_CA_FILE: '/ca.crt',
    REMOTE_NAMESPACE: 'far',
    REMOTE_POLL_SECONDS: '60',
  });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const { source, ...rest } = mirrorSettings(result.config);
  expect(rest).toEqual({ namespace: 'far', pollSeconds: 60 });
  expect([source?.url.href, source?.adminKey.reveal(), source?.caFile]).toEqual([
    `${URL_TEXT}/`,
    'k',
    '/ca.crt',
  ]);
});

test('reports a URL without a key, and invalid values', () => {
  const names = (env: Record<string, string>): string[] => {
    const result = readConfig(env);
    return result.ok ? [] : result.problems.map(({ name, value }) => `${name}=${value}`);
  };
  expect(names({ PLATFORM_CONTROL_PLANE_URL: URL_TEXT })).toEqual(['PLATFORM_ADMIN_KEY=(unset)']);
  expect(
    names({
      PLATFORM_CONTROL_PLANE_URL: 'ftp://fleet.example',
      PLATFORM_ADMIN_KEY: 'a b',
      REMOTE_NAMESPACE: 'A',
      REMOTE_POLL_SECONDS: '0',
    }),
  ).toEqual([
    'PLATFORM_CONTROL_PLANE_URL=ftp://fleet.example',
    'PLATFORM_ADMIN_KEY=[secret]',
    'REMOTE_NAMESPACE=A',
    'REMOTE_POLL_SECONDS=0',
  ]);
});
