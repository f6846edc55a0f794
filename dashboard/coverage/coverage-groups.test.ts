import { expect, test } from '@jest/globals';
import type { CoverageGap, CoverageSummary } from '../../core/shapes/coverage.ts';
import { groupGaps, withNamespaces } from './coverage-groups.ts';

const kind = (name: CoverageGap['kind'], count: number): CoverageSummary => ({
  ...{ kind: name, title: `Title of ${name}`, explanation: '' },
  count,
});
const gap = (name: CoverageGap['kind'], agentName: string, namespace = 'default'): CoverageGap => ({
  ...{ kind: name, agentName, namespace },
  ...{ reason: '', remedy: '', since: null },
});
const GAPS = [gap('no-reporter', 'shop'), gap('silent', 'a', 'prod'), gap('silent', 'z')];

test('kinds with most agents come first, each with its gaps', () => {
  const kinds = [kind('no-reporter', 1), kind('no-sidecar', 0), kind('silent', 20)];
  const { found, clear } = groupGaps({ kinds, gaps: GAPS });
  expect(found.map((group) => [group.kind, group.gaps.map(({ agentName }) => agentName)])).toEqual([
    ['silent', ['a', 'z']],
    ['no-reporter', ['shop']],
  ]);
  expect(clear.map((group) => group.kind)).toEqual(['no-sidecar']);
});

test('namespaces stay known while a filter hides them', () => {
  expect(withNamespaces(['staging'], GAPS)).toEqual(['default', 'prod', 'staging']);
});
