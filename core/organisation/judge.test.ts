import { describe, expect, test } from '@jest/globals';
import type { Manifest } from '../manifest/manifest.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import fc from '../../testing/random/properties.ts';
import { directiveOf, organisationDenials } from './directive.ts';
import type { AgentPolicy, Subject } from './finding.ts';
import { expressionsFor, isDenied, judge } from './judge.ts';
import { toolProblem } from './names.ts';
import { parsePolicy } from './parse-policy.ts';

const AT = new Date('2026-11-28T12:00:00Z');

const policyOf = (spec: object): AgentPolicy => {
  const document = {
    apiVersion: 'platform.io/v1',
    kind: 'AgentPolicy',
    metadata: { name: 'production' },
    spec,
  };
  const parsed = parsePolicy(document);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
  return parsed.value;
};
const ruleOf = (check: object, rule: object = {}): AgentPolicy =>
  policyOf({ rules: [{ id: 'rule', action: 'Deny', ...rule, ...check }] });

const manifestOf = (spec: object = {}): Manifest => ({
  apiVersion: 'platform.io/v1',
  kind: 'PlatformAgent',
  metadata: { name: 'shop', version: '1.0.0', description: 'Sells.' },
  spec: { model: { provider: 'openai', id: 'gpt-4o', apiKey: '$env:KEY' }, ...spec },
});

const subjectOf = (spec: object = {}, change: Partial<Subject> = {}): Subject => ({
  ...{ namespace: 'shop-team', labels: { env: 'production' }, names: ['shop'], observation: null, at: AT },
  manifest: manifestOf(spec),
  ...change,
});

const textsOf = (policy: AgentPolicy, subject: Subject): string[] =>
  judge([policy], subject).findings.map(({ path, message }) => `${path}: ${message}`);

const tool = (name: string, annotations?: object) => ({ name, ...(annotations && { annotations }) });

/** An address of a service, and why it breaks a rule of hosts; null: it does not. */
const hostRows = (rows: [string, string | null][]): [string, object, object, string[]][] =>
  rows.map(([address, problem]) => [
    `a host in ${address}`,
    { hosts: { allowed: ['*.example.com'] } },
    { requires: { services: [{ name: 'cache', address }] } },
    problem === null ? [] : [`spec.requires.services[0].address: ${problem}`],
  ]);

