import { describe, expect, test } from '@jest/globals';
import { aManifest, NOON, someFacts } from '../../testing/fleet/facts.ts';
import fc from '../../testing/random/properties.ts';
import { assess } from '../gap/assess.ts';
import { check } from '../health/check.ts';
import { composeHeartbeat, type HeartbeatInput } from './compose-heartbeat.ts';
import type { Heartbeat } from '../shapes/heartbeat.ts';
import { parseHeartbeat } from './parse-heartbeat.ts';

const MINIMAL = { health: { status: 'healthy', checks: [] }, gap: { score: 100, issues: [] } };

const manifest = aManifest({ requires: { envVars: ['KEY'] } });
const facts = someFacts();
const PLAIN: HeartbeatInput = {
  instance: 'shop-1',
  seq: 3,
  intervalSeconds: 30,
  at: NOON,
  startedAt: new Date('2026-03-01T11:00:00.000Z'),
  manifest,
  health: check(manifest, facts),
  gap: assess(manifest, facts),
};
const FULL: HeartbeatInput = {
  ...PLAIN,
  manifestHash: 'sha256:abc',
  proofs: [
    {
      ruleId: 'EVAL-01',
      verifiedBy: 'ci',
      method: 'ran',
      verifiedAt: '2026-02-01T00:00:00.000Z',
      expiresAt: '2026-02-02T00:00:00.000Z',
      expired: true,
    },
  ],
  proofRevision: 4,
  usage: {
    windowStartedAt: '2026-03-01T11:59:30.000Z',
    models: [{ modelId: 'gpt-4o', promptTokens: 1, completionTokens: 2, totalTokens: 3, callCount: 1 }],
    totalTokens: 3,
    totalCalls: 1,
  },
  evidence: {
    shown: 1.5,
    declared: 3,
    reported: 1,
    shownWithoutLocalProofs: 0.5,
    items: [
      {
        kind: 'evaluation',
        name: 'datasets',
        tier: 'proved',
        shownBy: 'local proof of EVAL-01',
        lastSeen: '2026-02-01T00:00:00.000Z',
      },
      {
        kind: 'tool',
        name: 'search',
        tier: 'reported',
        shownBy: 'x',
        lastSeen: '2026-03-01T11:59:30.000Z',
      },
      {
        kind: 'service',
        name: 'db',
        tier: 'none',
        contradictedBy: 'sidecar probe: connection refused',
      },
    ],
  },
  audit: {
    declared: 70,
    proved: 30,
    failed: ['MODEL-01'],
    suppressions: [
      { rule: 'SEC-LLM-10', reason: 'a vault', approvedBy: 'team', expires: '2026-12-31', state: 'active' },
    ],
  },
  egress: {
    lanes: ['openai', 'mcp:files'],
    calls: 12,
    models: ['gpt-4o'],
    tools: ['search'],
    undeclared: 1,
    undeclaredNames: ['tool delete_all'],
    neverSeen: 2,
    misreported: 0,
    unseenEgress: 1,
    unexplainedOpens: 4,
    rows: [
      {
        ...{ kind: 'tool', name: 'delete_all' },
        ...{ declared: false, reported: null, observed: true, verdict: 'undeclared' },
      },
    ],
    rowsTotal: 51,
    unseen: [
      {
        ...{ address: '203.0.113.7', port: 443, name: null, verdict: 'undeclared' },
        ...{ firstSeen: '2026-03-01T09:00:00.000Z', lastSeen: '2026-03-01T09:30:00.000Z', count: 2 },
      },
    ],
    unseenTotal: 21,
    notRewritten: [{ lane: 'openai', variable: 'OPENAI_BASE_URL', reason: 'reference' }],
    census: { state: 'on', reason: null },
  },
  totals: { tokensToday: 3, costTodayUsd: 0.5 },
  outcomes: { allow: 1, deny: 2, failOpen: 3, notEvaluated: 4 },
  denials: ['tool_not_declared'],
  policyMode: 'enforce',
  policyState: 'answered',
  sidecarVersion: '0.1.0',
};

const RECEIVED = { agentName: 'shop', at: new Date('2026-03-01T10:00:00.000Z') };

const errorsOf = (value: unknown): string[] => {
  const parsed = parseHeartbeat(value, RECEIVED);
  return parsed.ok ? [] : parsed.errors.map(({ path, message }) => `${path}: ${message}`);
};
const read = (value: unknown): Heartbeat => {
  const parsed = parseHeartbeat(value, RECEIVED);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
  return parsed.heartbeat;
};
const overWire = (heartbeat: Heartbeat): unknown => JSON.parse(JSON.stringify(heartbeat)) as unknown;

