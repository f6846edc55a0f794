import type { EgressReport, MatrixRow } from '../../core/shapes/egress.ts';
import { stateOf, type Known, type MatrixState } from '../../core/egress/matrix-state.ts';

/** What lanes and census of an agent that keeps to its manifest observed. */
function egress(lanes: string[], models: string[], overrides: Partial<EgressReport> = {}): EgressReport {
  return {
    ...{ lanes, calls: 390, models, tools: [], undeclared: 0, undeclaredNames: [] },
    ...{ neverSeen: 0, misreported: 0, unseenEgress: 0, unexplainedOpens: 4, unseen: [] },
    ...{ census: { state: 'on', reason: null }, ...overrides },
  };
}

type Cells = readonly [declared: Known, reported: Known, observed: Known];

function row(kind: MatrixRow['kind'], name: string, cells: Cells, verdict?: MatrixState): MatrixRow {
  const [declared, reported, observed] = cells;
  const compared = { declared, reported, observed };
  return { kind, name, ...compared, verdict: verdict ?? stateOf(compared) };
}

/** Every verdict. */
const RESEARCHER_ROWS: MatrixRow[] = [
  row('model', 'gpt-5', [true, true, true]),
  row('model', 'gpt-5-mini', [true, null, null]),
  row('tool', 'browse', [true, true, true]),
  row('tool', 'send_report', [true, false, false]),
  row('tool', 'take_screenshot', [true, false, true]),
  row('tool', 'delete_page', [false, null, true]),
  row('mcp', 'browser', [true, true, true]),
  row('host', 'api.openai.com', [true, null, true]),
  row('host', 'files.example', [false, null, true]),
  row('host', '203.0.113.80:443', [null, null, true]),
  row('guardrail', 'input.prompt-injection', [true, true, null]),
  row('guardrail', 'input.pii-detector', [true, false, null]),
  row('tokens', 'prompt', [null, true, true], 'misreported'),
  row('tokens', 'completion', [null, true, true], 'match'),
];
export const RESEARCHER_EGRESS = egress(['openai', 'mcp:browser'], ['gpt-5'], {
  ...{ tools: ['browse', 'delete_page'], undeclared: 2, neverSeen: 2, misreported: 1, unseenEgress: 1 },
  undeclaredNames: ['tool delete_page', 'host files.example'],
  rows: RESEARCHER_ROWS,
  unseen: [
    {
      ...{ address: '192.0.2.7', port: 443, name: null, verdict: 'undeclared', count: 12 },
      ...{ firstSeen: '2026-03-02T09:12:00.000Z', lastSeen: '2026-03-02T14:21:00.000Z' },
    },
    {
      ...{ address: '2001:db8:4006:80e::200a', port: 443, name: 'cdn.example.net', verdict: 'unknown' },
      ...{ firstSeen: '2026-03-02T11:40:00.000Z', lastSeen: '2026-03-02T11:40:00.000Z', count: 1 },
    },
  ],
  notRewritten: [
    { lane: 'openai', variable: 'OPENAI_API_BASE', reason: 'reference' },
    { lane: 'mcp:browser', variable: 'BROWSER_MCP_URL', reason: 'other-upstream' },
  ],
});
/** Only the census runs. */
export const HELPER_EGRESS = egress([], [], {
  calls: 0,
  rows: [
    row('model', 'gpt-5-mini', [true, true, null]),
    row('tool', 'create_refund', [true, true, null]),
    row('host', 'api.openai.com', [true, null, true]),
  ],
});
/** Neither a lane nor a census. */
const { unseenEgress: _, unexplainedOpens: _opens, unseen: _unseen, ...NOTHING } = egress([], []);
export const LAPTOP_EGRESS: EgressReport = {
  ...{ ...NOTHING, calls: 0 },
  census: {
    state: 'refused',
    reason: 'the network namespace is that of the machine (hostNetwork, or a process without a container)',
  },
};
/** From a sidecar of an earlier version. */
const { census: _census, unseen: _list, ...OLDER } = egress(['anthropic'], ['claude-sonnet-5']);
export const OLDER_EGRESS: EgressReport = OLDER;
/** Every item matches. */
export const ASSISTANT_EGRESS = egress(['openai'], ['gpt-5-mini'], {
  tools: ['lookup_order', 'create_refund'],
  rows: [
    row('model', 'gpt-5-mini', [true, true, true]),
    row('tool', 'lookup_order', [true, true, true]),
    row('tool', 'create_refund', [true, true, true]),
    row('host', 'api.openai.com', [true, null, true]),
    row('guardrail', 'input.pii-detector', [true, true, null]),
  ],
});
