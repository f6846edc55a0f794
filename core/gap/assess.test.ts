import { describe, expect, test } from '@jest/globals';
import type { BehaviorFacts } from '../behavior/summarize-behavior.ts';
import type { CheckStatus } from '../facts/check.ts';
import type { Check } from '../shapes/health.ts';
import { NOON, aManifest, someFacts } from '../../testing/fleet/facts.ts';
import fc from '../../testing/random/properties.ts';
import type { Facts, HttpResult } from '../facts/facts.ts';
import type { ManifestSpec } from '../manifest/manifest.ts';
import { align } from './align.ts';
import { assess } from './assess.ts';
import { ENDPOINT_RULES } from './endpoint-rules.ts';
import { POINTS } from './finding.ts';
import type { GapReport, Issue } from '../shapes/gap.ts';
import { MANIFEST_RULES } from './manifest-rules.ts';
import { STATIC_FLOOR } from './points.ts';
import { REPORTER_RULES } from './reporter-rules.ts';

const PII = { guardrails: { input: [{ type: 'pii-detector' as const }] } };
const DATASET = { evaluation: { datasets: [{ name: 'golden', path: 'golden.jsonl' }] } };
const REFUSED: HttpResult = { answered: false, reason: 'connection refused' };
const DEAD: Partial<Facts> = {
  upstream: { state: 'unreachable', reason: 'connection refused' },
  health: REFUSED,
  capabilities: REFUSED,
};

const reported = (checks: [id: string, status: CheckStatus][]): Partial<Facts> => ({
  agentReport: {
    checks: checks.map(([id, status]): Check => ({ id, status, category: 'env', severity: 'info' })),
  },
});

/** Score, grade and `severity property` of each issue. */
const brief = ({ score, grade, issues }: GapReport): string =>
  [`${score} ${grade}`, ...issues.map((issue) => `${issue.severity} ${issue.property}`)].join(', ');

const gapOf = (spec: Partial<ManifestSpec>, facts: Partial<Facts> = {}): string =>
  brief(assess(aManifest(spec), someFacts(facts)));

describe('worked examples', () => {
  test.each<[string, Partial<ManifestSpec>, Partial<Facts>, string]>([
    ['endpoints fine, guardrails, no datasets', PII, {}, '100 A'],
    ['dead agent, guardrails, no datasets', PII, DEAD, '70 C, high healthcheckable, medium discoverable'],
    [
      'dead agent, no guardrails',
      {},
      DEAD,
      '60 C, high healthcheckable, medium auditable, medium discoverable',
    ],
    [
      'dead agent, no guardrails, one dataset',
      DATASET,
      DEAD,
      '55 D, high healthcheckable, medium auditable, medium discoverable, low evaluated',
    ],
    [
      'agent-sdk, no guardrails, model fails, its key is not reported, two tools fail',
      {
        model: { provider: 'openai', id: 'gpt-4o', apiKey: '$env:OPENAI_API_KEY' },
        tools: [{ name: 'search' }, { name: 'order' }],
      },
      reported([
        ['model:openai/gpt-4o', 'fail'],
        ['tool:search', 'fail'],
        ['tool:order', 'fail'],
      ]),
      '20 F, critical model.apiKey, high env:OPENAI_API_KEY, medium auditable, medium tool:search, medium tool:order',
    ],
  ])('%s', (_name, spec, facts, expected) => {
    expect(gapOf(spec, facts)).toBe(expected);
  });
});