/** Check, manifest, findings. */
const OF_MANIFEST: [string, object, object, string[]][] = [
  ['the declared model', { models: { allowed: ['openai/gpt-4o*'] } }, {}, []],
  ['a model in another case', { models: { allowed: ['OpenAI/GPT-4o'] } }, {}, []],
  ['a model of a vendor', { models: { allowed: ['openai/*'] } }, {}, []],
  ['a pattern without a vendor', { models: { allowed: ['gpt-*'] } }, {}, []],
  [
    'another model',
    { models: { allowed: ['openai/gpt-5', 'anthropic/*'] } },
    {},
    ['spec.model.id: model openai/gpt-4o is not one of openai/gpt-5, anthropic/*'],
  ],
  [
    'the fallback',
    { models: { allowed: ['openai/*'] } },
    {
      model: {
        ...{ provider: 'openai', id: 'gpt-4o', apiKey: '$env:KEY' },
        fallback: { provider: 'anthropic', id: 'claude', apiKey: '$env:KEY' },
      },
    },
    ['spec.model.fallback.id: model anthropic/claude is not one of openai/*'],
  ],
  [
    'a model of another maker with the client of an allowed one',
    { models: { allowed: ['openai/*'] } },
    { model: { provider: 'openai', id: 'litellm/Anthropic/claude', apiKey: '$env:KEY' } },
    ['spec.model.id: model openai/litellm/Anthropic/claude is not one of openai/*'],
  ],
  [
    'a model of another maker at a gateway that is allowed',
    { models: { allowed: ['openrouter/*', 'corp/*'] } },
    {
      model: { provider: 'openrouter', id: 'anthropic/claude', apiKey: '$env:KEY' },
      egress: { models: ['mistral/small'] },
    },
    [],
  ],
  [
    'further models, which are of a declared vendor',
    { models: { allowed: ['openai/gpt-4o', 'openai/text-*'] } },
    { egress: { models: ['text-embedding-3-small', 'o9'] } },
    ['spec.egress.models[1]: model o9 is not one of openai/gpt-4o, openai/text-*'],
  ],
  [
    'forbidden tools',
    { tools: { forbidden: ['shell*', 'delete_all_*'] } },
    { tools: [tool('shell_exec'), tool('search')], egress: { tools: ['delete_*', 'web_search'] } },
    [
      'spec.tools[0].name: tool shell_exec is forbidden by shell*',
      'spec.egress.tools[0]: tool delete_* is forbidden by delete_all_*',
    ],
  ],
  [
    'a tool of a server under a name with the server',
    { tools: { forbidden: ['delete_all_*'] } },
    {
      mcp: { servers: [{ name: 'files', command: 'files' }] },
      egress: { tools: ['mcp__files__delete_all_rows'] },
    },
    ['spec.egress.tools[0]: tool mcp__files__delete_all_rows is forbidden by delete_all_*'],
  ],
  [
    'a start that has the tools of a server',
    { tools: { forbidden: ['shell*'] } },
    {
      mcp: { servers: [{ name: 'files', command: 'files' }] },
      egress: { tools: ['fi*', 'mcp__*', 'files-*', 'list_*', 'filesystem*'] },
    },
    ['fi*', 'mcp__*', 'files-*'].map(
      (name, index) => `spec.egress.tools[${index}]: tool ${name} is forbidden by shell*`,
    ),
  ],
  [
    'allowed tools',
    { tools: { allowed: ['search*', 'files_*'] } },
    { tools: [tool('search'), tool('refund')], egress: { tools: ['files_read*', 'f*'] } },
    [
      'spec.tools[1].name: tool refund is not one of search*, files_*',
      'spec.egress.tools[1]: tool f* is not one of search*, files_*',
    ],
  ],
  [
    'hosts of all addresses',
    { hosts: { allowed: ['*.example.com'] } },
    {
      egress: { hosts: ['api.example.com', 'API.other.org', '*.example.com', '*.org'] },
      requires: { services: [{ name: 'cache', address: 'redis://cache.internal:6379' }] },
    },
    [
      'spec.egress.hosts[1]: host API.other.org is not one of *.example.com',
      'spec.egress.hosts[3]: host *.org is not one of *.example.com',
      'spec.requires.services[0].address: host cache.internal is not one of *.example.com',
    ],
  ],
  ...hostRows([
    [
      'redis://cache.example.com,evil.example.org:6379/0',
      'host evil.example.org is not one of *.example.com',
    ],
    ['mongodb+srv://user:word@evil.example.org/db', 'host evil.example.org is not one of *.example.com'],
    ['other://evil.example.org/x', 'host evil.example.org is not one of *.example.com'],
    ['https:///evil.example.org/x', 'the host of the address cannot be read'],
    ['https://cache.example.com\\@evil.example.org', 'the host of the address cannot be read'],
    ['https://evil.example.org#.example.com', 'host evil.example.org is not one of *.example.com'],
    ['https://user@cache.example.com@evil.example.org', 'host evil.example.org is not one of *.example.com'],
    ['postgres:///db?host=evil.example.org', 'the host of the address cannot be read'],
    ['postgres://evil.example.org%2Ccache.example.com/db', 'the host of the address cannot be read'],
    ['sqlite:///data.db', null],
    ['postgres://user:a%40b@one.example.com:1,two.example.com:2/db', null],
  ]),
  [
    'loopback hosts',
    { hosts: { allowed: ['*.example.com'] } },
    { egress: { hosts: ['localhost', '127.0.0.1'] } },
    [],
  ],
  [
    'guardrails',
    { guardrails: { input: ['pii-detector'], output: ['toxicity-filter'] } },
    { guardrails: { input: [{ type: 'pii-detector' }] } },
    ['spec.guardrails.output: the output guardrail toxicity-filter must be declared'],
  ],
  [
    'a missing budget',
    { budget: { maxMonthlyUSD: 500 } },
    {},
    ['spec.model.costControls.maxMonthlyUSD: the monthly budget must be declared and at most 500 USD'],
  ],
  [
    'a larger budget',
    { budget: { maxTokensPerDay: 1000 } },
    { model: { provider: 'openai', id: 'gpt-4o', apiKey: 'x', costControls: { maxTokensPerDay: 1001 } } },
    [
      'spec.model.costControls.maxTokensPerDay: the daily token budget must be declared and at most 1000 tokens',
    ],
  ],
  [
    'a confirmation of tools that may be destructive',
    { confirmation: { tools: 'destructive' } },
    {
      tools: [
        tool('refund', { destructiveHint: true }),
        tool('search', { readOnlyHint: true }),
        tool('note', { destructiveHint: false }),
        tool('unknown'),
        tool('approved'),
      ],
      humanInTheLoop: { enabled: true, approvalRequired: ['approved'] },
    },
    [
      'spec.tools[3].annotations: calls of tool unknown need the confirmation of a person: set annotations.destructiveHint to true, or list the tool in spec.humanInTheLoop.approvalRequired, or set readOnlyHint if it changes nothing',
    ],
  ],
  [
    'a confirmation of every tool',
    { confirmation: { tools: 'all' } },
    { tools: [tool('search', { readOnlyHint: true })] },
    [
      'spec.tools[0].annotations: calls of tool search need the confirmation of a person: set annotations.destructiveHint to true, or list the tool in spec.humanInTheLoop.approvalRequired',
    ],
  ],
];

