import { inspect } from 'node:util';
import { expect, test } from '@jest/globals';
import { Secret } from './secret.ts';

const secret = new Secret('hunter2');

test.each([
  ['a template', `${String(secret)}`],
  ['JSON', JSON.stringify({ secret })],
  ['an inspection', inspect({ secret }, { showHidden: true, depth: 5 })],
])('does not appear in %s', (_where, printed) => {
  expect(printed).not.toContain('hunter2');
  expect(printed).toContain('[secret]');
});

test('reveal returns the plain value', () => {
  expect(secret.reveal()).toBe('hunter2');
});
