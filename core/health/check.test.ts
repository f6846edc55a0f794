import { describe, expect, test } from '@jest/globals';
import type { CheckStatus } from '../facts/check.ts';
import type { CheckSeverity } from '../shapes/values.ts';
import { aManifest, NOON, someFacts } from '../../testing/fleet/facts.ts';
import fc from '../../testing/random/properties.ts';
import type { EnvironmentFacts, Facts, Reach } from '../facts/facts.ts';
import type { ManifestSpec } from '../manifest/manifest.ts';
import { check, readyOf } from './check.ts';
import type { HealthReport, Check } from '../shapes/health.ts';

const reportOf = (spec: Partial<ManifestSpec>, facts: Partial<Facts> = {}): HealthReport =>
  check(aManifest(spec), someFacts({ upstream: null, ...facts }));

/** `id status severity`, and the message if there is one. */
const brief = ({ checks }: HealthReport): string[] =>
  checks.map(({ id, status, severity, message }) =>
    [id, status, severity, ...(message === undefined ? [] : [`(${message})`])].join(' '),
  );

const checksOf = (spec: Partial<ManifestSpec>, facts: Partial<Facts> = {}): string[] =>
  brief(reportOf(spec, facts));

const reachable = (latencyMs = 4): Reach => ({ state: 'reachable', latencyMs });
const unreachable: Reach = { state: 'unreachable', reason: 'connection refused' };

describe('variables', () => {
  const own = (...names: string[]): EnvironmentFacts => ({ kind: 'own', names: new Set(names) });
  const declared = (partial: boolean, ...names: string[]): EnvironmentFacts => ({
    kind: 'declared',
    partial,
    names: new Set(names),
  });
  test.each<[string, EnvironmentFacts, string]>([
    ['set in the own environment', own('KEY'), 'env:KEY pass error'],
    [
      'not set in the own environment',
      own('OTHER'),
      'env:KEY fail error (KEY is not set in the environment)',
    ],
    ['listed for the container', declared(false, 'KEY'), 'env:KEY pass error'],
    [
      'not listed for the container',
      declared(false),
      "env:KEY fail error (KEY is not set in the agent's container)",
    ],
    ['listed for a container with envFrom', declared(true, 'KEY'), 'env:KEY pass error'],
    [
      'not listed for a container with envFrom',
      declared(true),
      'env:KEY skip error (the variable may come from an envFrom source of the container, which cannot be read from here)',
    ],
  ])('%s', (_name, environment, expected) => {
    expect(checksOf({ requires: { envVars: ['KEY'] } }, { environment })).toEqual([expected]);
  });

  test('each variable is checked once, even if it is declared twice', () => {
    const spec: Partial<ManifestSpec> = {
      model: { provider: 'openai', id: 'gpt-4o', apiKey: '$env:KEY' },
      requires: { envVars: ['KEY', 'OTHER'] },
    };
    const environment = own('KEY', 'OTHER');
    expect(checksOf(spec, { environment })).toEqual(['env:KEY pass error', 'env:OTHER pass error']);
  });
});

describe('files and secrets', () => {
  const spec: Partial<ManifestSpec> = { prompts: { system: '$file:prompt.md', fallback: '$secret:words' } };
  test.each<[string, Partial<Facts>, string[]]>([
    [
      'neither can be read from here',
      {},
      [
        "file:prompt.md skip warning (the agent's files cannot be read from here)",
        'secret:words skip warning (no secret backend can be read from here)',
      ],
    ],
    [
      'both exist',
      { files: new Map([['prompt.md', 'readable']]), secrets: { backend: 'env', found: new Set(['words']) } },
      ['file:prompt.md pass warning', 'secret:words pass warning'],
    ],
    [
      'neither exists',
      { files: new Map([['prompt.md', 'unreadable']]), secrets: { backend: 'file', found: new Set() } },
      [
        "file:prompt.md fail warning (the file cannot be read inside the manifest's directory)",
        'secret:words fail warning (the secret backend file does not contain this secret)',
      ],
    ],
  ])('%s', (_name, facts, expected) => {
    expect(checksOf(spec, facts)).toEqual(expected);
  });
});

