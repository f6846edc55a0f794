import { describe, expect, test } from '@jest/globals';
import type { AgentRow } from './control-plane-client.ts';
import { complianceLines, dashboardLines, fleetTable, paletteFor, reasonLines, tryLines } from './present.ts';

const plain = paletteFor(false);
const now = new Date('2026-03-01T10:00:12Z');
const row = (overrides: Partial<AgentRow> = {}): AgentRow => ({
  agentName: 'compliant',
  phase: 'Healthy',
  grade: 'A',
  score: 100,
  tokens: 1234,
  evidence: { percent: 61, shown: 5.5, declared: 9 },
  proved: 20,
  compliant: { status: 'True', reason: 'Compliant', message: 'grade B or better' },
  lastSeen: '2026-03-01T10:00:10Z',
  ...overrides,
});

describe('the fleet table', () => {
  test('has the verdict first, then what explains it, and leaves unknown values empty', () => {
    const none = { grade: null, score: null, tokens: null, evidence: null, proved: null };
    const compliant = { status: 'Unknown', reason: 'NotReporting', message: 'no heartbeat' } as const;
    const unknown = { phase: 'Pending' as const, ...none, compliant, lastSeen: null };
    const table = fleetTable([row(), row({ agentName: 'new', ...unknown })], now, plain);
    expect(table.split('\n')).toEqual([
      'NAME        COMPLIANT   PHASE     GRADE   SCORE   EVIDENCE   PROVED   TOKENS   CHECKED',
      'compliant   yes         Healthy   A       100     61%        20       1,234    2s',
      'new         unknown     Pending',
    ]);
  });

  test('is coloured by verdict on a terminal', () => {
    const of = (status: AgentRow['compliant']['status']) =>
      row({ compliant: { status, reason: 'r', message: 'm' } });
    const table = fleetTable([of('True'), of('Unknown'), of('False')], now, paletteFor(true));
    expect(table.split('\n').map((line) => line.slice(1, line.indexOf('m')))).toEqual([
      '[1',
      '[32',
      '[33',
      '[31',
    ]);
  });
});

describe('the reasons', () => {
  test('list each issue with its description', () => {
    const issues = [
      {
        severity: 'high' as const,
        property: 'service:db',
        description: 'refused',
        recommendation: 'start it',
      },
      {
        severity: 'low' as const,
        property: 'evaluated',
        description: 'no proof',
        recommendation: 'evaluate',
      },
    ];
    const gap = { score: 75, grade: 'B' as const, source: 'agent-sdk' as const, issues };
    expect(reasonLines('shop', gap, plain).split('\n')).toEqual([
      'shop lost 25 points:',
      '  -20  service:db  refused',
      '   -5  evaluated   no proof',
    ]);
  });

  test('state that no points were lost', () => {
    const gap = { score: 100, grade: 'A' as const, source: 'agent-sdk' as const, issues: [] };
    expect(reasonLines('shop', gap, plain)).toBe('shop lost no points');
  });
});

test('each compliance line is the verdict of an agent', () => {
  const silent = { status: 'Unknown', reason: 'NotShown', message: 'never shown: tool search' } as const;
  const tooLow = { status: 'False', reason: 'GradeTooLow', message: 'the grade is below B' } as const;
  const lines = complianceLines(
    [row(), row({ agentName: 'silent', compliant: silent }), row({ agentName: 'gappy', compliant: tooLow })],
    plain,
  );
  expect(lines.split('\n').slice(1)).toEqual([
    '  compliant  yes: grade B or better',
    '  silent     unknown: never shown: tool search',
    '  gappy      no: the grade is below B',
  ]);
});

test('the commands contain the addresses and the key', () => {
  const lines = tryLines({
    controlPlaneUrl: 'http://127.0.0.1:1',
    adminKey: 'k',
    agentName: 'shop',
    proxyUrl: 'http://127.0.0.1:2',
    controlUrl: 'http://127.0.0.1:3',
  });
  expect(lines).toEqual([
    "curl -s -H 'X-Admin-Key: k' http://127.0.0.1:1/api/v1/agents",
    "curl -s -H 'X-Admin-Key: k' http://127.0.0.1:1/api/v1/agents/shop/gap",
    `curl -s http://127.0.0.1:2/v1/chat -H 'content-type: application/json' -d '{"message":"Where is order A-17?"}'`,
    "curl -s 'http://127.0.0.1:3/audit?limit=1'",
    'curl -s http://127.0.0.1:3/egress',
    'curl -s http://127.0.0.1:3/gap',
    'curl -s http://127.0.0.1:3/health/ready',
    'node dist/cli/main.js audit examples/agents/shop/agent.yaml --url http://127.0.0.1:3',
    'node dist/cli/main.js observe --once --url http://127.0.0.1:3',
  ]);
});

describe('the lines about the dashboard', () => {
  const targets = { controlPlaneUrl: 'http://127.0.0.1:1', adminKey: 'k' };

  test('contain its address, the key, and what is seeded', () => {
    expect(dashboardLines({ ...targets, changing: 'shop' }, plain).split('\n')).toEqual([
      'Dashboard',
      '  address    http://127.0.0.1:1/',
      '  admin key  k',
      '  The history before the start of the demo is seeded: it did not happen.',
      '  shop changes every 20 seconds: it runs its guardrails for a while, and then skips one again.',
    ]);
  });

  test('name no agent that changes if there is none', () => {
    expect(dashboardLines({ ...targets, changing: null }, plain)).not.toContain('changes');
  });
});