describe('a composed heartbeat', () => {
  test.each([
    ['plain', PLAIN],
    ['full', FULL],
  ])('is parsed to the same value: %s', (_name, input) => {
    const heartbeat = composeHeartbeat(input);
    expect(read(overWire(heartbeat))).toEqual(heartbeat);
  });

  test('does not contain `expired`, which the receiver computes', () => {
    expect(composeHeartbeat(FULL).proof).toEqual([
      {
        ruleId: 'EVAL-01',
        verifiedBy: 'ci',
        method: 'ran',
        verifiedAt: '2026-02-01T00:00:00.000Z',
        expiresAt: '2026-02-02T00:00:00.000Z',
      },
    ]);
  });
});

describe('a parsed heartbeat', () => {
  test('requires only health and gap', () => {
    expect(read(MINIMAL)).toEqual({
      version: 1,
      instance: 'default',
      seq: null,
      intervalSeconds: 30,
      sentAt: null,
      source: 'manifest-static',
      health: {
        agentName: 'shop',
        timestamp: '2026-03-01T10:00:00.000Z',
        status: 'healthy',
        summary: { passed: 0, failed: 0, warnings: 0, skipped: 0 },
        checks: [],
      },
      gap: { score: 100, grade: 'A', source: 'manifest-static', issues: [] },
      scoreWithoutLocalProofs: null,
      evidence: null,
      audit: null,
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
      model: null,
      sidecarVersion: null,
      startedAt: null,
      stop: null,
    });
  });

  test.each([
    ['healthy', 'healthy'],
    ['ready', 'healthy'],
    ['degraded', 'degraded'],
    ['unhealthy', 'unhealthy'],
    ['not-ready', 'unhealthy'],
  ])('maps the status %s to %s', (sent, status) => {
    expect(read({ ...MINIMAL, health: { status: sent, checks: [] } }).health.status).toBe(status);
  });

  test.each([
    [100, 100, 'A'],
    [74.5, 75, 'B'],
    [0, 0, 'F'],
  ])('derives the grade from the score %d and ignores the sent grade', (score, rounded, grade) => {
    const { gap } = read({ ...MINIMAL, gap: { score, grade: 'A', issues: [] } });
    expect([gap.score, gap.grade]).toEqual([rounded, grade]);
  });

  test('uses the source of the gap if the heartbeat has no source', () => {
    expect(read({ ...MINIMAL, gap: { score: 1, issues: [], source: 'agent-sdk' } }).source).toBe('agent-sdk');
  });

  test('keeps issues of the LLM analysis as such', () => {
    const issue = {
      severity: 'high',
      property: 'spec.tools[pay]',
      description: 'd',
      recommendation: 'r',
      source: 'llm',
    };
    const { gap } = read({ ...MINIMAL, gap: { score: 100, issues: [issue] } });
    expect(gap).toMatchObject({ score: 100, grade: 'A', issues: [issue] });
  });

  test('cuts long values and drops values that only a newer sender knows', () => {
    const long = 'x'.repeat(9000);
    const heartbeat = read({
      ...MINIMAL,
      future: true,
      health: {
        status: 'healthy',
        checks: [
          { id: 'quantum:1', status: 'pass' },
          { id: 'env:A', status: 'fail', message: long },
        ],
      },
      gap: { score: 1, issues: Array(1500).fill({ severity: 'low', property: 'p', description: long }) },
      proof: [
        { ruleId: 'NEW-01', verifiedBy: 'a', method: 'b', verifiedAt: '2026-02-01T00:00:00Z' },
        { ruleId: 'EVAL-01', verifiedBy: 'a', method: 'b', verifiedAt: '2026-02-01T00:00:00Z' },
      ],
    });
    expect(heartbeat.gap.issues).toHaveLength(1000);
    expect(heartbeat.gap.issues[0]).toEqual({
      severity: 'low',
      property: 'p',
      description: long.slice(0, 500),
      recommendation: '',
    });
    expect(heartbeat.health.checks).toEqual([
      { id: 'env:A', category: 'env', status: 'fail', severity: 'info', message: long.slice(0, 500) },
    ]);
    expect(heartbeat.proof.map((proof) => proof.ruleId)).toEqual(['EVAL-01']);
    expect(heartbeat).not.toHaveProperty('future');
  });
});

