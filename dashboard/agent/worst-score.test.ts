import { expect, test } from '@jest/globals';
import type { InstanceStatus } from '../../core/shapes/instance.ts';
import { worstScored } from './worst-score.ts';

const instance = (name: string, score: number): InstanceStatus => ({
  ...{ name, score, phase: 'Healthy', startedAt: '', seq: 1, lastHeartbeat: '', intervalSeconds: 30 },
  ...{
    tokensToday: 0,
    costTodayUsd: 0,
    day: '2026-03-01',
    violations: 0,
    criticalIssues: 0,
    deniedInWindow: 0,
  },
});
const INSTANCES = [instance('a', 90), instance('b', 60), instance('c', 60)];

test.each([
  ['the shown report has the lowest score', { score: 60, reportedBy: 'c', instances: INSTANCES }, null],
  ['another instance has the lowest score', { score: 60, reportedBy: 'a', instances: INSTANCES }, 'b'],
  ['no listed instance has the score', { score: 10, reportedBy: 'a', instances: INSTANCES }, null],
  ['there was no report', {}, null],
])('%s', (_name, status, expected) => {
  expect(worstScored(status)).toBe(expected);
});
