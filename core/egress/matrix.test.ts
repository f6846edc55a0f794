import { describe, expect, test } from '@jest/globals';
import { misbehavingEgress, someEgress } from '../../testing/fleet/egress-facts.ts';
import { aManifest, someFacts } from '../../testing/fleet/facts.ts';
import type { CheckStatus } from '../facts/check.ts';
import type { EgressFacts } from '../facts/egress-facts.ts';
import type { Facts } from '../facts/facts.ts';
import type { ManifestSpec } from '../manifest/manifest.ts';
import { matrixOf } from './matrix.ts';
import type { MatrixKind } from '../shapes/values.ts';

const model = { provider: 'openai', id: 'gpt-4o', apiKey: 'k' };
const SIGNS = { true: '+', false: '-', null: '?' } as const;

/** The rows of a kind in short form: name, declared, reported and observed (`+` true, `-` false, `?` not known), verdict. */
function rowsOf(kind: MatrixKind, spec: Partial<ManifestSpec>, facts: Partial<Facts>): string[] {
  return matrixOf(aManifest(spec), someFacts(facts))
    .rows.filter((row) => row.kind === kind)
    .map(({ name, declared, reported, observed, verdict }) =>
      [name, [declared, reported, observed].map((known) => SIGNS[`${known}`]).join(''), verdict].join(' '),
    );
}

type Row = [what: string, spec: Partial<ManifestSpec>, facts: Partial<Facts>, rows: string[]];
const lanes = (overrides: Partial<EgressFacts> = {}): Partial<Facts> => ({ egress: someEgress(overrides) });
const counts = (...names: string[]) => new Map(names.map((name) => [name, 1]));
const reports = (tools: string[] | null, models: string[] | null = null): Partial<Facts> => ({
  reported: { tools: tools && new Set(tools), models: models && new Set(models) },
});

describe('models', () => {
  test.each<Row>([
    ['without lanes and reports', {}, {}, ['gpt-4o +?? unknown']],
    ['only reported', {}, reports(null, ['gpt-4o-2024-08-06']), ['gpt-4o ++? match']],
    [
      'another model reported',
      {},
      reports(null, ['gpt-5']),
      ['gpt-4o +-? never-seen', 'gpt-5 -+? undeclared'],
    ],
    ['dated version observed', {}, lanes({ models: counts('gpt-4o-2024-08-06') }), ['gpt-4o +?+ match']],
    [
      'another model observed',
      {},
      { ...reports(null, ['gpt-4o']), ...lanes({ models: counts('gpt-5') }) },
      ['gpt-4o ++- misreported', 'gpt-5 --+ undeclared'],
    ],
    [
      'observed, another reported',
      {},
      { ...reports(null, ['x']), ...lanes({ models: counts('gpt-4o') }) },
      ['gpt-4o +-+ unreported', 'x -+- undeclared'],
    ],
    ['no call on the lane of the vendor', {}, lanes(), ['gpt-4o +?- never-seen']],
    [
      'only a lane of another vendor',
      {},
      lanes({ lanes: ['anthropic', 'mcp:files'] }),
      ['gpt-4o +?? unknown'],
    ],
    [
      'a lane that can belong to any vendor',
      {},
      lanes({ lanes: ['compatible:corp'] }),
      ['gpt-4o +?- never-seen'],
    ],
    [
      'a vendor with several lanes, by another name',
      { model: { ...model, provider: 'Gemini', id: 'gemini-2.5-flash' } },
      lanes({ lanes: ['vertex'] }),
      ['gemini-2.5-flash +?- never-seen'],
    ],
    [
      'a fallback and a further model',
      {
        model: { ...model, fallback: { provider: 'anthropic', id: 'claude-haiku-4-5', apiKey: 'k' } },
        egress: { models: ['text-embedding-3-small'] },
      },
      lanes({ models: counts('gpt-4o', 'text-embedding-3-small') }),
      ['gpt-4o +?+ match', 'claude-haiku-4-5 +?? unknown', 'text-embedding-3-small +?+ match'],
    ],
    ['an id that names no model', {}, lanes({ models: counts('gpt-4o', 'unknown') }), ['gpt-4o +?+ match']],
  ])('%s', (_what, spec, facts, rows) => {
    expect(rowsOf('model', spec, facts)).toEqual(rows);
  });
});