describe('endpoints', () => {
  const response = (status: number): HttpResult => ({ answered: true, status, latencyMs: 1 });
  test.each<[string, Partial<Facts>, string]>([
    ['accepts health status 204', { health: response(204) }, '100 A'],
    ['rejects health status 302', { health: response(302) }, '80 B, high healthcheckable'],
    ['rejects health status 503', { health: response(503) }, '80 B, high healthcheckable'],
    ['rejects capabilities status 404', { capabilities: response(404) }, '90 A, medium discoverable'],
    [
      'finds nothing for endpoints that were not probed',
      { upstream: null, health: null, capabilities: null },
      '100 A',
    ],
    [
      'treats an empty list of tools as a list',
      { capabilities: { ...response(200), tools: [] } },
      '90 A, medium discoverable.search',
    ],
    ['finds nothing for a listed tool', { capabilities: { ...response(200), tools: ['search'] } }, '100 A'],
    ['finds nothing without a list of tools', { capabilities: { ...response(200), tools: null } }, '100 A'],
    [
      'ignores a list with an error status',
      { capabilities: { ...response(500), tools: [] } },
      '90 A, medium discoverable',
    ],
  ])('%s', (_name, facts, expected) => {
    expect(gapOf({ ...PII, tools: [{ name: 'search' }] }, facts)).toBe(expected);
  });
});

describe("the agent's own report", () => {
  const SPEC: Partial<ManifestSpec> = {
    ...PII,
    requires: { envVars: ['DB_URL'], services: [{ name: 'db', address: 'db:5432' }] },
    tools: [{ name: 'search' }],
  };
  const FINE: [string, CheckStatus][] = [
    ['model:openai/gpt-4o', 'pass'],
    ['env:DB_URL', 'pass'],
    ['service:db', 'pass'],
    ['tool:search', 'pass'],
  ];
  const withStatus = (id: string, status?: CheckStatus): Partial<Facts> => {
    const others = FINE.filter(([each]) => each !== id);
    return reported(status === undefined ? others : [...others, [id, status]]);
  };
  test.each<[string, Partial<Facts>, string]>([
    ['all pass', reported(FINE), '100 A'],
    ['model fails', withStatus('model:openai/gpt-4o', 'fail'), '70 C, critical model.apiKey'],
    ['model skipped', withStatus('model:openai/gpt-4o', 'skip'), '80 B, high model.apiKey'],
    ['model not reported', withStatus('model:openai/gpt-4o'), '80 B, high model.apiKey'],
    [
      'another model reported',
      reported([...FINE.slice(1), ['model:openai/gpt-3', 'pass']]),
      '80 B, high model.apiKey',
    ],
    ['variable fails', withStatus('env:DB_URL', 'fail'), '80 B, high env:DB_URL'],
    ['variable skipped', withStatus('env:DB_URL', 'skip'), '100 A'],
    ['variable not reported', withStatus('env:DB_URL'), '80 B, high env:DB_URL'],
    ['service fails', withStatus('service:db', 'fail'), '80 B, high service:db'],
    ['service not reported', withStatus('service:db'), '80 B, high service:db'],
    ['tool fails', withStatus('tool:search', 'fail'), '90 A, medium tool:search'],
    ['tool not reported', withStatus('tool:search'), '90 A, medium tool:search'],
    ['undeclared check fails', reported([...FINE, ['env:EXTRA', 'fail']]), '80 B, high env:EXTRA'],
    [
      'failure reported before a pass',
      reported([['tool:search', 'fail'], ...FINE]),
      '90 A, medium tool:search',
    ],
  ])('%s', (_name, facts, expected) => {
    expect(gapOf(SPEC, facts)).toBe(expected);
  });

  describe('declared, not shown', () => {
    const shown: [string, CheckStatus][] = [
      ...FINE,
      ['memory:backend', 'pass'],
      ['memory:shortTerm', 'pass'],
      ['mcp:files', 'pass'],
    ];
    const withShownStatus = (id: string, status?: CheckStatus): Partial<Facts> => {
      const others = shown.filter(([each]) => each !== id);
      return reported(status === undefined ? others : [...others, [id, status]]);
    };
    test.each<[string, Partial<Facts>, string]>([
      ['service skipped', withShownStatus('service:db', 'skip'), '95 A, low service:db'],
      ['tool skipped', withShownStatus('tool:search', 'skip'), '95 A, low tool:search'],
      ['memory skipped', withShownStatus('memory:backend', 'skip'), '95 A, low memory:backend'],
      ['memory left out', withShownStatus('memory:backend'), '95 A, low memory:backend'],
      ['MCP server skipped', withShownStatus('mcp:files', 'skip'), '95 A, low mcp:files'],
      ['MCP server left out', withShownStatus('mcp:files'), '95 A, low mcp:files'],
      ['memory fails', withShownStatus('memory:backend', 'fail'), '100 A'],
      ['undeclared tool skipped', reported([...shown, ['tool:other', 'skip']]), '100 A'],
      ['all shown', reported(shown), '100 A'],
      [
        'all of memory and MCP left out',
        reported(FINE),
        '85 B, low memory:backend, low memory:shortTerm, low mcp:files',
      ],
    ])('%s', (_name, facts, expected) => {
      const spec = {
        ...SPEC,
        memory: { backend: 'redis', shortTerm: { connection: 'redis://cache:6379' } },
        mcp: { servers: [{ name: 'files', transport: 'stdio' as const, command: 'files' }] },
      };
      expect(gapOf(spec, facts)).toBe(expected);
    });
  });

  test.each([
    [1, 95],
    [4, 80],
    [5, 80],
    [40, 80],
  ])('declared, not shown: %i skipped tools give score %i, and each is an issue', (count, score) => {
    const names = Array.from({ length: count }, (_, index) => `t${index}`);
    const checks = names.map((name): [string, CheckStatus] => [`tool:${name}`, 'skip']);
    const { score: found, issues } = assess(
      aManifest({ ...PII, tools: names.map((name) => ({ name })) }),
      someFacts(reported([['model:openai/gpt-4o', 'pass'], ...checks])),
    );
    expect([found, issues.length]).toEqual([score, count]);
    for (const { severity, description } of issues)
      expect([severity, description]).toEqual(['low', expect.stringContaining('declared, not shown')]);
  });

  test('rows of the report are not used in manifest-static mode', () => {
    expect(gapOf(SPEC)).toBe('100 A');
  });
});

