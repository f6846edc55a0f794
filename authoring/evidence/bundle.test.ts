import { expect, test } from '@jest/globals';
import { aManifest } from '../../testing/fleet/facts.ts';
import { logLines } from '../../testing/record/log-lines.ts';
import { sampleEvents } from '../../testing/record/sample-events.ts';
import { parseLine } from '../../core/record/columns.ts';
import type { RecordEvent } from '../../core/record/record-event.ts';
import type { ProofRecord } from '../../core/shapes/proof.ts';
import { bundleOf, type BundleInputs, type EvidenceBundle, type ReadLog, type Reported } from './bundle.ts';
import { LogCounter } from './log-summary.ts';
import { pageOf } from './page.ts';
import { dayOf, rangeOfDays } from './range.ts';

const DAY = Date.parse('2026-03-01T00:00:00.000Z');
const RANGE = rangeOfDays(DAY, DAY);
const AT = new Date('2026-03-01T18:00:00.000Z');
const HASH = 'a'.repeat(64);

const PROOF: ProofRecord = {
  ...{ ruleId: 'SEC-LLM-04', verifiedBy: 'k6', method: '429 after 100 requests' },
  ...{ verifiedAt: '2026-02-01T00:00:00.000Z', origin: 'control-plane' },
};

const REPORTED: Reported = {
  ...{ kind: 'control-plane', url: 'https://platform.example.com', namespace: 'retail' },
  verdict: { status: 'False', reason: 'Contradicted', message: 'an undeclared tool was seen' },
  ...{
    score: 70,
    grade: 'C',
    policyMode: 'track',
    checks: [],
    guardrails: ['prompt-injection'],
    items: null,
  },
  issues: [
    {
      ...{ severity: 'critical', property: 'tools.undeclared.wipe' },
      ...{ description: 'wipe is not declared', recommendation: '' },
    },
  ],
  ...{ audit: null, proofs: [PROOF], trust: { writes: 'control-plane' }, manifestHash: HASH, instances: [] },
  ...{ organisation: null, excepted: [], history: null, outcomes: null, stops: null, heads: null },
  notIncluded: [],
};

const MANIFEST = {
  value: aManifest({
    model: { provider: 'openai', id: 'gpt-4o', apiKey: '$env:OPENAI_API_KEY' },
    guardrails: { input: [{ type: 'prompt-injection' }] },
    api: { rateLimit: { requestsPerMinute: 100 } },
  }),
  sha256: HASH,
  text: null,
};

function bundle(inputs: Partial<BundleInputs> = {}): EvidenceBundle {
  return bundleOf({
    ...{ agent: 'shop', namespace: 'retail', range: RANGE, at: AT, version: '1.0.0', notIncluded: [] },
    ...{ manifest: MANIFEST, reported: REPORTED, log: null },
    ...inputs,
  });
}

function logOf(events: readonly RecordEvent[]): ReadLog {
  const counter = new LogCounter(RANGE, 'shop', 'retail');
  for (const line of logLines(events)) {
    const parsed = parseLine(line);
    if (!parsed.ok) throw new Error(parsed.error);
    counter.add(parsed.event);
    // A second source has the same event.
    counter.add(parsed.event);
  }
  return { summary: counter.summary(), files: [], chain: null, ends: [] };
}

const stateOf = ({ rows }: EvidenceBundle, id: string) => rows.find((row) => row.id === id)?.state;

test('the log is counted by day, with findings, stops, losses and the reasons of denials', () => {
  const { findingOpened, findingClosed, ...others } = sampleEvents();
  const reopened = { ...findingOpened, at: findingOpened.at + 60_000 };
  const closed = { ...findingOpened, state: 'closed', at: findingOpened.at + 30_000 } as const;
  const yesterday = { ...others.started, at: DAY - 1 };
  const events = [yesterday, ...Object.values(others), findingOpened, closed, reopened, findingClosed];
  const { summary } = logOf(events);
  expect(summary.days).toEqual([
    {
      day: '2026-03-01',
      events: events.length - 1,
      kinds: { lifecycle: 3, request: 6, model: 3, tool: 3, connect: 2, finding: 4, admin: 7, gap: 1 },
      outcomes: { allow: 8, deny: 4, failOpen: 1, notEvaluated: 1 },
      lost: 3,
    },
  ]);
  expect(summary.findings).toEqual([
    {
      ...{ property: 'model.apiKey', description: 'The key is \u2028 "written" out.', isOpen: true },
      ...{ firstSeen: '2026-03-01T12:00:01.000Z', lastSeen: '2026-03-01T12:01:01.000Z' },
    },
    {
      ...{ property: 'egress.unseen', description: 'Unseen.', isOpen: false },
      ...{ firstSeen: '2026-03-01T12:00:01.000Z', lastSeen: '2026-03-01T12:00:01.000Z' },
    },
  ]);
  expect(summary.stops.map(({ state, reason, by }) => [state, reason, by])).toEqual([
    ['stopped', 'leak of data', 'alice'],
    ['stopped', 'leak of data', 'alice'],
    ['resumed', 'repaired', null],
  ]);
  expect(summary.losses).toMatchObject([{ lost: 3, reason: 'buffers full' }]);
  expect(summary.denials.map(({ reason }) => reason).toSorted()).toEqual([
    ...['destructive_tool_without_confirmation', 'host_not_declared'],
    ...['pii_detector_not_invoked', 'tool_not_declared'],
  ]);
  expect(summary.persons).toBe(1);
});