/** Check, status, findings. */
const OF_OBSERVATION: [string, object, Partial<ObservationStatus>, string[]][] = [
  [
    'a weaker mode',
    { runtime: { minimumMode: 'enforce' } },
    { policyMode: 'track' },
    ['status.policyMode: the policy mode track is weaker than enforce'],
  ],
  ['a stricter mode', { runtime: { minimumMode: 'track' } }, { policyMode: 'enforce' }, []],
  [
    'no lanes and no census',
    { runtime: { lanes: true, census: true } },
    {},
    [
      'status.egress.lanes: the agent has no egress lanes',
      'status.egress.unseenEgress: the socket census does not run',
    ],
  ],
  [
    'a low result',
    { result: { minimumGrade: 'B', minimumEvidence: 60 } },
    { grade: 'C' },
    ['status.grade: the grade C is below B', 'status.evidence.percent: the evidence of 0 % is below 60 %'],
  ],
  ['a good result', { result: { minimumGrade: 'B' } }, { grade: 'A' }, []],
  [
    'an old proof and an expired one',
    { proofs: { required: ['SEC-LLM-06', 'SEC-LLM-01', 'MEM-01'], maximumAgeDays: 90 } },
    {
      proofs: [
        { ruleId: 'SEC-LLM-06', verifiedBy: 'x', method: 'y', verifiedAt: '2026-01-01T00:00:00.000Z' },
        {
          ...{ ruleId: 'SEC-LLM-01', verifiedBy: 'x', method: 'y', verifiedAt: '2026-11-01T00:00:00.000Z' },
          expiresAt: '2026-11-02T00:00:00.000Z',
        },
        { ruleId: 'MEM-01', verifiedBy: 'x', method: 'y', verifiedAt: '2026-11-01T00:00:00.000Z' },
      ],
    },
    [
      'status.proofs: a valid proof of SEC-LLM-06 of the last 90 days is missing',
      'status.proofs: a valid proof of SEC-LLM-01 of the last 90 days is missing',
    ],
  ],
];

