import { expect, test } from '@jest/globals';
import { ANNOTATIONS, readAnnotations } from './annotations.ts';

type Key = keyof typeof ANNOTATIONS;

test.each<[Key, string[], string[]]>([
  ['inject', ['true', 'false'], ['yes', '', 'True', ' true']],
  ['agentName', ['a', 'chat-2', 'a'.repeat(63)], ['', 'A', '-a', 'a-', 'a.b', 'a'.repeat(64), 'a/b', '../x']],
  ['manifestConfigMap', ['a', 'a.b-c'], ['', 'A', 'a..b', 'a_b', 'a'.repeat(254)]],
  ['agentContainer', ['agent'], ['', 'Agent', 'a b']],
  ['agentPort', ['1', '8000', '65535'], ['', '0', '65536', '-1', '08', '8000.0', '1e3', 'http', ' 80']],
  ['mode', ['track', 'enforce', 'off'], ['', 'block', 'ENFORCE']],
  ['cpuRequest', ['1m', '250m', '1', '0.5', '64'], ['', '0', '0.5m', '65', '1 ', 'lots', '-1']],
  ['cpuLimit', ['1m'], ['0']],
  ['memoryRequest', ['96Mi', '1Gi', '16Gi', '200M'], ['', '95Mi', '17Gi', '192', '192mb']],
  ['memoryLimit', ['96Mi'], ['1Mi']],
  ['image', ['a:1', 'r.example:5000/x/y@sha256:ab'], ['', 'a b', 'a\n', 'a,b']],
  ['compliantGrade', ['A', 'B', 'C', 'D', 'F'], ['', 'a', 'E', 'AA', '0', ' A']],
  ['compliantEvidence', ['0', '1', '50', '100'], ['', '101', '-1', '050', '50.0', '50%', ' 5', '1e1']],
  ['logLevel', ['error', 'warn', 'info', 'debug'], ['', 'trace']],
])('%s accepts %j and rejects %j', (key, good, bad) => {
  const { name } = ANNOTATIONS[key];
  const isAccepted = (raw: string) => readAnnotations({ [name]: raw }).ok;
  expect(good.filter((raw) => !isAccepted(raw))).toEqual([]);
  expect(bad.filter(isAccepted)).toEqual([]);
});

test('ignores property names that every object inherits', () => {
  expect(readAnnotations({ constructor: 'x', toString: 'y' })).toEqual({ ok: true, values: {} });
});