describe('invalid report', () => {
  const INVALID = { invalidReport: { field: 'timestamp', reason: 'must not be more than 120 s old' } };

  test('is an issue with field and reason, and the source is manifest-static', () => {
    const { score, source, issues } = assess(aManifest(PII), someFacts(INVALID));
    expect({ score, source, issues }).toEqual({
      score: 80,
      source: 'manifest-static',
      issues: [
        {
          severity: 'high',
          property: 'reporter.invalid',
          description:
            'GET /platform/health on the agent did not return a valid report: timestamp must not be more than 120 s old.',
          recommendation: expect.stringMatching(/\.$/),
        },
      ],
    });
  });

  const tools = Array.from({ length: 9 }, (_, index) => ({ name: `t${index}` }));
  const noTools = { capabilities: { answered: true, status: 200, latencyMs: 1, tools: [] } } as const;
  test.each<[string, Partial<ManifestSpec>, Partial<Facts>, number]>([
    ['dead agent', PII, { ...DEAD, ...INVALID }, 50],
    ['dead agent without guardrails', DATASET, { ...DEAD, ...INVALID }, 45],
    [
      'dead agent and all manifest rows',
      DATASET,
      { ...DEAD, ...INVALID, manifestInvalid: 'line 3', podAgentName: 'store' },
      45,
    ],
    ['nine unlisted tools', { ...PII, tools }, noTools, 45],
    [
      'denial lowers the score further',
      DATASET,
      { ...DEAD, ...INVALID, policy: { state: 'answered', denials: ['x'] } },
      40,
    ],
    ['policy rules not loaded', DATASET, { ...DEAD, ...INVALID, policy: { state: 'not-loaded' } }, 25],
    [
      'critical denials lower the score to 0',
      DATASET,
      {
        ...DEAD,
        ...INVALID,
        policy: {
          state: 'answered',
          denials: ['monthly_cost_limit_exceeded', 'destructive_tool_without_confirmation'],
        },
      },
      0,
    ],
    [
      'guardrail that was never observed',
      { ...PII, tools },
      { ...noTools, behavior: { sampled: 4, guardrailsInvoked: new Map() } },
      25,
    ],
  ])('score floor of manifest-static: %s', (_name, spec, facts, score) => {
    expect(assess(aManifest(spec), someFacts(facts)).score).toBe(score);
  });
});

