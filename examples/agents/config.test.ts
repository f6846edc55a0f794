import { expect, test } from '@jest/globals';
import { readConfig } from './config.ts';

test('the configuration of an example agent has defaults', () => {
  expect(readConfig({})).toEqual({
    ok: true,
    config: {
      LOG_LEVEL: 'info',
      LOG_FORMAT: null,
      AGENT_PROFILE: 'compliant',
      AGENT_FAULTS: null,
      HOST: '::',
      PORT: 8000,
      MANIFEST_PATH: null,
      AGENT_NAME: null,
      OPENAI_BASE_URL: null,
    },
  });
});

test.each([
  ['none', []],
  ['health-fails, no-reporter', ['health-fails', 'no-reporter']],
])('AGENT_FAULTS=%s', (raw, faults) => {
  expect(readConfig({ AGENT_FAULTS: raw })).toMatchObject({ config: { AGENT_FAULTS: faults } });
});

test('reports all invalid values together', () => {
  const result = readConfig({ AGENT_PROFILE: 'evil', AGENT_FAULTS: 'health-fails,toString', PORT: 'x' });
  expect(result).toMatchObject({
    ok: false,
    problems: [
      { name: 'AGENT_PROFILE', value: 'evil' },
      { name: 'AGENT_FAULTS', value: 'health-fails,toString' },
      { name: 'PORT', value: 'x' },
    ],
  });
});
