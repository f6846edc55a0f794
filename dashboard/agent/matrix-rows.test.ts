import { expect, test } from '@jest/globals';
import { MATRIX_KINDS, VERDICTS } from '../../core/shapes/values.ts';
import type { MatrixRow } from '../../core/shapes/egress.ts';
import type { Issue } from '../../core/shapes/gap.ts';
import { matrixRows } from './matrix-rows.ts';

const row = (kind: MatrixRow['kind'], name: string, verdict: MatrixRow['verdict']): MatrixRow => ({
  ...{ kind, name, verdict, declared: null, reported: null, observed: null },
});
const issue = (property: string): Issue => ({
  ...{ severity: 'high', property },
  ...{ description: `about ${property}`, recommendation: `fix ${property}` },
});

test('contradictions come first, and the other rows keep their order', () => {
  const rows = [
    row('model', 'a', 'match'),
    row('tool', 'b', 'never-seen'),
    row('tool', 'c', 'undeclared'),
    row('mcp', 'd', 'unknown'),
    row('tool', 'e', 'unreported'),
    row('tokens', 'prompt', 'misreported'),
    row('tokens', 'completion', 'match'),
  ];
  expect(matrixRows(rows, []).map(({ name }) => name)).toEqual([
    ...['c', 'prompt', 'e', 'b', 'd', 'a', 'completion'],
  ]);
});

test('the issue about a row has its texts and its rule', () => {
  const issues = ['tools.undeclared.pay', 'model.undeclared.gpt-4o', 'tokens.misreported'].map(issue);
  const rows = [
    row('tool', 'pay', 'undeclared'),
    row('model', 'gpt-4o', 'undeclared'),
    row('tokens', 'prompt', 'misreported'),
    row('tool', 'gpt-4o', 'undeclared'),
    row('tokens', 'completion', 'match'),
  ];
  expect(matrixRows(rows, issues).map(({ rule, remedy }) => [rule, remedy])).toEqual([
    ['tools.undeclared.pay', 'fix tools.undeclared.pay'],
    ['model.undeclared.gpt-4o', 'fix model.undeclared.gpt-4o'],
    [null, 'Declare the tool in spec.tools or spec.egress.tools, or remove it from the agent.'],
    ['tokens.misreported', 'fix tokens.misreported'],
    [null, null],
  ]);
});

test('every row that does not match has a remedy', () => {
  for (const kind of MATRIX_KINDS)
    for (const verdict of VERDICTS) {
      const [shown] = matrixRows([row(kind, 'x', verdict)], []);
      expect(shown?.remedy === null).toBe(verdict === 'match');
    }
});