describe('network dependencies of the agent', () => {
  const SPEC: Partial<ManifestSpec> = {
    requires: {
      services: [
        { type: 'redis', address: 'redis:6379' },
        { name: 'db', type: 'postgres', address: 'db:5432', critical: true },
        { name: 'queue', type: 'nats' },
      ],
    },
    mcp: {
      servers: [
        { name: 'files', transport: 'stdio', command: 'mcp-files' },
        { name: 'web', transport: 'http', url: 'http://web:9000/mcp' },
        { name: 'maps', host: 'maps', port: 7000 },
        { name: 'odd' },
      ],
    },
    memory: {
      backend: 'redis',
      shortTerm: { backend: 'in-memory' },
      longTerm: { backend: 'postgres', connectionString: 'postgres://pg/agent' },
      vector: { backend: 'qdrant' },
    },
    observability: { tracing: { backend: 'langfuse', endpoint: 'https://traces.example' } },
  };
  const IDS = [
    'service:redis',
    'service:db',
    'mcp:web',
    'mcp:maps',
    'memory:backend',
    'memory:longTerm',
    'tracing:langfuse',
  ];
  const noAddress = '(the manifest declares no address)';

  test('pass when reachable, and are skipped without an address', () => {
    expect(checksOf(SPEC, { reach: new Map(IDS.map((id) => [id, reachable()])) })).toEqual([
      'service:redis pass warning',
      'service:db pass error',
      `service:queue skip warning ${noAddress}`,
      'mcp:files skip warning (a stdio server is started by the agent and has no address)',
      'mcp:web pass warning',
      'mcp:maps pass warning',
      `mcp:odd skip warning ${noAddress}`,
      'memory:backend pass warning',
      `memory:shortTerm skip warning ${noAddress}`,
      'memory:longTerm pass warning',
      `memory:vector skip warning ${noAddress}`,
      'tracing:langfuse pass info',
    ]);
  });

  test.each<[string, Reach | undefined, Partial<Check>]>([
    ['reachable', reachable(7), { status: 'pass', latencyMs: 7 }],
    [
      'unreachable',
      unreachable,
      {
        status: 'fail',
        message: 'connection refused',
        remediation: 'Check that the target is running and that its address in the manifest is correct.',
      },
    ],
    ['in state unknown', { state: 'unknown', reason: 'no key' }, { status: 'skip', message: 'no key' }],
    ['not probed', undefined, { status: 'skip', message: 'not probed' }],
  ])('a service that is %s', (_name, reach, expected) => {
    const spec = { requires: { services: [{ name: 'db', address: 'db:5432' }] } };
    const { checks } = reportOf(spec, { reach: new Map(reach && [['service:db', reach]]) });
    expect(checks).toEqual([{ id: 'service:db', category: 'service', severity: 'warning', ...expected }]);
  });

  test('a service is skipped with the reason while the variable of its address is not set, even if a probe succeeds', () => {
    const spec = { requires: { services: [{ name: 'db', address: '$env:DB' }] } };
    expect(checksOf(spec, { reach: new Map([['service:db', reachable()]]) })).toEqual([
      'env:DB fail error (DB is not set in the environment)',
      'service:db skip warning (requires env:DB, which failed)',
    ]);
  });

  test('a service is skipped while the secret of its address cannot be read, unless a probe succeeds', () => {
    const spec = { requires: { services: [{ name: 'db', address: '$secret:db' }] } };
    const secret = 'secret:db skip warning (no secret backend can be read from here)';
    expect(checksOf(spec)).toEqual([
      secret,
      'service:db skip warning (requires secret:db, which cannot be checked here)',
    ]);
    expect(checksOf(spec, { reach: new Map([['service:db', reachable()]]) })).toEqual([
      secret,
      'service:db pass warning',
    ]);
  });
});

describe('model', () => {
  const spec: Partial<ManifestSpec> = {
    model: {
      provider: 'openai',
      id: 'gpt-4o',
      apiKey: '$env:KEY',
      fallback: { provider: 'anthropic', id: 'claude', apiKey: '$env:KEY2' },
    },
  };
  const environment: EnvironmentFacts = { kind: 'own', names: new Set(['KEY']) };
  test('is checked only if it was probed, and so is the fallback', () => {
    expect(checksOf(spec, { environment }).filter((line) => line.startsWith('model:'))).toEqual([]);
    const reach = new Map([
      ['model:openai/gpt-4o', unreachable],
      ['model:anthropic/claude', reachable()],
    ]);
    expect(checksOf(spec, { environment, reach }).filter((line) => line.startsWith('model:'))).toEqual([
      'model:openai/gpt-4o fail error (connection refused)',
      'model:anthropic/claude skip error (requires env:KEY2, which failed)',
    ]);
  });
});

describe('tools', () => {
  const spec = { tools: [{ name: 'search' }, { name: 'order' }] };
  test.each<[string, Partial<Facts>, string[]]>([
    ['have no checks in a sidecar', {}, []],
    [
      'are skipped without a registry',
      { registeredTools: null },
      [
        'tool:search skip info (the reporter has no tool registry)',
        'tool:order skip info (the reporter has no tool registry)',
      ],
    ],
    [
      'pass when registered and fail when not',
      { registeredTools: new Set(['search']) },
      ['tool:search pass info', 'tool:order fail info (declared but not registered)'],
    ],
  ])('%s', (_name, facts, expected) => {
    expect(checksOf(spec, facts)).toEqual(expected);
  });
});