describe('observed guardrails', () => {
  const observed = (sampled: number, times: number): { behavior: BehaviorFacts } => ({
    behavior: { sampled, guardrailsInvoked: new Map([['pii-detector', times]]) },
  });
  test.each<[number, number, string]>([
    [0, 0, '100 A'],
    [100, 100, '100 A'],
    [100, 99, '95 A, low guardrails.input.pii-detector'],
    [100, 80, '95 A, low guardrails.input.pii-detector'],
    [100, 79, '90 A, medium guardrails.input.pii-detector'],
    [100, 50, '90 A, medium guardrails.input.pii-detector'],
    [100, 49, '80 B, high guardrails.input.pii-detector'],
    [1, 0, '80 B, high guardrails.input.pii-detector'],
  ])('%i requests, guardrail observed in %i of them', (sampled, times, expected) => {
    expect(gapOf(PII, observed(sampled, times))).toBe(expected);
  });

  test.each<[number, Partial<ManifestSpec>, string]>([
    [99, PII, '100 A'],
    [100, PII, '95 A, low guardrails.unreported'],
    [100_000, PII, '95 A, low guardrails.unreported'],
    [100, {}, '90 A, medium auditable'],
  ])('no behavioral data in %i requests', (requestsWithout, spec, expected) => {
    const behavior = { sampled: 0, guardrailsInvoked: new Map<string, number>(), requestsWithout };
    expect(gapOf(spec, { behavior })).toBe(expected);
  });

  test('one type on input and output is two properties; twice on input is one property', () => {
    const twice = {
      guardrails: {
        input: [{ type: 'custom' as const }, { type: 'custom' as const }],
        output: [{ type: 'custom' as const }],
      },
    };
    expect(gapOf(twice, observed(4, 0))).toBe(
      '60 C, high guardrails.input.custom, high guardrails.output.custom',
    );
  });
});

describe('policy engine', () => {
  const denied = (...denials: string[]): Partial<Facts> => ({ policy: { state: 'answered', denials } });
  test.each<[string, string]>([
    ['monthly_cost_limit_exceeded', 'critical'],
    ['destructive_tool_without_confirmation', 'critical'],
    ['pii_detector_not_invoked', 'high'],
    ['memory_ttl_mismatch', 'high'],
    ['daily_token_limit_exceeded', 'high'],
    ['toxicity_threshold_exceeded', 'medium'],
    ['something_else', 'low'],
    ['constructor', 'low'],
  ])('denial %s has severity %s', (reason, severity) => {
    const { issues } = assess(aManifest(PII), someFacts(denied(reason)));
    expect(issues).toEqual([
      {
        severity,
        property: `policy.${reason}`,
        description: `The policy engine denies the observed behavior: ${reason}.`,
        message: `The policy engine denies the observed behavior: ${reason}.`,
        recommendation: expect.stringMatching(/\.$/),
        source: 'policy',
      },
    ]);
  });

  test.each<[Facts['policy'], string]>([
    [{ state: 'none' }, '100 A'],
    [{ state: 'unreachable' }, '100 A'],
    [{ state: 'answered', denials: [] }, '100 A'],
    [{ state: 'not-loaded' }, '80 B, high policy.not-loaded'],
    [{ state: 'not-loaded', denials: ['x'] }, '75 B, high policy.not-loaded, low policy.x'],
    [{ state: 'answered', denials: ['x', 'x'] }, '95 A, low policy.x'],
    [
      { state: 'answered', denials: ['policy_result_invalid'], problem: 'the result is a number' },
      '95 A, low policy.policy_result_invalid',
    ],
  ])('state %j', (policy, expected) => {
    expect(gapOf(PII, { policy })).toBe(expected);
  });
});