describe('a check', () => {
  test.each(OF_MANIFEST)('of the manifest: %s', (_, check, spec, expected) => {
    expect(textsOf(ruleOf(check), subjectOf(spec))).toEqual(expected);
  });

  test.each(OF_OBSERVATION)('of the running agent: %s', (_, check, status, expected) => {
    const lastChecked = '2026-11-28T11:59:00.000Z';
    const observation: ObservationStatus = { phase: 'Healthy', lastChecked, ...status };
    expect(textsOf(ruleOf(check), subjectOf({}, { observation }))).toEqual(expected);
    expect(judge([ruleOf(check)], subjectOf()).notJudged).toEqual([
      { policy: 'production', rule: 'rule', reason: 'it needs a running agent' },
    ]);
  });

  test.each([
    ['proofs', { proofs: { required: ['MEM-01'] } }, []],
    ['result', { result: { minimumGrade: 'B' } }, ['it needs a report of the running agent']],
  ])('of a running agent without a report: %s', (_, check, expected) => {
    const { notJudged } = judge([ruleOf(check)], subjectOf({}, { observation: { phase: 'Unknown' } }));
    expect(notJudged.map(({ reason }) => reason)).toEqual(expected);
  });

  test('includes observed models and tools', () => {
    const egress = { lanes: [], models: ['o9'], tools: ['shell'] };
    const observation = { phase: 'Healthy', egress } as unknown as ObservationStatus;
    const policy = policyOf({
      rules: [
        { id: 'models', action: 'Deny', models: { allowed: ['openai/gpt-4o'] } },
        { id: 'tools', action: 'Deny', tools: { forbidden: ['shell'] } },
      ],
    });
    expect(textsOf(policy, subjectOf({}, { observation }))).toEqual([
      'status.egress.models[0]: model o9 is not one of openai/gpt-4o',
      'status.egress.tools[0]: tool shell is forbidden by shell',
    ]);
  });

  test('of hosts that are references is not judged', () => {
    const spec = { requires: { services: [{ name: 'cache', address: '$env:CACHE' }] } };
    expect(judge([ruleOf({ hosts: { allowed: ['a'] } })], subjectOf(spec)).notJudged).toEqual([
      {
        policy: 'production',
        rule: 'rule',
        reason: 'the hosts of spec.requires.services[0].address are not in the manifest',
      },
    ]);
  });

  test('lists Deny rules first, so that a limit never hides one', () => {
    const policy = policyOf({
      rules: [
        { id: 'a', action: 'Audit', tools: { forbidden: ['*'] } },
        { id: 'w', action: 'Warn', tools: { forbidden: ['*'] } },
        { id: 'd', action: 'Deny', budget: { maxMonthlyUSD: 1 } },
      ],
    });
    const many = Array.from({ length: 150 }, (_, index) => tool(`t${index}`));
    const { findings } = judge([policy], subjectOf({ tools: many }));
    expect(findings).toHaveLength(200);
    expect(findings[0]).toMatchObject({ rule: 'd', action: 'Deny' });
    expect(findings.at(-1)).toMatchObject({ action: 'Audit' });
  });

  test('has the message and the severity of the rule', () => {
    const policy = ruleOf(
      { tools: { forbidden: ['shell'] } },
      { severity: 'critical', message: 'no shells', action: 'Warn' },
    );
    expect(judge([policy], subjectOf({ tools: [tool('shell')] })).findings).toEqual([
      {
        ...{ policy: 'production', rule: 'rule', severity: 'critical', action: 'Warn' },
        ...{ path: 'spec.tools[0].name', message: 'no shells' },
      },
    ]);
  });
});

describe('a policy applies', () => {
  const FORBIDDEN = { rules: [{ id: 'tools', action: 'Deny', tools: { forbidden: ['shell'] } }] };
  const applies = (spec: object, change: Partial<Subject> = {}): boolean | string => {
    const judged = judge(
      [policyOf({ ...FORBIDDEN, ...spec })],
      subjectOf({ tools: [tool('shell')] }, change),
    );
    return judged.notJudged[0]?.reason ?? isDenied(judged);
  };
  const exprs = (key: string, operator: string, values?: string[]) => ({
    namespaceSelector: { matchExpressions: [{ key, operator, ...(values && { values }) }] },
  });

  test.each([
    ['everywhere', {}, {}, true],
    ['to a label', { namespaceSelector: { matchLabels: { env: 'production' } } }, {}, true],
    ['not to another label', { namespaceSelector: { matchLabels: { env: 'test' } } }, {}, false],
    ['In', exprs('env', 'In', ['production']), {}, true],
    ['NotIn', exprs('env', 'NotIn', ['production']), {}, false],
    ['NotIn, absent', exprs('team', 'NotIn', ['a']), {}, true],
    ['Exists', exprs('team', 'Exists'), {}, false],
    ['DoesNotExist', exprs('team', 'DoesNotExist'), {}, true],
    ['not to a label of the prototype', exprs('constructor', 'Exists'), {}, false],
    [
      'unknown labels',
      { namespaceSelector: { matchLabels: { env: 'production' } } },
      { labels: null },
      'it selects namespaces by labels, and the labels of the namespace are not known',
    ],
    ['by name', { agents: ['sh*'] }, {}, true],
    ['not to another name', { agents: ['chat'] }, {}, false],
    ['if one of two names is selected', { agents: ['chat'] }, { names: ['shop', 'chat'] }, true],
  ])('%s', (_, spec, change, expected) => {
    expect(applies(spec, change)).toBe(expected);
  });

  const exception = (change: object = {}) => ({
    exceptions: [
      {
        namespace: 'shop-team',
        rules: ['tools'],
        reason: 'pilot',
        expires: '2027-01-01T00:00:00Z',
        ...change,
      },
    ],
  });

  test.each([
    ['', exception(), {}, false],
    ['in another namespace', exception({ namespace: 'other' }), {}, true],
    ['of a namespace that is not known', exception(), { namespace: null }, true],
    ['that has expired', exception({ expires: '2026-11-28T12:00:00Z' }), {}, true],
    ['for another agent', exception({ agents: ['chat'] }), {}, true],
    ['for this agent', exception({ agents: ['shop'] }), {}, false],
    ['for one of two names', exception({ agents: ['shop'] }), { names: ['shop', 'chat'] }, true],
  ])('except an exception %s', (_, spec, change, expected) => {
    expect(applies(spec, change)).toBe(expected);
  });
});

