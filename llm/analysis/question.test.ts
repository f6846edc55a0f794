import { describe, expect, test } from '@jest/globals';
import { aManifest, someFacts } from '../../testing/fleet/facts.ts';
import type { Facts } from '../../core/facts/facts.ts';
import type { Issue } from '../../core/shapes/gap.ts';
import type { Manifest, ManifestSpec, Tool } from '../../core/manifest/manifest.ts';
import { questionOf } from './question.ts';

const linesOf = (manifest: Manifest): string[] => questionOf(manifest, someFacts(), []).manifest.split('\n');

/** A manifest with a secret in every field that must not be sent, and with values that must be. */
const SPEC: ManifestSpec = {
  model: {
    provider: 'openai',
    id: 'gpt-5',
    apiKey: 'SECRET-key',
    fallback: { provider: 'anthropic', id: 'claude', apiKey: 'SECRET-fallback' },
    costControls: { maxMonthlyUSD: 50, usdPerMillionTokens: { input: 1, output: 2 } },
  },
  prompts: { system: 'SECRET-prompt', fallback: 'SECRET', variables: [{ name: 'SECRET', value: 'SECRET' }] },
  tools: [
    {
      name: 'pay',
      type: 'function',
      description: 'Pays an invoice',
      module: 'SECRET',
      function: 'SECRET',
      annotations: { readOnlyHint: true },
    },
  ],
  mcp: {
    servers: [
      {
        name: 'files',
        transport: 'stdio',
        host: 'SECRET',
        url: 'http://SECRET',
        command: 'SECRET',
        args: ['--token=SECRET'],
        env: { TOKEN: 'SECRET' },
      },
    ],
  },
  memory: {
    backend: 'redis',
    shortTerm: { ttlSeconds: 60, connection: 'redis://:SECRET@db' },
    longTerm: { backend: 'postgres', connectionString: 'SECRET', table: 'SECRET' },
    vector: { backend: 'qdrant', apiKey: 'SECRET', connectionString: 'SECRET', namespace: 'SECRET' },
  },
  requires: {
    envVars: ['DB_URL'],
    services: [{ name: 'db', address: 'postgres://u:SECRET@db' }, { address: 'redis://:SECRET@cache' }],
  },
  guardrails: {
    input: [
      { type: 'pii-detector', message: 'SECRET' },
      { type: 'custom', module: 'checks', function: 'tone' },
    ],
  },
  evaluation: { datasets: [{ name: 'basic', path: 'SECRET' }], thresholds: { hallucination: 0.1 } },
  observability: {
    tracing: { backend: 'langfuse', endpoint: 'SECRET', publicKey: 'SECRET', secretKey: 'SECRET' },
  },
  compliance: { suppressions: [{ rule: 'MEM-01', reason: 'no time', approvedBy: 'SECRET' }] },
  api: { auth: { type: 'jwt', jwksUri: 'SECRET', header: 'SECRET' }, url: 'SECRET', corsOrigins: ['SECRET'] },
  subagents: [{ name: 'sub', ref: { a2a: { url: 'SECRET', auth: { token: 'SECRET' } } } }],
  humanInTheLoop: { enabled: true, notifyVia: ['SECRET'], webhookUrl: 'SECRET' },
};