describe('manifest rows', () => {
  const proof = {
    ruleId: 'EVAL-01',
    verifiedBy: 'ci',
    method: 'ran it',
    verifiedAt: '2026-02-01T00:00:00.000Z',
  };
  test.each<[string, Partial<Facts>, string]>([
    ['datasets without proof', {}, '95 A, low evaluated'],
    ['datasets with proof', { proofs: [proof] }, '100 A'],
    [
      'datasets with a proof that expires later',
      { proofs: [{ ...proof, expiresAt: '2026-03-01T12:00:01Z' }] },
      '100 A',
    ],
    [
      'datasets with a proof that expires now',
      { proofs: [{ ...proof, expiresAt: NOON.toISOString() }] },
      '95 A, low evaluated',
    ],
    [
      'datasets with a proof of another rule',
      { proofs: [{ ...proof, ruleId: 'EVAL-02' }] },
      '95 A, low evaluated',
    ],
  ])('%s', (_name, facts, expected) => {
    expect(gapOf({ ...PII, ...DATASET }, facts)).toBe(expected);
  });

  test.each<[string, Partial<Facts>, string]>([
    ['pod with a different agent name', { podAgentName: 'store' }, '95 A, low agent.name-mismatch'],
    ['pod with the same agent name', { podAgentName: 'shop' }, '100 A'],
    ['manifest file that became invalid', { manifestInvalid: 'line 3' }, '80 B, high manifest.invalid'],
  ])('%s', (_name, facts, expected) => {
    expect(gapOf(PII, facts)).toBe(expected);
  });
});

test('report has source, grade, descriptions and recommendations', () => {
  expect(assess(aManifest(), someFacts({ health: { answered: true, status: 503, latencyMs: 1 } }))).toEqual({
    score: 70,
    grade: 'C',
    source: 'manifest-static',
    issues: [
      {
        severity: 'high',
        property: 'healthcheckable',
        description: 'GET /health on the agent returned 503.',
        recommendation:
          "Return a 2xx status for GET /health on the agent's port while the agent can serve requests.",
      },
      {
        severity: 'medium',
        property: 'auditable',
        description: 'The manifest declares no guardrails, so the use of guardrails cannot be audited.',
        recommendation:
          'Declare the guardrails of the agent in spec.guardrails.input and spec.guardrails.output.',
      },
    ],
  });
});

test('cuts strings from the agent at 500 characters', () => {
  const long = 'x'.repeat(5000);
  const check: Check = {
    id: `env:${long}`,
    category: 'env',
    status: 'fail',
    severity: 'error',
    message: long,
    remediation: long,
  };
  const { issues } = assess(aManifest(PII), someFacts({ agentReport: { checks: [check] } }));
  const texts = issues.flatMap(({ property, description, recommendation }) => [
    property,
    description,
    recommendation,
  ]);
  expect(Math.max(...texts.map((text) => text.length))).toBe(500);
});

