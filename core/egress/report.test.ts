import { describe, expect, test } from '@jest/globals';
import { misbehavingEgress, someEgress } from '../../testing/fleet/egress-facts.ts';
import { aManifest, someFacts } from '../../testing/fleet/facts.ts';
import type { EgressFacts } from '../facts/egress-facts.ts';
import { parseWith } from '../shapes/field.ts';
import { matrixOf } from './matrix.ts';
import { egressReportOf, observedSummaryOf } from './report.ts';
import {
  type EgressReport,
  type MatrixRow,
  type NotRewritten,
  type CensusState,
  type UnseenEgress,
  egressReport,
} from '../shapes/egress.ts';
import { egressSummaryOf } from './summary.ts';

const ON: CensusState = { state: 'on', reason: null };
const OFF: CensusState = { state: 'off', reason: null };
const REFUSED: CensusState = { state: 'refused', reason: 'the pod uses the network of its node' };
const manifest = aManifest({ tools: [{ name: 'search' }] });

const reportOf = (
  egress: EgressFacts | null,
  census: CensusState = OFF,
  notRewritten: readonly NotRewritten[] = [],
): EgressReport | null => egressReportOf(manifest, someFacts({ egress }), { census, notRewritten });

test('has the rows of GET /explore?view=matrix, and the summary of the same rows', () => {
  const egress = misbehavingEgress();
  const facts = someFacts({ egress });
  const { rows } = matrixOf(manifest, facts);
  expect(rows.map(({ verdict }) => verdict)).toEqual(
    expect.arrayContaining(['match', 'undeclared', 'misreported']),
  );
  const notRewritten: NotRewritten[] = [{ lane: 'openai', variable: 'OPENAI_BASE_URL', reason: 'reference' }];
  expect(reportOf(egress, ON, notRewritten)).toEqual({
    ...egressSummaryOf(facts, rows),
    ...{ rows, unseen: egress.census?.unseenEgress, notRewritten, census: ON },
  });
});

test('has neither findings nor variables without a census and with every variable changed', () => {
  const report = reportOf(someEgress());
  expect(report).toMatchObject({ census: OFF });
  for (const member of ['unseen', 'notRewritten', 'rowsTotal', 'unseenTotal'])
    expect(report).not.toHaveProperty(member);
});

test.each([
  ['off', OFF, null],
  ['refused', REFUSED, { lanes: [], calls: 0, census: REFUSED }],
])('without lanes and with a census that is %s', (_name, census, expected) => {
  const report = reportOf(null, census);
  if (expected === null) expect(report).toBeNull();
  else expect(report).toMatchObject(expected);
  // Nothing is observed, so the observation has no block.
  expect(observedSummaryOf(report)).toBeNull();
});

test('the status gets the summary only, from senders of this and of an earlier version', () => {
  const facts = someFacts({ egress: misbehavingEgress() });
  const summary = egressSummaryOf(facts, matrixOf(manifest, facts).rows);
  expect(observedSummaryOf(reportOf(misbehavingEgress(), ON))).toEqual(summary);
  expect(observedSummaryOf(summary)).toEqual(summary);
  expect(observedSummaryOf(null)).toBeNull();
});

describe('limits', () => {
  const names = (count: number, prefix: string): string[] =>
    Array.from({ length: count }, (_, index) => `${prefix}-${index}-${'x'.repeat(600)}`);
  const finding = (name: string, index: number): UnseenEgress => ({
    ...{ address: `2001:db8:ffff:ffff:ffff:ffff:ffff:${index}`, port: 65_535, name, verdict: 'undeclared' },
    ...{ firstSeen: '2026-03-01T11:00:00.000Z', lastSeen: '2026-03-01T11:30:00.000Z', count: 1_000_000 },
    lanes: names(4, 'lane').map((lane) => lane.slice(0, 74)),
  });
  const huge = someEgress({
    models: new Map(names(40, 'model').map((name) => [name, 1])),
    toolsCalled: new Map(names(40, 'tool').map((name) => [name, 1])),
    census: { unseenEgress: names(200, 'host').map(finding), unexplainedOpens: 1e9 },
  });
  const notRewritten = names(30, 'VARIABLE').map((variable): NotRewritten => ({
    ...{ lane: 'compatible:gateway', variable: variable.slice(0, 100), reason: 'other-upstream' },
  }));
  const report = reportOf(huge, ON, notRewritten);

  test('are those of the parser, and the totals are known', () => {
    expect(report).toMatchObject({ rowsTotal: 285, unseenTotal: 200 });
    expect([report?.rows, report?.unseen, report?.notRewritten].map((list) => list?.length)).toEqual([
      50, 20, 20,
    ]);
    expect(parseWith(egressReport, JSON.parse(JSON.stringify(report)))).toEqual({ ok: true, value: report });
  });

  test('keep a report small: names of 200 characters, and usual names', () => {
    const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
    const summary = bytes(observedSummaryOf(report));
    const largest = bytes(report);
    const usual = bytes({
      ...report,
      ...{ lanes: ['openai'], models: ['gpt-5'], tools: ['search'], undeclaredNames: [] },
      rows: report?.rows?.map((row, index) => ({ ...row, name: `lookup_order_${index}` })),
      unseen: report?.unseen?.map((each) => ({ ...each, name: 'api.example.com', lanes: ['openai'] })),
      notRewritten: [],
    });
    process.stderr.write(
      `egress report: ${usual} bytes with 50 rows and 20 addresses, at most ${largest}; summary at most ${summary}\n`,
    );
    expect(usual).toBeLessThan(11_000);
    expect(largest).toBeLessThan(36_000);
    expect(summary).toBeLessThan(10_000);
  });

  test('leave out rows that match first, and keep the order of the matrix', () => {
    const tools = Array.from({ length: 60 }, (_, index) => `tool-${index}`);
    const some = aManifest({ tools: tools.map((name) => ({ name })) });
    const egress = someEgress({
      models: new Map([['gpt-5', 1]]),
      toolsCalled: new Map([...tools.slice(0, 55), 'evil'].map((name) => [name, 1])),
    });
    const setup = { census: OFF, notRewritten: [] };
    const { rows = [], rowsTotal } = egressReportOf(some, someFacts({ egress }), setup) ?? {};
    const all = matrixOf(some, someFacts({ egress })).rows;
    expect([rows.length, rowsTotal]).toEqual([50, all.length]);
    const isKept = ({ verdict }: MatrixRow): boolean => verdict !== 'match';
    expect(rows.filter(isKept)).toEqual(all.filter(isKept));
    expect(all.filter(isKept).map(({ name }) => name)).toEqual(
      expect.arrayContaining([...tools.slice(55), 'evil']),
    );
  });
});
