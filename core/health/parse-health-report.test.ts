import { describe, expect, test } from '@jest/globals';
import fc from '../../testing/random/properties.ts';
import { parseHealthReport } from './parse-health-report.ts';

const REPORT = {
  agentName: 'shop',
  timestamp: '2026-03-01T12:00:00Z',
  status: 'healthy',
  summary: { passed: 99, failed: 0, warnings: 0, skipped: 0 },
  checks: [
    { id: 'env:KEY', category: 'env', status: 'pass', severity: 'error' },
    {
      id: 'model:openai/gpt-4o',
      category: 'model',
      status: 'fail',
      severity: 'error',
      latencyMs: 12,
      message: 'm',
      remediation: 'r',
    },
  ],
};

test('accepts a valid report, and computes its status and summary', () => {
  expect(parseHealthReport(REPORT)).toEqual({
    ...REPORT,
    timestamp: '2026-03-01T12:00:00.000Z',
    status: 'unhealthy',
    summary: { passed: 1, failed: 1, warnings: 0, skipped: 0 },
  });
});

describe('rejects', () => {
  const { agentName: _name, ...withoutName } = REPORT;
  const withCheck = (check: unknown): unknown => ({ ...REPORT, checks: [check] });
  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['a string', 'healthy'],
    ['a list', [REPORT]],
    ['an ordinary health response', { status: 'ok' }],
    ['a report without status', { ...REPORT, status: undefined }],
    ['a report without agent name', withoutName],
    ['an invalid timestamp', { ...REPORT, timestamp: 'yesterday' }],
    ['checks that are not a list', { ...REPORT, checks: { length: 1 } }],
    ['a check that is not an object', withCheck('env:KEY')],
    ['a check without id', withCheck({ status: 'pass' })],
    ['a check with an unknown status', withCheck({ id: 'env:KEY', status: 'ok' })],
    ['a latency that is not a number', withCheck({ id: 'env:KEY', status: 'pass', latencyMs: '3' })],
  ])('%s', (_name, value) => {
    expect(parseHealthReport(value)).toBeNull();
  });
});

describe('hostile report', () => {
  const checksOf = (checks: unknown): unknown => parseHealthReport({ ...REPORT, checks })?.checks;

  test('is limited to 1000 checks and 500 characters per text', () => {
    const long = 'x'.repeat(10_000);
    const many = Array.from({ length: 3000 }, (_, index) => ({
      id: `env:${index}${long}`,
      status: 'fail',
      message: long,
    }));
    const report = parseHealthReport({ ...REPORT, agentName: long, checks: many });
    expect(report?.checks).toHaveLength(1000);
    expect(report?.agentName).toHaveLength(500);
    expect(report?.checks[999]).toEqual({
      id: `env:999${long}`.slice(0, 500),
      category: 'env',
      severity: 'info',
      status: 'fail',
      message: long.slice(0, 500),
    });
  });

  test('keeps only checks of known categories, and takes the category from the id', () => {
    expect(
      checksOf([
        { id: 'quantum:x', category: 'env', status: 'pass' },
        { id: 'constructor:x', status: 'pass' },
        { id: 'env', status: 'pass' },
        { id: 'tool:a', category: 'model', status: 'pass', severity: 'error' },
      ]),
    ).toEqual([{ id: 'tool:a', category: 'tool', status: 'pass', severity: 'error' }]);
  });

  test('cannot modify a prototype', () => {
    const text = '{"__proto__":{"id":"env:A","status":"pass"},"constructor":1}';
    expect(checksOf([JSON.parse(text)])).toBeUndefined();
    const check = JSON.parse('{"id":"env:A","status":"pass","__proto__":{"message":"m"}}') as unknown;
    expect(checksOf([check])).toEqual([{ id: 'env:A', category: 'env', status: 'pass', severity: 'info' }]);
    expect(({} as Record<string, unknown>)['message']).toBeUndefined();
  });

  test('never throws', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.anything(),
          fc.array(fc.anything()).map((checks) => ({ ...REPORT, checks })),
        ),
        (value) => {
          const report = parseHealthReport(value);
          expect(report === null || Array.isArray(report.checks)).toBe(true);
        },
      ),
    );
  });
});
