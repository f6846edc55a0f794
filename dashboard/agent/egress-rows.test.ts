import { expect, test } from '@jest/globals';
import { EGRESS_GAP_RULES } from '../../core/gap/egress-rules.ts';
import type { Issue } from '../../core/shapes/gap.ts';
import { egressRows } from './egress-rows.ts';

const issue = (property: string): Issue => ({
  ...{ severity: 'high', property },
  ...{ description: `about ${property}`, recommendation: `fix ${property}` },
});

test('issues come first, each with its remedy and rule, and an item is listed once', () => {
  const rows = egressRows({ undeclaredNames: ['tool pay', 'host evil.example', 'mcp files'] }, [
    ...['egress.unseen', 'evaluated', 'tokens.misreported'].map(issue),
    ...['model.undeclared.gpt-4o', 'tools.undeclared.pay', 'tokens.misreported.not'].map(issue),
  ]);
  expect(rows.map(({ item, state, rule }) => [item, state, rule])).toEqual([
    ['tool pay', 'undeclared', 'tools.undeclared.pay'],
    ['model gpt-4o', 'undeclared', 'model.undeclared.gpt-4o'],
    ['tokens', 'misreported', 'tokens.misreported'],
    ['connections', 'unseen', 'egress.unseen'],
    ['host evil.example', 'undeclared', null],
    ['mcp files', 'undeclared', null],
  ]);
  expect(rows[0]).toMatchObject({
    description: 'about tools.undeclared.pay',
    remedy: 'fix tools.undeclared.pay',
  });
  expect(rows.map(({ remedy }) => remedy).slice(4)).toEqual([
    'Declare the host in spec.egress.hosts, or remove the call from the agent.',
    'Declare the server in spec.mcp, or remove its lane.',
  ]);
});

test('every gap rule about outgoing calls has rows', () => {
  for (const { property } of EGRESS_GAP_RULES) {
    const each = property.replace(/<\w+>/, 'x');
    expect(egressRows({ undeclaredNames: [] }, [issue(each)]).map(({ rule }) => rule)).toEqual([each]);
  }
});

test('an item of an unknown kind has a remedy', () => {
  expect(egressRows({ undeclaredNames: ['constructor x', ''] }, []).map(({ remedy }) => remedy)).toEqual([
    'Declare it in the manifest, or remove it from the agent.',
    'Declare it in the manifest, or remove it from the agent.',
  ]);
});
