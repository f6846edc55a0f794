import { describe, expect, test } from '@jest/globals';
import { parseAgentReport } from './parse-agent-report.ts';

const NOON = Date.parse('2026-03-01T12:00:00.000Z');
const REPORT = {
  agentName: 'shop',
  timestamp: new Date(NOON).toISOString(),
  status: 'healthy',
  summary: { passed: 1, failed: 0, warnings: 0, skipped: 0 },
  checks: [{ id: 'tool:pay', category: 'tool', status: 'pass', severity: 'info' }],
};
const parse = (value: unknown): unknown => {
  const parsed = parseAgentReport(value, { agentName: 'shop', at: new Date(NOON) });
  return parsed.ok ? 'valid' : `${parsed.invalid.field}: ${parsed.invalid.reason}`;
};

describe('report of the agent', () => {
  test.each<[string, unknown, string]>([
    ['in the format of the reporter', REPORT, 'valid'],
    ['null', null, ': must be an object'],
    ['a list', [REPORT], ': must be an object'],
    ['without a name', { ...REPORT, agentName: undefined }, 'agentName: must be a string'],
    ['of another agent', { ...REPORT, agentName: 'store' }, 'agentName: must be shop'],
    ['with a capital letter in the name', { ...REPORT, agentName: 'Shop' }, 'agentName: must be shop'],
    [
      'without a time zone',
      { ...REPORT, timestamp: '2026-03-01T12:00:00' },
      'timestamp: must be an ISO 8601 time with a time zone',
    ],
    ['without a status', { ...REPORT, status: undefined }, 'status: must be a string'],
    ['without checks', { ...REPORT, checks: undefined }, 'checks: must be a list'],
    [
      'with an invalid check status',
      { ...REPORT, checks: [REPORT.checks[0], { id: 'tool:x', status: 'PASS' }] },
      'checks[1].status: must be one of pass, fail, skip',
    ],
    [
      'with a negative latency',
      { ...REPORT, checks: [{ ...REPORT.checks[0], latencyMs: -1 }] },
      'checks[0].latencyMs: must be a number from 0 to 1000000000',
    ],
  ])('%s', (_name, value, expected) => {
    expect(parse(value)).toBe(expected);
  });

  test.each([
    [0, 'valid'],
    [-120, 'valid'],
    [-120.001, 'timestamp: must not be more than 120 s old'],
    [60, 'valid'],
    [60.001, 'timestamp: must not be more than 60 s ahead'],
  ])('with a timestamp %d s from now', (seconds, expected) => {
    const timestamp = new Date(NOON + seconds * 1000).toISOString();
    expect(parse({ ...REPORT, timestamp })).toBe(expected);
  });
});