describe('the manifest in a question', () => {
  const withUnknown = {
    ...SPEC,
    'x-key': 'SECRET',
    tools: SPEC.tools?.map((tool) => ({ ...tool, 'x-a': 'SECRET' })),
  };
  const manifest = { ...aManifest(), spec: withUnknown } as Manifest;

  test('contains no key, prompt, address, connection, path, command or unknown field', () => {
    expect(linesOf(manifest).filter((line) => line.includes('SECRET'))).toEqual([]);
  });

  test('has one line per allowed field, with the identity of list items in its path', () => {
    expect(linesOf(manifest)).toEqual([
      'metadata.name = "shop"',
      'metadata.description = "Sells things"',
      'spec.model.provider = "openai"',
      'spec.model.id = "gpt-5"',
      'spec.model.fallback.provider = "anthropic"',
      'spec.model.fallback.id = "claude"',
      'spec.model.costControls.maxMonthlyUSD = 50',
      'spec.tools[pay].name = "pay"',
      'spec.tools[pay].type = "function"',
      'spec.tools[pay].description = "Pays an invoice"',
      'spec.tools[pay].annotations.readOnlyHint = true',
      'spec.mcp.servers[files].name = "files"',
      'spec.mcp.servers[files].transport = "stdio"',
      'spec.memory.backend = "redis"',
      'spec.memory.shortTerm.ttlSeconds = 60',
      'spec.memory.longTerm.backend = "postgres"',
      'spec.memory.vector.backend = "qdrant"',
      'spec.requires.envVars = ["DB_URL"]',
      'spec.requires.services[db].name = "db"',
      'spec.guardrails.input[pii-detector].type = "pii-detector"',
      'spec.guardrails.input[custom checks#tone].type = "custom"',
      'spec.guardrails.input[custom checks#tone].module = "checks"',
      'spec.guardrails.input[custom checks#tone].function = "tone"',
      'spec.evaluation.datasets[basic].name = "basic"',
      'spec.evaluation.thresholds.hallucination = 0.1',
      'spec.observability.tracing.backend = "langfuse"',
      'spec.compliance.suppressions[MEM-01].rule = "MEM-01"',
      'spec.compliance.suppressions[MEM-01].reason = "no time"',
      'spec.api.auth.type = "jwt"',
      'spec.subagents[sub].name = "sub"',
      'spec.humanInTheLoop.enabled = true',
    ]);
  });

  test('has bounded lists and texts without line breaks and invisible characters', () => {
    const tools = Array.from({ length: 5_000 }, (_, index) => ({
      name: `t${index}`,
      description: `a\n\u202eb\u0007\u200b c${'x'.repeat(10_000)}`,
    }));
    const lines = linesOf(aManifest({ tools }));
    expect(lines.filter((line) => line.startsWith('spec.tools[')).length).toBeLessThanOrEqual(200);
    expect(lines).toContainEqual(expect.stringMatching(/^spec\.tools\[t0\]\.description = "a b cx{295}"$/));
  });

  test('ends with the number of fields that are left out of a very large manifest', () => {
    const text = 'word '.repeat(80);
    const named = Array.from({ length: 100 }, (_, index) => ({
      name: `n${index}`,
      description: text,
      type: text,
    }));
    const many = named.map(({ name }) => ({ rule: name, reason: text, expires: text }));
    const manifest = aManifest({ tools: named as unknown as Tool[], compliance: { suppressions: many } });
    const { manifest: sent } = questionOf(manifest, someFacts(), []);
    expect(sent.length).toBeLessThan(61_000);
    expect(sent).toMatch(/\n\(\d+ more fields\)$/);
  });
});

test('the properties of a response are the paths of this manifest and the sections of every manifest', () => {
  const { properties } = questionOf(aManifest({ tools: [{ name: 'a.b[c]' }] }), someFacts(), []);
  for (const property of ['spec.tools', 'spec.tools[a.b(c)]', 'spec.tools[a.b(c)].name', 'spec.model.id'])
    expect(properties).toContain(property);
  for (const section of ['spec', 'spec.guardrails.output', 'spec.humanInTheLoop', 'spec.model.costControls'])
    expect(properties).toContain(section);
  for (const other of [
    '',
    'spec.tools[a',
    'spec.model.apiKey',
    'spec.tools[x]',
    'reporter.invalid',
    'evaluated',
  ])
    expect(properties).not.toContain(other);
});

describe('the report in a question', () => {
  const issue = (property: string): Issue => ({
    severity: 'low',
    property,
    description: 'seen in 3 of 7 requests',
    recommendation: 'r',
  });
  const reportOf = (facts: Partial<Facts>, issues: Issue[] = []): string =>
    questionOf(aManifest(), someFacts(facts), issues).report;
  const answered = { answered: true, status: 200 } as const;

  test('lists what the rules found and what the agent reports, without times, rates and messages', () => {
    const facts = {
      agentReport: {
        checks: [
          {
            id: 'tool:pay',
            category: 'tool',
            status: 'fail',
            severity: 'info',
            message: 'at 12:03',
          } as const,
        ],
      },
      capabilities: { ...answered, latencyMs: 3, tools: ['pay', 'admin'] },
      behavior: { sampled: 7, guardrailsInvoked: new Map([['pii-detector', 3]]) },
    };
    expect(reportOf(facts, [issue('tool:pay'), issue('auditable')])).toBe(
      [
        'source = agent-sdk',
        'issues that rules have found = ["auditable","tool:pay"]',
        'tools that the agent lists = ["admin","pay"]',
        'checks that the agent reports = ["tool:pay"]',
        'guardrails that the agent reports = ["pii-detector"]',
      ].join('\n'),
    );
  });

  test('is the same for other latencies, rates, severities and orders', () => {
    const seen = (latencyMs: number, count: number, tools: string[]) => ({
      capabilities: { ...answered, latencyMs, tools },
      behavior: { sampled: 100, guardrailsInvoked: new Map([['pii-detector', count]]) },
    });
    const first = reportOf(seen(1, 3, ['a', 'b']), [issue('x'), { ...issue('y'), severity: 'high' }]);
    expect(reportOf(seen(90, 80, ['b', 'a', 'a']), [issue('y'), issue('x')])).toBe(first);
    expect(reportOf(seen(1, 3, ['a']), [issue('x')])).not.toBe(first);
  });

  test('is bounded whatever the agent reports', () => {
    const tools = Array.from({ length: 10_000 }, (_, index) => `${index}\u0000${'x'.repeat(1_000)}`);
    const report = reportOf({ capabilities: { ...answered, latencyMs: 1, tools } });
    expect(report.length).toBeLessThan(12_000);
    expect(report.split('\n')).toHaveLength(5);
  });
});
