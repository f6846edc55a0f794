import { expect, test } from '@jest/globals';
import type { InstanceStatus } from '../../core/shapes/instance.ts';
import { auditCommand } from './audit-command.ts';

const READ = `curl -s localhost:4001/audit | jq '.[] | select(.outcome == "deny")'`;
const instance = (name: string, deniedInWindow: number): InstanceStatus => ({
  ...{ name, deniedInWindow, score: 90, phase: 'Healthy', startedAt: '', seq: 1, lastHeartbeat: '' },
  ...{
    intervalSeconds: 30,
    tokensToday: 0,
    costTodayUsd: 0,
    day: '2026-03-01',
    violations: 0,
    criticalIssues: 0,
  },
});

test.each<[string, Parameters<typeof auditCommand>[0], string]>([
  ['of a registered agent', { source: 'remote', namespace: 'default', status: { phase: 'Healthy' } }, READ],
  [
    'of the instance that denied a request',
    {
      ...{ source: 'sidecar', namespace: 'prod' },
      status: {
        phase: 'Healthy',
        reportedBy: 'shop-a',
        instances: [instance('shop-a', 0), instance('shop-b', 2)],
      },
    },
    `kubectl -n prod port-forward pod/shop-b 4001 > /dev/null &\n${READ}`,
  ],
  [
    'of the shown instance',
    { source: 'sidecar', namespace: 'prod', status: { phase: 'Healthy', reportedBy: 'shop-a' } },
    `kubectl -n prod port-forward pod/shop-a 4001 > /dev/null &\n${READ}`,
  ],
  [
    'of a pod that is not known yet',
    { source: 'sidecar', namespace: 'prod', status: { phase: 'Pending' } },
    `kubectl -n prod port-forward pod/<pod> 4001 > /dev/null &\n${READ}`,
  ],
])('%s', (_name, agent, command) => {
  expect(auditCommand(agent)).toBe(command);
});
