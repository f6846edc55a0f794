import type { Heartbeat } from '../../core/shapes/heartbeat.ts';

/** A valid heartbeat of a healthy agent with score 100. */
export function aHeartbeat(overrides: Partial<Heartbeat> = {}): Heartbeat {
  return {
    version: 1,
    instance: 'i-1',
    seq: 1,
    intervalSeconds: 30,
    sentAt: '2026-03-01T10:00:00.000Z',
    source: 'agent-sdk',
    health: {
      agentName: 'shop',
      timestamp: '2026-03-01T10:00:00.000Z',
      status: 'healthy',
      summary: { passed: 0, failed: 0, warnings: 0, skipped: 0 },
      checks: [],
    },
    gap: { score: 100, grade: 'A', source: 'agent-sdk', issues: [] },
    scoreWithoutLocalProofs: null,
    evidence: { shown: 1, declared: 1, reported: 0, items: [] },
    audit: { declared: 100, proved: 100, failed: [], suppressions: [] },
    egress: null,
    proof: [],
    proofRevision: 0,
    usage: null,
    totals: null,
    outcomes: null,
    denials: null,
    policyMode: null,
    policyState: null,
    manifestHash: null,
    organisationRevision: null,
    stop: null,
    model: null,
    sidecarVersion: null,
    startedAt: '2026-03-01T09:00:00.000Z',
    ...overrides,
  };
}