describe("the agent's own report", () => {
  const agentCheck = (id: string, status: CheckStatus, severity: CheckSeverity = 'info'): Check => ({
    id,
    category: 'service',
    status,
    severity,
  });
  const spec = {
    requires: { services: [{ name: 'db', address: 'db:1', critical: true }], envVars: ['KEY'] },
  };

  test('replaces the checks of the sidecar, with the severities of this product', () => {
    const checks = [
      agentCheck('service:db', 'fail'),
      agentCheck('service:x', 'fail', 'error'),
      agentCheck('memory:vector', 'pass'),
    ];
    expect(checksOf(spec, { agentReport: { checks } })).toEqual([
      'service:db fail error',
      'service:x fail warning',
      'memory:vector pass warning',
    ]);
  });

  test('is degraded while half of the responses of the agent are server errors', () => {
    const behavior = { sampled: 0, guardrailsInvoked: new Map(), serving: { responses: 20, failed: 10 } };
    expect(reportOf({}, { agentReport: { checks: [] }, behavior })).toMatchObject({
      status: 'degraded',
      checks: expect.arrayContaining([
        expect.objectContaining({ id: 'agent:serving', status: 'fail', severity: 'warning' }),
      ]),
    });
  });

  test('cannot set agent:upstream, which only the sidecar reports', () => {
    const report = reportOf(spec, {
      agentReport: { checks: [agentCheck('agent:upstream', 'pass')] },
      upstream: unreachable,
    });
    expect(report.checks).toEqual([
      {
        id: 'agent:upstream',
        category: 'service',
        severity: 'warning',
        status: 'fail',
        message: 'connection refused',
        remediation: "Check that the agent's process is running and listening on the port in UPSTREAM_URL.",
      },
    ]);
    expect(report.status).toBe('degraded');
  });

  test('cannot hide a failure behind a second result of the same id', () => {
    const checks = [
      agentCheck('tool:a', 'fail'),
      agentCheck('tool:a', 'pass'),
      agentCheck('tool:b', 'pass'),
      agentCheck('tool:b', 'skip'),
    ];
    expect(checksOf(spec, { agentReport: { checks } })).toEqual(['tool:a fail info', 'tool:b skip info']);
  });
});

describe('status and summary', () => {
  const checkOf = (status: CheckStatus, severity: 'error' | 'warning' | 'info', index: number): Check => ({
    id: `${{ error: 'env', warning: 'memory', info: 'tool' }[severity]}:${index}`,
    category: { error: 'env' as const, warning: 'memory' as const, info: 'tool' as const }[severity],
    status,
    severity: 'info',
  });
  const ofStatus = (...checks: ['pass' | 'fail' | 'skip', CheckSeverity][]): HealthReport =>
    reportOf(
      {},
      {
        agentReport: { checks: checks.map(([status, severity], index) => checkOf(status, severity, index)) },
      },
    );

  test.each<[['pass' | 'fail' | 'skip', CheckSeverity][], string, string]>([
    [[], 'healthy', 'ready'],
    [[['pass', 'error']], 'healthy', 'ready'],
    [[['skip', 'error']], 'healthy', 'ready'],
    [[['fail', 'info']], 'healthy', 'ready'],
    [[['fail', 'warning']], 'degraded', 'degraded'],
    [[['fail', 'error']], 'unhealthy', 'not-ready'],
    [
      [
        ['fail', 'warning'],
        ['fail', 'error'],
      ],
      'unhealthy',
      'not-ready',
    ],
  ])('%j gives status %s and readiness %s', (checks, status, ready) => {
    const report = ofStatus(...checks);
    expect(report.status).toBe(status);
    expect(readyOf(report, 'agent-sdk', null)).toEqual({ ...report, status: ready, source: 'agent-sdk' });
    const note = 'GET /platform/health on the agent did not return a valid report: status must be a string';
    expect(readyOf(report, 'manifest-static', { field: 'status', reason: 'must be a string' })).toEqual({
      ...report,
      status: ready,
      source: 'manifest-static',
      note,
    });
  });

  test('the report has all fields, and counts every check once', () => {
    const report = ofStatus(
      ['pass', 'info'],
      ['fail', 'error'],
      ['fail', 'warning'],
      ['fail', 'info'],
      ['skip', 'error'],
    );
    expect({ ...report, checks: report.checks.length }).toEqual({
      agentName: 'shop',
      timestamp: NOON.toISOString(),
      status: 'unhealthy',
      summary: { passed: 1, failed: 1, warnings: 2, skipped: 1 },
      checks: 5,
    });
  });

  test('the four numbers add up to the number of checks', () => {
    const results = fc.array(
      fc.tuple(
        fc.constantFrom<CheckStatus>('pass', 'fail', 'skip'),
        fc.constantFrom<CheckSeverity>('error', 'warning', 'info'),
      ),
    );
    fc.assert(
      fc.property(results, (some) => {
        const { summary, checks } = ofStatus(...some);
        expect(summary.passed + summary.failed + summary.warnings + summary.skipped).toBe(checks.length);
      }),
    );
  });
});