describe('tools', () => {
  const tools = { tools: [{ name: 'search' }] };
  const files = { mcp: { servers: [{ name: 'files', url: 'http://files/mcp' }] } };
  const calls = { models: counts('gpt-4o') };
  const listed = (...names: string[]) =>
    new Map([['files', { toolsListed: names, hasListed: true, toolsCalled: counts('read') }]]);
  /** A server that has not listed its tools. */
  const evil = { toolsListed: [], hasListed: false, toolsCalled: counts('read') };
  test.each<Row>([
    ['without lanes and reports', tools, {}, ['search +?? unknown']],
    ['only reported', tools, reports(['search', 'drop']), ['search ++? match', 'drop -+? undeclared']],
    ['reported that none was called', tools, reports([]), ['search +-? never-seen']],
    ['no call of a model', tools, lanes(), ['search +?? unknown']],
    ['never offered', tools, lanes(calls), ['search +?- never-seen']],
    [
      'reported, not observed: the agent can run it without a model',
      tools,
      { ...reports(['search']), ...lanes(calls) },
      ['search ++? match'],
    ],
    [
      'offered',
      tools,
      lanes({ ...calls, toolsOffered: counts('search', 'drop') }),
      ['search +?+ match', 'drop -?+ undeclared'],
    ],
    [
      'called',
      tools,
      lanes({ ...calls, toolsCalled: counts('drop') }),
      ['search +?- never-seen', 'drop -?+ undeclared'],
    ],
    [
      'executed',
      tools,
      lanes({ ...calls, toolsExecuted: counts('drop') }),
      ['search +?- never-seen', 'drop -?+ undeclared'],
    ],
    [
      'observed, not reported',
      tools,
      { ...reports([]), ...lanes({ ...calls, toolsCalled: counts('search') }) },
      ['search +-+ unreported'],
    ],
    [
      'of a pattern',
      { egress: { tools: ['web_*'] } },
      lanes({ ...calls, toolsOffered: counts('web_search') }),
      ['web_search +?+ match'],
    ],
    [
      'of a declared MCP server',
      files,
      lanes({ ...calls, toolsOffered: counts('files_read'), mcpServers: listed('read') }),
      ['files_read +?+ match', 'read +?+ match'],
    ],
    [
      'called on a declared MCP server that does not list it',
      files,
      lanes({ ...calls, mcpServers: listed('write') }),
      ['read -?+ undeclared'],
    ],
    [
      'called on a declared MCP server whose list is not known',
      files,
      lanes({ ...calls, mcpServers: new Map([['files', evil]]) }),
      ['read +?+ match'],
    ],
    [
      'offered, called on a declared MCP server that does not list it',
      files,
      lanes({ ...calls, toolsOffered: counts('read'), mcpServers: listed('write') }),
      ['read -?+ undeclared'],
    ],
    [
      'called on a declared and an undeclared MCP server',
      files,
      lanes({ mcpServers: new Map([...listed('read'), ['evil', evil]]) }),
      ['read -?+ undeclared'],
    ],
    ['of an undeclared MCP server', {}, lanes({ mcpServers: listed('read') }), ['read -?+ undeclared']],
  ])('%s', (_what, spec, facts, rows) => {
    expect(rowsOf('tool', spec, facts)).toEqual(rows);
  });
});