describe('evidence and audit of a heartbeat', () => {
  const item = { kind: 'tool', name: 'x'.repeat(9000), tier: 'none' };
  const sums = { shown: 0, declared: 5000, reported: 0 };
  const audit = { declared: 1, proved: 0, failed: [], suppressions: [] };
  const suppression = { rule: 'R', reason: 'x'.repeat(9000), state: 'active' };

  test('are limited in length', () => {
    const heartbeat = read({
      ...MINIMAL,
      evidence: { ...sums, items: Array(5000).fill(item) },
      audit: { ...audit, failed: Array(500).fill('R'), suppressions: Array(500).fill(suppression) },
    });
    expect(heartbeat.evidence?.items).toHaveLength(1000);
    expect(heartbeat.evidence?.items[0]?.name).toHaveLength(500);
    expect(heartbeat.audit?.failed).toHaveLength(100);
    expect(heartbeat.audit?.suppressions).toHaveLength(100);
    expect(heartbeat.audit?.suppressions[0]?.reason).toHaveLength(500);
  });

  test('drop entries with values that only a newer sender knows', () => {
    const heartbeat = read({
      ...MINIMAL,
      evidence: {
        ...sums,
        items: [
          { ...item, kind: 'dream' },
          { ...item, tier: 'felt' },
          { ...item, name: 'kept' },
        ],
      },
      audit: { ...audit, suppressions: [{ ...suppression, state: 'maybe' }, suppression] },
    });
    expect(heartbeat.evidence?.items.map(({ name }) => name)).toEqual(['kept']);
    expect(heartbeat.audit?.suppressions).toHaveLength(1);
  });
});

describe('egress of a heartbeat', () => {
  const row = { kind: 'tool', name: 'x'.repeat(9000), declared: true, reported: null, verdict: 'match' };
  const found = {
    ...{ address: '203.0.113.7', port: 443, name: 'x'.repeat(9000), verdict: 'undeclared', count: 1 },
    ...{ firstSeen: '2026-03-01T10:00:00+01:00', lastSeen: '2026-03-01T09:30:00Z' },
  };
  const variable = { lane: 'openai', variable: 'OPENAI_BASE_URL', reason: 'reference' };
  const summary = {
    ...{ lanes: [], calls: 0, models: [], tools: [], undeclared: 0, undeclaredNames: [] },
    ...{ neverSeen: 0, misreported: 0 },
  };
  const egressOf = (egress: object): Heartbeat['egress'] =>
    read({ ...MINIMAL, egress: { ...summary, ...egress } }).egress;

  test('may be the summary alone, as a sender of an earlier version sends it', () => {
    expect(egressOf({})).toEqual(summary);
  });

  test('is limited in length', () => {
    const report = egressOf({
      rows: Array(5000).fill(row),
      unseen: Array(5000).fill(found),
      notRewritten: Array(5000).fill({ ...variable, variable: 'V'.repeat(9000) }),
      census: { state: 'refused', reason: 'x'.repeat(9000) },
    });
    expect([report?.rows, report?.unseen, report?.notRewritten].map((list) => list?.length)).toEqual([
      50, 20, 20,
    ]);
    expect(report?.rows?.[0]).toEqual({ ...row, name: 'x'.repeat(200), observed: null });
    expect(report?.unseen?.[0]).toMatchObject({
      ...{ name: 'x'.repeat(200), firstSeen: '2026-03-01T09:00:00.000Z' },
    });
    expect(report?.notRewritten?.[0]?.variable).toHaveLength(200);
    expect(report?.census?.reason).toHaveLength(500);
  });

  test('drops entries with values that only a newer sender knows', () => {
    const report = egressOf({
      rows: [{ ...row, kind: 'dream' }, { ...row, verdict: 'felt' }, row],
      unseen: [{ ...found, verdict: 'maybe' }, found],
      notRewritten: [{ ...variable, reason: 'constructor' }, variable],
    });
    expect([report?.rows, report?.unseen, report?.notRewritten].map((list) => list?.length)).toEqual([
      1, 1, 1,
    ]);
  });

  test('is rejected with wrong values', () => {
    const egress = {
      ...summary,
      rows: [{ ...row, declared: 'yes' }],
      unseen: [{ ...found, address: 'a'.repeat(65), port: 65_536, count: -1, firstSeen: 'now' }],
      notRewritten: 'all',
      ...{ rowsTotal: 1.5, unseenTotal: '3' },
      census: { state: 'maybe', reason: 3 },
    };
    expect(errorsOf({ ...MINIMAL, egress })).toEqual([
      'egress.rowsTotal: must be an integer of at least 0',
      'egress.unseenTotal: must be an integer of at least 0',
      'egress.rows[0].declared: must be true or false',
      'egress.unseen[0].address: must have at most 64 characters',
      'egress.unseen[0].port: must be an integer from 0 to 65535',
      'egress.unseen[0].firstSeen: must be an ISO 8601 time with a time zone',
      'egress.unseen[0].count: must be an integer of at least 0',
      'egress.notRewritten: must be a list',
      'egress.census.state: must be one of off, on, refused',
      'egress.census.reason: must be a string',
    ]);
  });
});