test('an event of another agent, namespace or day does not count', () => {
  const [line = ''] = logLines([sampleEvents().request]);
  const parsed = parseLine(line);
  if (!parsed.ok) throw new Error(parsed.error);
  const of = (range: typeof RANGE, agent: string, namespace: string | null) =>
    new LogCounter(range, agent, namespace).add(parsed.event);
  expect(of(RANGE, 'shop', null)).toBe(true);
  expect(of(RANGE, 'shop', 'other')).toBe(false);
  expect(of(RANGE, 'other', 'retail')).toBe(false);
  expect(of(rangeOfDays(DAY + 86_400_000, DAY + 86_400_000), 'shop', 'retail')).toBe(false);
});

test('a rule is shown by what was seen in the range, with the manifest that the agent runs with', () => {
  expect(stateOf(bundle(), 'SEC-LLM-01')).toBe('shown');
  expect(stateOf(bundle(), 'SEC-LLM-04')).toBe('shown');
  const otherManifest = { ...MANIFEST, sha256: 'b'.repeat(64) };
  const other = bundle({ manifest: otherManifest });
  expect(other.manifest?.isReported).toBe(false);
  expect(stateOf(other, 'SEC-LLM-01')).toBe('declared');
});

test('what is seen now does not show anything about an earlier range', () => {
  const later = { at: new Date('2026-03-10T00:00:00.000Z') };
  expect(stateOf(bundle(later), 'SEC-LLM-01')).toBe('declared');
  const seen = { ...logOf([]), summary: { ...logOf([]).summary, guardrails: ['prompt-injection'] } };
  expect(stateOf(bundle({ ...later, log: seen }), 'SEC-LLM-01')).toBe('shown');
});

test.each([
  ['submitted after the range', { verifiedAt: '2026-03-05T00:00:00.000Z' }],
  ['expired in the range', { expiresAt: '2026-03-01T20:00:00.000Z' }],
  ['local', { origin: 'local' }],
] as const)('a proof that was %s does not count', (_title, changed) => {
  const found = bundle({
    at: new Date('2026-03-10T00:00:00.000Z'),
    reported: { ...REPORTED, proofs: [{ ...PROOF, ...changed }] },
  });
  expect(found.proofs).toMatchObject([{ state: 'does not count' }]);
  expect(stateOf(found, 'SEC-LLM-04')).toBe('declared');
});

test('an open issue contradicts its controls, and a missing time is named', () => {
  const found = bundle();
  expect(found.findings).toMatchObject([
    { property: 'tools.undeclared.wipe', severity: 'critical', isOpen: true, firstSeen: null },
  ]);
  const asi = found.frameworks.find(({ id }) => id === 'owaspAsi2026');
  expect(asi?.controls.find(({ id }) => id === 'ASI02')).toMatchObject({
    state: 'contradicted',
    reason: 'tools.undeclared.<name>: the issue tools.undeclared.wipe is open',
  });
  expect(found.notIncluded.map(({ part }) => part)).toContain('first and last time of findings');
});

test('a chain is shown only if it agrees with heads that had left the pod', () => {
  const part = { chain: 'c', first: 1, last: 9, isFromStart: true, lost: 0, heads: 2 };
  const chain = { lines: 9, otherLines: 0, chains: [part], findings: [], absent: [] };
  const log = { ...logOf([sampleEvents().request]), chain };
  const heads = [{ chain: 'c', sequence: 9, head: HASH }];
  expect(stateOf(bundle({ log }), 'audit-chain')).toBe('nothing seen');
  expect(stateOf(bundle({ log, reported: { ...REPORTED, heads } }), 'audit-chain')).toBe('shown');
  const findings = [{ problem: 'changed', line: 3, message: 'x' } as const];
  const changed = { ...log, chain: { ...chain, findings } };
  expect(stateOf(bundle({ log: changed, reported: { ...REPORTED, heads } }), 'audit-chain')).toBe(
    'nothing seen',
  );
});

test('the page has no script and escapes every text', () => {
  const evil = '"><script>alert(1)</script>\u202e';
  const page = pageOf(
    bundle({
      agent: evil,
      reported: {
        ...{
          ...REPORTED,
          url: evil,
          excepted: [evil],
          issues: [{ severity: 'high', property: evil, description: evil, recommendation: evil }],
        },
        verdict: { status: 'False', reason: evil, message: evil },
        proofs: [{ ...PROOF, verifiedBy: evil, method: evil }],
        stops: [{ at: AT.toISOString(), state: 'stopped', reason: evil, by: evil }],
      },
      notIncluded: [{ part: evil, reason: evil }],
    }),
    HASH,
  );
  expect(page).not.toMatch(/<script|javascript:|\son\w+=|\u202e/i);
  expect(page.match(/&lt;script&gt;/g)?.length).toBeGreaterThan(10);
});

test('the page has each control of the bundle', () => {
  const found = bundle();
  const page = pageOf(found, HASH);
  for (const { controls } of found.frameworks) for (const { id } of controls) expect(page).toContain(id);
  expect(page).not.toMatch(/\d ?%<|per ?cent/);
});

test.each([
  ['2026-02-28', true],
  ['2026-02-30', false],
  ['2026-2-1', false],
  ['yesterday', false],
])('%s is a day: %s', (text, isDay) => {
  expect(dayOf(text) !== null).toBe(isDay);
});