describe('MCP servers', () => {
  const files = { mcp: { servers: [{ name: 'files', url: 'http://files/mcp' }] } };
  const server = new Map([['files', { toolsListed: ['read'], hasListed: true, toolsCalled: new Map() }]]);
  const silent = new Map([['files', { toolsListed: [], hasListed: false, toolsCalled: new Map() }]]);
  const checked = (status: CheckStatus): Partial<Facts> => ({
    agentReport: { checks: [{ id: 'mcp:files', category: 'mcp', status, severity: 'warning' }] },
  });
  test.each<Row>([
    ['without lanes', files, {}, ['files +?? unknown']],
    ['check passing', files, checked('pass'), ['files ++? match']],
    ['check failing', files, checked('fail'), ['files +-? never-seen']],
    ['check skipped', files, checked('skip'), ['files +?? unknown']],
    ['without a lane of its own', files, lanes(), ['files +?? unknown']],
    ['lane without a call', files, lanes({ lanes: ['mcp:files'] }), ['files +?- never-seen']],
    ['answered', files, lanes({ lanes: ['mcp:files'], mcpServers: silent }), ['files +?+ match']],
    ['tools listed', files, lanes({ lanes: ['mcp:files'], mcpServers: server }), ['files +?+ match']],
    ['undeclared', {}, lanes({ lanes: ['mcp:files'], mcpServers: server }), ['files -?+ undeclared']],
  ])('%s', (_what, spec, facts, rows) => {
    expect(rowsOf('mcp', spec, facts)).toEqual(rows);
  });
});

describe('hosts', () => {
  const unseen = (verdict: 'undeclared' | 'unknown', name: string | null, lanes?: string[]) => ({
    ...{ address: '203.0.113.7', port: 443, name, verdict, count: 1, ...(lanes && { lanes }) },
    ...{ firstSeen: '2026-03-01T11:00:00.000Z', lastSeen: '2026-03-01T11:00:00.000Z' },
  });
  const census = (...unseenEgress: ReturnType<typeof unseen>[]) => ({ unseenEgress, unexplainedOpens: 0 });
  test.each<Row>([
    ['without lanes', {}, {}, ['api.openai.com +?? unknown']],
    ['declared and observed', {}, lanes({ hosts: counts('API.openai.com') }), ['api.openai.com +?+ match']],
    [
      'undeclared',
      {},
      lanes({ hosts: counts('evil.example') }),
      ['api.openai.com +?? unknown', 'evil.example -?+ undeclared'],
    ],
    [
      'not known to be declared',
      { requires: { services: [{ name: 'db', address: '$env:DB' }] } },
      lanes({ hosts: counts('db.example') }),
      ['api.openai.com +?? unknown', 'db.example ??+ unknown'],
    ],
    [
      'of a domain',
      { egress: { hosts: ['*.maps.example'] } },
      lanes({ hosts: counts('a.maps.example') }),
      ['api.openai.com +?? unknown', '*.maps.example +?+ match'],
    ],
    [
      'of the census',
      {},
      lanes({ census: census(unseen('undeclared', null), unseen('unknown', 'cdn.example')) }),
      ['api.openai.com +?? unknown', '203.0.113.7:443 -?+ undeclared', 'cdn.example ??+ unknown'],
    ],
    [
      'of the census, past the lane to a declared host',
      {},
      lanes({
        hosts: counts('api.openai.com'),
        census: census(
          unseen('undeclared', 'api.openai.com', ['openai']),
          unseen('undeclared', null, ['compatible:a', 'mcp:b']),
        ),
      }),
      [
        'api.openai.com +?+ match',
        'api.openai.com past lane openai -?+ undeclared',
        '203.0.113.7:443 past lane compatible:a, mcp:b -?+ undeclared',
      ],
    ],
  ])('%s', (_what, spec, facts, rows) => {
    expect(rowsOf('host', spec, facts)).toEqual(rows);
  });
});