describe('an invalid heartbeat', () => {
  test.each<[string, unknown, string[]]>([
    ['undefined', undefined, [': must be an object']],
    ['a list', [MINIMAL], [': must be an object']],
    ['an empty object', {}, ['health: must be an object', 'gap: must be an object']],
    ['another version', { ...MINIMAL, version: 2 }, ['version: must be one of 1']],
    [
      'an object with errors in all members',
      {
        version: '1',
        instance: '',
        seq: -1,
        intervalSeconds: 0,
        sentAt: 'now',
        source: 'guess',
        health: { status: 'fine', checks: [{ id: 'env:A', status: 'ok' }], summary: { passed: 1 } },
        gap: { score: 101, issues: [{ severity: 'bad', property: '' }] },
        evidence: { shown: -1, items: [{ kind: 'tool', tier: 'none', lastSeen: 'now' }] },
        audit: { declared: 101, proved: '1', failed: 'all', suppressions: [{ rule: 'X' }] },
        proof: [{ ruleId: 'EVAL-01' }],
        proofRevision: 1.5,
        usage: { models: 3 },
        totals: { tokensToday: '7' },
        outcomes: { allow: 1 },
        policyMode: 'on',
        policyState: 'maybe',
        model: 'gpt',
        startedAt: 5,
      },
      [
        'version: must be one of 1',
        'instance: must not be empty',
        'seq: must be an integer of at least 0',
        'intervalSeconds: must be an integer from 1 to 3600',
        'sentAt: must be an ISO 8601 time with a time zone',
        'source: must be one of manifest-static, agent-sdk',
        'health.status: must be one of healthy, degraded, unhealthy, ready, not-ready',
        'health.checks[0].status: must be one of pass, fail, skip',
        'health.summary.failed: must be an integer of at least 0',
        'health.summary.warnings: must be an integer of at least 0',
        'health.summary.skipped: must be an integer of at least 0',
        'gap.score: must be a number from 0 to 100',
        'gap.issues[0].severity: must be one of critical, high, medium, low',
        'gap.issues[0].property: must not be empty',
        'gap.issues[0].description: must be a string',
        'evidence.shown: must be a number from 0 to 1000000',
        'evidence.declared: must be an integer from 0 to 1000000',
        'evidence.reported: must be an integer from 0 to 1000000',
        'evidence.items[0].name: must be a string',
        'evidence.items[0].lastSeen: must be an ISO 8601 time with a time zone',
        'audit.declared: must be an integer from 0 to 100',
        'audit.proved: must be an integer from 0 to 100',
        'audit.failed: must be a list',
        'audit.suppressions[0].reason: must be a string',
        'audit.suppressions[0].state: must be a string',
        'proof[0].verifiedBy: must be a string',
        'proof[0].method: must be a string',
        'proof[0].verifiedAt: must be an ISO 8601 time with a time zone',
        'proofRevision: must be an integer of at least 0',
        'usage.windowStartedAt: must be an ISO 8601 time with a time zone',
        'usage.models: must be a list',
        'usage.totalTokens: must be an integer of at least 0',
        'usage.totalCalls: must be an integer of at least 0',
        'totals.tokensToday: must be an integer of at least 0',
        'outcomes.deny: must be an integer of at least 0',
        'outcomes.failOpen: must be an integer of at least 0',
        'outcomes.notEvaluated: must be an integer of at least 0',
        'policyMode: must be one of track, enforce, off',
        'policyState: must be one of none, unreachable, not-loaded, answered',
        'model: must be an object',
        'startedAt: must be an ISO 8601 time with a time zone',
      ],
    ],
  ])('is rejected: %s', (_name, value, expected) => {
    expect(errorsOf(value)).toEqual(expected);
  });

  test('is rejected if its members come from a prototype', () => {
    expect(errorsOf(JSON.parse(`{"__proto__": ${JSON.stringify(MINIMAL)}}`))).toEqual(errorsOf({}));
  });

  test('never makes parseHeartbeat throw', () => {
    const valid = overWire(composeHeartbeat(FULL)) as Record<string, unknown>;
    const broken = fc
      .tuple(fc.constantFrom(...Object.keys(valid)), fc.anything())
      .map(([key, value]) => ({ ...valid, [key]: value }));
    fc.assert(
      fc.property(fc.oneof(fc.anything(), broken), (value) => {
        expect(typeof parseHeartbeat(value, RECEIVED).ok).toBe('boolean');
      }),
    );
  });
});