test('a long name of a tool takes no longer than its length', () => {
  const name = '_'.repeat(60_000);
  const subject = subjectOf({
    tools: [tool(name), tool(`mcp__${name}`)],
    mcp: { servers: [{ name: name.slice(1), command: 'x' }] },
  });
  const rules = Array.from({ length: 50 }, (_, id) => ({
    ...{ id: `r${id}`, action: 'Deny', tools: { forbidden: ['shell*'] } },
  }));
  let compared = 0;
  const counted = new Set(['_']);
  counted.has = (server) => ((compared += server.length), false);
  expect(judge([policyOf({ rules })], subject).findings).toEqual([]);
  expect(toolProblem({ forbidden: ['shell*'] }, name, { servers: counted })).toBeNull();
  expect(compared).toBeLessThan(100);
});

describe('an expression', () => {
  const policy = ruleOf({ expression: 'false' });
  test('is listed, and never passed without a result', () => {
    expect(expressionsFor([policy], subjectOf())).toEqual(['false']);
    expect(judge([policy], subjectOf()).notJudged).toHaveLength(1);
    const messages = ([false, { error: 'no such key' }, true] as const).map(
      (result) => judge([policy], subjectOf(), new Map([['false', result]])).findings[0]?.message,
    );
    expect(messages).toEqual([
      'the expression is false: false',
      'could not be evaluated: no such key',
      undefined,
    ]);
  });
});

describe('an AgentPolicy', () => {
  test.each([
    ['no check', [{ id: 'a', action: 'Deny' }], 'spec.rules[0]: rule a: exactly one of models,'],
    [
      'two checks',
      [{ id: 'a', action: 'Deny', models: { allowed: ['x'] }, expression: 'true' }],
      'spec.rules[0]: rule a: exactly one of',
    ],
    [
      'an empty list',
      [{ id: 'a', action: 'Deny', models: { allowed: [] } }],
      'spec.rules[0].models.allowed: must have at least one entry',
    ],
    [
      'nothing in a check',
      [{ id: 'a', action: 'Deny', tools: {} }],
      'spec.rules[0].tools: needs at least one of allowed, forbidden',
    ],
    [
      'a misspelled member',
      [{ id: 'a', action: 'Deny', models: { allow: ['x'] } }],
      'spec.rules[0].models.allow: is not known; the members are allowed',
    ],
    [
      'an action in lower case',
      [{ id: 'a', action: 'deny', expression: 'true' }],
      'spec.rules[0].action: must be one of Deny, Warn, Audit',
    ],
    [
      'an id twice',
      [
        { id: 'a', action: 'Deny', expression: 'true' },
        { id: 'a', action: 'Deny', expression: 'true' },
      ],
      'spec.rules[1].id: another rule has the id a',
    ],
  ])('with %s is an error', (_, rules, expected) => {
    const parsed = parsePolicy({
      apiVersion: 'platform.io/v1',
      kind: 'AgentPolicy',
      metadata: { name: 'production' },
      spec: { rules },
    });
    const errors = parsed.ok ? [] : parsed.errors.map(({ path, message }) => `${path}: ${message}`);
    expect(errors.join('\n')).toContain(expected);
  });

  test('cannot have an exception of a rule that it does not have', () => {
    expect(() =>
      policyOf({
        rules: [{ id: 'a', action: 'Deny', expression: 'true' }],
        exceptions: [{ namespace: 'n', rules: ['b'], reason: 'r', expires: '2027-01-01T00:00:00Z' }],
      }),
    ).toThrow('an exception names a rule that this policy does not have');
  });
});

