import { expect, test } from '@jest/globals';
import { readConfig } from './config.ts';

test('an empty environment gives the documented defaults', () => {
  expect(readConfig({})).toEqual({
    ok: true,
    config: {
      LOG_LEVEL: 'info',
      LOG_FORMAT: null,
      PORT: 8081,
      POD_NAMESPACE: null,
      POD_NAME: null,
      LEADER_ELECT: true,
      KUBECONFIG: null,
    },
  });
});

test('every wrong variable is named with its value and what is accepted', () => {
  expect(
    readConfig({
      PORT: '0',
      POD_NAMESPACE: 'a.b',
      POD_NAME: 'A_1',
      LEADER_ELECT: 'yes',
      LOG_LEVEL: 'loud',
      LOG_FORMAT: 'xml',
    }),
  ).toEqual({
    ok: false,
    problems: [
      { name: 'LOG_LEVEL', value: 'loud', wanted: 'one of error, warn, info, debug (default info)' },
      { name: 'LOG_FORMAT', value: 'xml', wanted: 'one of json, text, or unset' },
      { name: 'PORT', value: '0', wanted: 'an integer from 1 to 65535 (default 8081)' },
      { name: 'POD_NAMESPACE', value: 'a.b', wanted: 'a namespace (a DNS label), or unset' },
      { name: 'POD_NAME', value: 'A_1', wanted: 'the name of a pod, or unset' },
      { name: 'LEADER_ELECT', value: 'yes', wanted: 'true or false (default true)' },
    ],
  });
});
