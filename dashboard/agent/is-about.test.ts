import { expect, test } from '@jest/globals';
import { isAbout } from './is-about.ts';

const AGENT = { namespace: 'prod', agentName: 'shop' };
const named = (namespace: string, agentName: string): object => ({ namespace, agentName });

test.each<[string, object[], object[], boolean]>([
  ['a change of the agent', [named('dev', 'a'), named('prod', 'shop')], [], true],
  ['its removal', [], [named('prod', 'shop')], true],
  ['an agent of the same name in another namespace', [named('dev', 'shop')], [], false],
  ['an agent whose name begins alike', [named('prod', 'shop-2')], [], false],
  ['a namespace with this name', [named('shop', 'prod')], [], false],
  ['nothing', [], [], false],
])('%s', (_name, changed, removed, expected) => {
  expect(isAbout(JSON.stringify({ changed, removed }), AGENT)).toBe(expected);
});