describe('the directive of the lanes', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', '_'), minLength: 1, maxLength: 5 });
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '_', '*'), minLength: 1, maxLength: 4 });
  const patterns = fc.array(pattern, { minLength: 1, maxLength: 3 });
  const check = fc.oneof(
    patterns.map((allowed) => ({ models: { allowed: allowed.map((each) => `openai/${each}`) } })),
    patterns.map((allowed) => ({ tools: { allowed } })),
    patterns.map((forbidden) => ({ tools: { forbidden } })),
    patterns.map((allowed) => ({ hosts: { allowed } })),
  );
  const rules = fc
    .array(check, { maxLength: 3 })
    .map((checks) => checks.map((each, index) => ({ id: `r${index}`, action: 'Deny', ...each })));
  const spec = fc.record({
    model: word.map((id) => ({ provider: 'openai', id, apiKey: '$env:KEY' })),
    tools: fc.array(
      word.map((name) => tool(name)),
      { maxLength: 3 },
    ),
    egress: fc.record({
      hosts: fc.array(
        word.map((name) => name.replaceAll('_', 'a')),
        { maxLength: 2 },
      ),
    }),
  });
  const policies = (list: object[]) => (list.length === 0 ? [] : [policyOf({ rules: list })]);

  test('allows every declared call of a manifest that is allowed', () => {
    fc.assert(
      fc.property(rules, spec, (list, declared) => {
        const subject = subjectOf(declared);
        fc.pre(!isDenied(judge(policies(list), subject)));
        const directive = directiveOf(policies(list), subject);
        const about = { vendors: ['openai'], servers: new Set<string>() };
        const calls = [
          { model: declared.model.id },
          ...declared.tools.map(({ name }) => ({ tools: [name] })),
          ...declared.egress.hosts.map((host) => ({ host })),
        ];
        for (const call of calls) expect(organisationDenials(directive, call, about)).toEqual([]);
      }),
    );
  });

  test('never allows more with a further rule', () => {
    const call = fc.record({ model: word, tools: fc.array(word, { maxLength: 2 }), host: word });
    fc.assert(
      fc.property(rules, rules, call, (some, more, query) => {
        const about = { vendors: ['openai'], servers: new Set<string>() };
        const both = [...some, ...more.map((rule, index) => ({ ...rule, id: `m${index}` }))];
        const denialsOf = (list: object[]) =>
          organisationDenials(directiveOf(policies(list), subjectOf()), query, about);
        expect(denialsOf(both)).toEqual(expect.arrayContaining(denialsOf(some)));
      }),
    );
  });

  test('has the smallest budgets and only Deny rules', () => {
    const policy = policyOf({
      rules: [
        { id: 'a', action: 'Deny', budget: { maxMonthlyUSD: 500, maxTokensPerDay: 10 } },
        { id: 'b', action: 'Deny', budget: { maxMonthlyUSD: 50 } },
        { id: 'c', action: 'Warn', budget: { maxMonthlyUSD: 5 } },
        { id: 'd', action: 'Audit', models: { allowed: ['x'] } },
      ],
    });
    expect(directiveOf([policy], subjectOf())).toEqual({
      models: [],
      tools: { allowed: [], forbidden: [] },
      hosts: [],
      maxMonthlyUSD: 50,
      maxTokensPerDay: 10,
    });
  });

  test('does not take a * in the name of a called tool as a pattern', () => {
    const directive = directiveOf([ruleOf({ tools: { allowed: ['a*'], forbidden: ['ab'] } })], subjectOf());
    const about = { vendors: [], servers: new Set<string>() };
    expect(organisationDenials(directive, { tools: ['*'] }, about)).toEqual(['tool_not_allowed']);
    expect(organisationDenials(directive, { tools: ['a*'] }, about)).toEqual([]);
  });
});
