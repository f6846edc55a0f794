import type { EgressReport, EgressSummary } from '../../core/shapes/egress.ts';

/** The summary of `EGRESS`, which the status of an AgentObservation has. */
export const EGRESS_SUMMARY: EgressSummary = {
  ...{ lanes: ['openai'], calls: 5, models: ['gpt-5'], tools: ['delete_all_orders'], undeclared: 2 },
  undeclaredNames: ['tool delete_all_orders', 'host 203.0.113.7:443'],
  ...{ neverSeen: 0, misreported: 0, unseenEgress: 1, unexplainedOpens: 4 },
};

/** What the heartbeat of a sidecar with a lane and a census contains. */
export const EGRESS: EgressReport = {
  ...EGRESS_SUMMARY,
  rows: [
    {
      ...{ kind: 'model', name: 'gpt-5', verdict: 'match' },
      ...{ declared: true, reported: true, observed: true },
    },
    {
      ...{ kind: 'tool', name: 'delete_all_orders', verdict: 'undeclared' },
      ...{ declared: false, reported: null, observed: true },
    },
    {
      ...{ kind: 'host', name: '203.0.113.7:443', verdict: 'undeclared' },
      ...{ declared: false, reported: null, observed: true },
    },
  ],
  unseen: [
    {
      ...{ address: '203.0.113.7', port: 443, name: null, verdict: 'undeclared', count: 2 },
      ...{ firstSeen: '2026-03-01T09:00:00.000Z', lastSeen: '2026-03-01T09:30:00.000Z' },
    },
  ],
  notRewritten: [{ lane: 'openai', variable: 'OPENAI_BASE_URL', reason: 'reference' }],
  census: { state: 'on', reason: null },
};
