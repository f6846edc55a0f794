import { describe, expect, test } from '@jest/globals';
import { agentItem } from '../../testing/fleet/agent-item.ts';
import { csvOf } from './csv.ts';

const HEADER =
  'namespace,agentName,agentId,grade,score,phase,tokens,costUsd,violations,failOpen,evidenceShown,evidenceDeclared,compliant,compliantReason,compliantMessage,lastSeen,stop\r\n';

describe('the CSV', () => {
  test('has a header and one line for each agent', () => {
    expect(csvOf([agentItem()])).toBe(
      `${HEADER}default,support,agt_1,A,95,Healthy,1000,0.5,0,0,8,10,True,Compliant,grade A,2026-11-23T12:00:00.000Z,\r\n`,
    );
    expect(csvOf([])).toBe(HEADER);
  });

  test('leaves out values that were never reported', () => {
    const agent = agentItem({
      grade: null,
      score: null,
      tokens: null,
      costUsd: null,
      violations: null,
      failOpen: null,
      evidence: null,
      compliant: { status: 'Unknown', reason: '', message: '' },
      lastSeen: null,
      phase: 'Pending',
    });
    expect(csvOf([agent])).toBe(`${HEADER}default,support,agt_1,,,Pending,,,,,,,Unknown,,,,\r\n`);
  });

  test.each([
    ['a comma', 'a,b', '"a,b"'],
    ['a quote', 'say "no"', '"say ""no"""'],
    ['a line break', 'a\nb', '"a\nb"'],
    ['a formula', '=HYPERLINK("http://x")', '"\'=HYPERLINK(""http://x"")"'],
    ['a plus', '+1', "'+1"],
    ['a minus', '-1', "'-1"],
    ['an at sign', '@SUM(A1)', "'@SUM(A1)"],
    ['a tab', '\t=1', "'\t=1"],
    ['a carriage return', '\r=1', '"\'\r=1"'],
    ['other languages', 'größer als 中', 'größer als 中'],
  ])('keeps a text with %s in one cell', (_title, message, cell) => {
    const csv = csvOf([agentItem({ compliant: { status: 'False', reason: 'Grade', message } })]);
    expect(csv).toContain(`,Grade,${cell},2026`);
  });
});