describe('properties', () => {
  const status = fc.constantFrom<CheckStatus>('pass', 'fail', 'skip');
  const check = fc.record({
    id: fc.oneof(
      fc.constantFrom('env:A', 'service:db', 'tool:t', 'model:openai/gpt-4o', 'env:__proto__'),
      fc.string(),
    ),
    category: fc.constant('env' as const),
    status,
    severity: fc.constant('info' as const),
    message: fc.string(),
  });
  const response = fc.oneof(
    fc.constant(REFUSED),
    fc
      .integer({ min: 100, max: 599 })
      .map((code): HttpResult => ({ answered: true, status: code, latencyMs: 1 })),
  );
  const facts = fc.record({
    agentReport: fc.option(fc.record({ checks: fc.array(check, { maxLength: 20 }) })),
    health: fc.option(response),
    capabilities: fc.option(response),
    invalidReport: fc.option(fc.constant({ field: 'status', reason: 'must be a string' })),
    policy: fc.oneof(
      fc.constant({ state: 'not-loaded' as const }),
      fc.array(fc.string()).map((denials) => ({ state: 'answered' as const, denials })),
    ),
  });
  const spec = fc.record({
    tools: fc.uniqueArray(fc.constantFrom('t', 'u', 'v')).map((names) => names.map((name) => ({ name }))),
    requires: fc.constantFrom<NonNullable<ManifestSpec['requires']>>(
      {},
      { envVars: ['A'] },
      { services: [{ name: 'db', address: 'db:1' }] },
    ),
  });

  const staticRules = [...MANIFEST_RULES, ...ENDPOINT_RULES, ...REPORTER_RULES];
  const staticProperties = staticRules.map(({ property }) => property.replace(/<.*/, ''));

  test('score is 100 minus the bounded points of the issues, at least 0, and each property counts once', () => {
    fc.assert(
      fc.property(spec, facts, (someSpec, some) => {
        const report = assess(aManifest(someSpec), someFacts(some));
        const lostBy = (matches: (issue: Issue) => boolean): number =>
          report.issues.filter(matches).reduce((sum, issue) => sum + POINTS[issue.severity], 0);
        const isStatic = ({ property }: Issue): boolean =>
          staticProperties.some((own) => (own.endsWith('.') ? property.startsWith(own) : property === own));
        const isNotShown = ({ description }: Issue): boolean => description.includes('declared, not shown');
        const staticPoints = lostBy(isStatic);
        const lost =
          (report.source === 'manifest-static' ? Math.min(staticPoints, 100 - STATIC_FLOOR) : staticPoints) +
          Math.min(20, lostBy(isNotShown)) +
          lostBy((issue) => !isStatic(issue) && !isNotShown(issue));
        expect(report.score).toBe(Math.max(0, 100 - lost));
        expect(new Set(report.issues.map((issue) => issue.property)).size).toBe(report.issues.length);
      }),
    );
  });

  test('both views have the same findings', () => {
    fc.assert(
      fc.property(spec, facts, (someSpec, some) => {
        const { issues } = assess(aManifest(someSpec), someFacts(some));
        const { gaps, summary } = align(aManifest(someSpec), someFacts(some));
        expect(gaps.map((gap) => gap.severity)).toEqual(issues.map((issue) => issue.severity));
        expect(summary.total).toBe(issues.length);
      }),
    );
  });
});

describe('alignment view', () => {
  test('lists declared and observed values by manifest path', () => {
    const manifest = aManifest({ ...PII, tools: [{ name: 'search' }, { name: 'order' }] });
    const facts = someFacts({
      capabilities: { answered: true, status: 200, latencyMs: 1, tools: ['search'] },
      behavior: { sampled: 4, guardrailsInvoked: new Map([['pii-detector', 1]]) },
    });
    expect(align(manifest, facts)).toEqual({
      gaps: [
        {
          field: 'spec.guardrails.input[0].type',
          declared: 'pii-detector',
          observed: '1 of 4 requests',
          severity: 'high',
          evidenceLevel: 'behavioral',
          remediation:
            'Run pii-detector on every request and report it in X-Platform-Guardrails-Invoked, or remove it from spec.guardrails.input.',
        },
        {
          field: 'spec.tools[1].name',
          declared: 'order',
          observed: null,
          severity: 'medium',
          evidenceLevel: 'probed',
          remediation: "List order in the agent's /capabilities, or remove it from spec.tools.",
        },
      ],
      summary: { total: 2, critical: 0, high: 1 },
    });
  });

  test('is empty when the agent matches its manifest', () => {
    expect(align(aManifest(PII), someFacts())).toEqual({
      gaps: [],
      summary: { total: 0, critical: 0, high: 0 },
    });
  });

  test.each([
    ['$env:KEY in the model', { model: { provider: 'p', id: 'm', apiKey: '$env:KEY' } }, 'spec.model.apiKey'],
    ['a required variable', { requires: { envVars: ['KEY'] } }, 'spec.requires.envVars[0]'],
  ])('has the path of a variable: %s', (_name, spec, field) => {
    const facts = someFacts({ agentReport: { checks: [] } });
    expect(align(aManifest({ ...PII, ...spec }), facts).gaps).toContainEqual({
      field,
      declared: 'env:KEY',
      observed: null,
      severity: 'high',
      evidenceLevel: 'probed',
      remediation: expect.any(String),
    });
  });
});
