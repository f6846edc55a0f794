import { expect, test } from '@jest/globals';
import type { AgentUsageReport } from '../../core/shapes/usage.ts';
import { UsageGrowth } from './usage-growth.ts';

const STARTED = new Date('2026-03-01T12:00:00Z');
const [BEFORE, AFTER] = ['2026-03-01T11:00:00.000Z', '2026-03-01T12:00:00.000Z'];

const report = (windowStartedAt: string, callCount: number): AgentUsageReport => ({
  ...{ source: 'agent-sdk', windowStartedAt, totalTokens: callCount, totalCalls: callCount },
  models: [{ modelId: 'm', promptTokens: callCount, completionTokens: 0, totalTokens: callCount, callCount }],
});

test.each<[what: string, reports: (AgentUsageReport | null)[], calls: number | undefined]>([
  ['no report', [null], undefined],
  ['calls of an agent that started after the sidecar', [report(AFTER, 3)], 3],
  ['no call of the time before the sidecar', [report(BEFORE, 50)], undefined],
  ['the growth', [report(BEFORE, 50), null, report(BEFORE, 54)], 4],
  ['a new process of the agent', [report(BEFORE, 50), report(AFTER, 2)], 2],
  ['nothing of another process that is older', [report(AFTER, 2), report(BEFORE, 50)], undefined],
])('%s', (_what, reports, calls) => {
  const growth = new UsageGrowth(STARTED);
  for (const each of reports) growth.note(each);
  expect(growth.calls.get('m')).toBe(calls);
});