describe('guardrails', () => {
  const guardrails = { guardrails: { input: [{ type: 'pii-detector' as const }] } };
  const invoked = (sampled: number, ...types: string[]): Partial<Facts> => ({
    behavior: { sampled, guardrailsInvoked: counts(...types) },
  });
  test.each<Row>([
    ['without behavioral data', guardrails, invoked(0), ['input.pii-detector +?? unknown']],
    ['reported', guardrails, invoked(1, 'pii-detector'), ['input.pii-detector ++? match']],
    ['not reported', guardrails, invoked(1), ['input.pii-detector +-? never-seen']],
    ['not declared', {}, invoked(1, 'custom'), ['custom -+? undeclared']],
  ])('%s', (_what, spec, facts, rows) => {
    expect(rowsOf('guardrail', spec, facts)).toEqual(rows);
  });
});

describe('tokens', () => {
  const tokens = (prompt: number, reported: number | null, unknownCalls = 0): Partial<Facts> =>
    lanes({
      tokens: { prompt, completion: 0, unknownCalls },
      reportedTokens: reported === null ? null : { prompt: reported, completion: 0 },
    });
  const used = (costUsd: number | null) => lanes({ usage: { prompt: 7, completion: 2, costUsd } });
  test.each<[string, Partial<Facts>, string | undefined]>([
    ['without lanes', {}, undefined],
    ['only a census', lanes({ lanes: [] }), undefined],
    ['nothing reported and nothing observed', tokens(100, null), 'prompt ??? unknown'],
    ['nothing reported', used(null), 'prompt ??+ unknown'],
    ['equal', tokens(100, 100), 'prompt ?++ match'],
    ['5 % less', tokens(100, 95), 'prompt ?++ match'],
    ['5 % more', tokens(100, 105), 'prompt ?++ match'],
    ['less', tokens(1000, 949), 'prompt ?++ misreported'],
    ['more', tokens(1000, 1051), 'prompt ?++ misreported'],
    ['none of some', tokens(1, 0), 'prompt ?++ misreported'],
    ['some of none', tokens(0, 1), 'prompt ?++ misreported'],
    ['none of none', tokens(0, 0), 'prompt ?++ match'],
    ['more, with unknown calls', tokens(1000, 1051, 1), 'prompt ?++ unknown'],
    ['less, with unknown calls', tokens(1000, 949, 1), 'prompt ?++ misreported'],
  ])('%s', (_what, facts, row) => {
    expect(rowsOf('tokens', {}, facts)[0]).toBe(row);
  });

  test.each([
    ['known', 0.25],
    ['unknown', null],
  ])('and cost without a report are as observed, price %s', (_what, cost) => {
    const { rows } = matrixOf(aManifest(), someFacts(used(cost)));
    const amounts = rows.filter(({ kind }) => kind === 'tokens').map(({ name, amount }) => [name, amount]);
    expect(amounts).toEqual([
      ['prompt', 7],
      ['completion', 2],
      ['cost', cost ?? undefined],
    ]);
    expect(rowsOf('tokens', {}, used(cost)).at(-1)).toBe(`cost ??${cost === null ? '?' : '+'} unknown`);
  });

  test('of prompts and completions are compared separately', () => {
    const egress = someEgress({
      tokens: { prompt: 100, completion: 10, unknownCalls: 0 },
      reportedTokens: { prompt: 100, completion: 5 },
    });
    expect(rowsOf('tokens', {}, { egress })).toEqual(['prompt ?++ match', 'completion ?++ misreported']);
  });
});

test('rows are sorted by kind, and long names are cut', () => {
  const egress = { ...misbehavingEgress(), toolsCalled: counts('x'.repeat(900)) };
  const { rows } = matrixOf(aManifest({ tools: [{ name: 'search' }] }), someFacts({ egress }));
  expect(rows.map(({ kind }) => kind)).toEqual([
    ...['model', 'model', 'tool', 'tool', 'tool', 'host', 'host', 'tokens', 'tokens'],
  ]);
  expect(Math.max(...rows.map(({ name }) => name.length))).toBe(500);
});
