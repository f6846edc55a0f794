import { expect, test } from '@jest/globals';
import { parseAgentReport } from '../core/health/parse-agent-report.ts';
import { parseUsageReport } from '../core/usage/parse-usage-report.ts';
import { HTTP_BODIES } from './http-bodies.ts';

test.each(HTTP_BODIES)('the documented $title is accepted', ({ example, parse }) => {
  expect(parse(example)).toMatchObject({ ok: true });
});

test('the documented reports of an agent are consistent', () => {
  const example = (title: string) => HTTP_BODIES.find((body) => body.title === title)?.example;
  const expected = { agentName: 'shop', at: new Date('2026-11-21T08:30:10Z') };
  expect(parseAgentReport(example('Health report'), expected)).toMatchObject({ ok: true });
  expect(parseUsageReport(example('Usage report'))).not.toBeNull();
});
