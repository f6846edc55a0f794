import { linkSync, mkdirSync, symlinkSync } from 'node:fs';
import { type RequestListener } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { startSidecarRig, type SidecarRig } from '../../testing/sidecar/sidecar-rig.ts';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import type { CliContext } from '../context.ts';
import type { Rendered } from '../rendered.ts';
import { commandFolder } from '../../testing/cli/command-folder.ts';
import { TestServers } from '../../testing/http/sockets.ts';

const { at, names, read, run, write } = commandFolder();

const MINIMAL = manifestText('  prompts: { system: $file:prompt.md }\n');
const PACKS =
  'owasp-llm-top10, model-resilience, memory-hygiene, evaluation-coverage, observability, metadata-quality';

beforeEach(() => write('agent.yaml', MINIMAL));

const audit = (args: string, context: Partial<CliContext> = {}): Promise<Rendered> =>
  run(`audit agent.yaml ${args}`, { now: () => new Date('2026-03-01T12:00:00Z'), ...context });
const jsonOf = ({ output }: Rendered): Record<string, unknown> =>
  JSON.parse(output) as Record<string, unknown>;
const agent = (spec: string): void => write('agent.yaml', manifestText(spec));

describe('platform audit', () => {
  test('shows the declared score, every rule and the fix for each violation', async () => {
    const { output, errors, exitCode } = await audit('');
    expect({ errors, exitCode }).toEqual({ errors: '', exitCode: 0 });
    expect(output).toMatch(
      /^minimal 1\.0\.0\n {2}declared score {2}58\/100 grade D {3}16 of 27 rules passed\n\nowasp-llm-top10 {2}6 of 10\n/,
    );
    expect(output).toContain(
      '  [ ] SEC-LLM-02  high      Model output reaches users and tools without a guardrail.\n' +
        '      spec.guardrails.output: Add a guardrail such as toxicity-filter or pii-detector to spec.guardrails.output.\n' +
        '      OWASP LLM10:2026 Improper Output Handling (LLM05:2025)\n',
    );
    expect(output).toContain('  [D] SEC-LLM-03  medium    prompts.system is a $file: reference\n');
    expect(output.match(/^ {2}\[[DPBX ]\] /gm)).toHaveLength(27);
    expect(output).toContain('declared, not checked\n  spec.prompts\n');
    expect(output).not.toMatch(/^ {2}proved /m);
    expect(output).toContain('[D] declared  [P] probed  [B] observed  [X] proved  [ ] violated\n');
  });

  test('ends with the verdict and the five fixes that gain most', async () => {
    const { output } = await audit('');
    expect(output.slice(output.indexOf('Compliant: '))).toBe(
      `Compliant: unknown (the manifest alone does not show what the agent does; --url adds what its sidecar has seen)
Fixes that gain most, with the declared score after each (now 58)
   65/100  SEC-LLM-09, EVAL-02
           Set spec.evaluation.framework, and set spec.evaluation.ciGate to true.
   72/100  SEC-LLM-04, MODEL-03
           Set spec.model.costControls.maxMonthlyUSD and usdPerMillionTokens. The policy rules then limit the cost per day to 1/30 of maxMonthlyUSD.
   77/100  SEC-LLM-01
           Add a guardrail of type prompt-injection or topic-filter to spec.guardrails.input.
   82/100  SEC-LLM-02
           Add a guardrail such as toxicity-filter or pii-detector to spec.guardrails.output.
   87/100  MODEL-01
           Declare spec.model.fallback with maxRetries, and submit a proof that the fallback model activates.
Declare only what the agent does: a declaration that is contradicted costs points in platform gap.
`,
    );
    const lines = [
      '  prompts: { system: $file:prompt.md }',
      '  evaluation: { framework: deepeval, ciGate: true }',
      '    costControls: { maxMonthlyUSD: 100, usdPerMillionTokens: { input: 1, output: 4 } }',
      '  guardrails: { input: [{ type: topic-filter }], output: [{ type: pii-detector }] }',
      '    fallback: { provider: mistral, id: mistral-small-2506, apiKey: $env:OTHER, maxRetries: 2 }',
    ];
    agent(lines.toSorted((a, b) => b.search(/\S/) - a.search(/\S/)).join('\n'));
    expect(jsonOf(await audit('--json'))).toMatchObject({ overallScore: 87 });
  });

  test('--json has exactly the top-level keys of the contract', async () => {
    const report = jsonOf(await audit('--json'));
    expect(Object.keys(report).sort()).toEqual([
      'compliant',
      'fixes',
      'grade',
      'overallScore',
      'passedRules',
      'suppressions',
      'totalRules',
      'violations',
    ]);
    expect(report).toMatchObject({
      overallScore: 58,
      grade: 'D',
      passedRules: 16,
      totalRules: 27,
      suppressions: [],
    });
    const violations = report['violations'] as object[];
    expect(violations).toHaveLength(11);
    expect(violations[0]).toEqual({
      ruleId: 'SEC-LLM-01',
      severity: 'high',
      pack: 'owasp-llm-top10',
      tier: 'B',
      message: 'User input reaches the model without a guardrail against prompt injection.',
      path: 'spec.guardrails.input',
      recommendation: 'Add a guardrail of type prompt-injection or topic-filter to spec.guardrails.input.',
      references: ['OWASP LLM01:2026 Prompt Injection (LLM01:2025)'],
    });
  });

  test('--pack selects packs and is repeatable', async () => {
    const { output } = await audit('--pack observability --pack metadata-quality');
    expect(output.match(/^\S+ {2}\d+ of \d+$/gm)).toEqual([
      'observability  1 of 3',
      'metadata-quality  2 of 2',
    ]);
    expect(output).toContain(
      'packs not audited\n  owasp-llm-top10, model-resilience, memory-hygiene, evaluation-coverage\n',
    );
    expect(jsonOf(await audit('--json --pack observability'))).toMatchObject({
      overallScore: 20,
      totalRules: 3,
    });
  });

  test('shows all suppressions, and why some do not apply', async () => {
    agent(
      `  compliance:
    packs: [observability]
    suppressions:
      - { rule: OBS-03, reason: nothing is logged, approvedBy: sec, expires: 2026-12-31 }
      - { rule: OBS-01, reason: soon, expires: 2026-02-28 }
      - { rule: MEM-01, reason: no memory }
      - { rule: OBS-9, reason: "a \\e[31mtrap" }
`,
    );
    const { output } = await audit('');
    expect(output).toContain(
      'suppressions\n' +
        '  OBS-03     until 2026-12-31  suppressed: nothing is logged (approved by sec)\n' +
        '  OBS-01     until 2026-02-28  expired, the rule applies: soon\n' +
        '  MEM-01      its pack is not audited: no memory\n' +
        '  OBS-9       unknown rule: a \ufffd[31mtrap\n',
    );
    expect(jsonOf(await audit('--json'))).toMatchObject({
      totalRules: 2,
      suppressions: [
        {
          rule: 'OBS-03',
          reason: 'nothing is logged',
          approvedBy: 'sec',
          expires: '2026-12-31',
          state: 'active',
        },
        { rule: 'OBS-01', state: 'expired' },
        { rule: 'MEM-01', state: 'outside' },
        { rule: 'OBS-9', state: 'unknown' },
      ],
    });
  });

  test('prints colours only if they are enabled', async () => {
    expect((await audit('', { color: true })).output).toContain('\u001b[31m 58/100\u001b[39m');
    expect((await audit('')).output).not.toContain('\u001b');
  });

  const SCORE = 'Must be a number from 0 to 100, such as 75.';
  const BASE_URL = 'Must be an http(s) URL without a query.';
  test.each([
    ['--pack <pack>', 'owasp', `Allowed choices are ${PACKS}.`],
    ['--fail-below <score>', 'high', SCORE],
    ['--fail-below <score>', '101', SCORE],
    ['--fail-below <score>', '-1', SCORE],
    ['--fail-below <score>', '0x10', SCORE],
    ['--url <url>', 'ftp://localhost:4001', BASE_URL],
    ['--url <url>', 'http://h/?a=b', BASE_URL],
  ])('rejects the option %s with the value %s', async (option, value, rule) => {
    const args = `${option.split(' ')[0]} ${value}`;
    const message = `option '${option}' argument '${value}' is invalid. ${rule}`;
    const errors = `error: ${message}\n(run platform audit --help for usage)\n`;
    expect(await audit(args)).toEqual({ output: '', errors, exitCode: 1 });
    expect(jsonOf(await audit(`${args} --json`))).toEqual({ error: message });
  });

  test.each([
    ['58', 0, ''],
    ['58.5', 1, 'error: the declared score 58 is below 58.5\n'],
    ['100', 1, 'error: the declared score 58 is below 100\n'],
    ['0', 0, ''],
  ])('--fail-below %s exits with %d', async (limit, exitCode, errors) => {
    const ended = await audit(`--fail-below ${limit}`);
    expect(ended).toMatchObject({ exitCode, errors });
    expect(ended.output).toContain('58/100');
    expect(await audit(`--fail-below ${limit} --json`)).toMatchObject({ exitCode, errors });
  });

  test('reports the position of manifest problems and audits nothing', async () => {
    agent('  tols: []\n');
    const line = 'error: agent.yaml:12:3 spec.tols: unknown key "tols" (did you mean "tools"?)\n';
    expect(await audit('')).toEqual({ output: '', errors: line, exitCode: 1 });
    const { output, errors, exitCode } = await audit('--json --output report.json');
    expect({ errors, exitCode }).toEqual({ errors: line, exitCode: 1 });
    expect(JSON.parse(output)).toMatchObject({
      error: 'the manifest is not valid',
      problems: [{ line: 12 }],
    });
    expect(names()).toEqual(['agent.yaml']);
  });
});

describe('platform audit --output', () => {
  test('replaces an existing file, also through a symbolic link, and even if the score is too low', async () => {
    write('report.json', 'old');
    symlinkSync('report.json', at('link.json'));
    expect(await audit('--output link.json --fail-below 90')).toMatchObject({
      exitCode: 1,
      errors: 'wrote link.json\nerror: the declared score 58 is below 90\n',
    });
    expect(JSON.parse(read('report.json'))).toMatchObject({ overallScore: 58 });
  });

  test.each<[string, (path: string) => void]>([
    ['agent.yaml', () => undefined],
    ['link.json', (path) => symlinkSync('agent.yaml', path)],
    ['hard.json', (path) => linkSync(at('agent.yaml'), path)],
  ])('never replaces the manifest, also as %s', async (name, make) => {
    const before = read('agent.yaml');
    make(at(name));
    expect(await audit(`--output ${name}`)).toEqual({
      output: '',
      errors: `error: cannot write ${name}: it is an input of this command; choose another file\n`,
      exitCode: 1,
    });
    expect(read('agent.yaml')).toBe(before);
  });

  test.each([
    ['no/report.json', 'its directory does not exist'],
    ['folder', 'it is a directory'],
    ['agent.yaml/report.json', 'a parent path is not a directory'],
  ])('reports that %s cannot be written: %s', async (path, reason) => {
    mkdirSync(at('folder'));
    const ended = await audit(`--output ${path}`);
    expect(ended).toMatchObject({ exitCode: 1, errors: `error: cannot write ${path}: ${reason}\n` });
    expect(ended.output).toContain('58/100');
    expect(names()).toEqual(['agent.yaml', 'folder']);
  });
});

describe('platform audit --url', () => {
  let rig: SidecarRig | null = null;
  const servers = new TestServers();
  afterEach(async () => {
    await rig?.close();
    await servers.close();
    rig = null;
  });

  const serve = async (handler: RequestListener): Promise<string> =>
    `http://127.0.0.1:${await servers.http(handler)}`;

  /** A server that returns JSON for these paths and 404 for others. */
  const respondingWith = (responses: Record<string, unknown>): Promise<string> =>
    serve((request, response) => {
      const path = (request.url ?? '').split('?')[0] ?? '';
      if (!(path in responses)) response.writeHead(404).end('{}');
      else
        response.end(typeof responses[path] === 'string' ? responses[path] : JSON.stringify(responses[path]));
    });

  const READY = {
    agentName: 'minimal',
    timestamp: '2026-03-01T12:00:00Z',
    status: 'not-ready',
    source: 'agent-sdk',
    checks: [],
  };

  async function started(spec: string): Promise<string> {
    agent(spec);
    rig = await startSidecarRig({
      manifest: manifestText(spec),
      env: { PLATFORM_SECRET_KEY: 'k' },
      agent: { '/health': 200, '/capabilities': 200 },
    });
    return `http://127.0.0.1:${rig.sidecar.controlPort}`;
  }

  test.each(['', '/', '/platform', '/platform/'])(
    'queries the sidecar at a base URL that ends with "%s"',
    async (end) => {
      const url = await started('  tools: [{ name: pay, annotations: { destructiveHint: true } }]\n');
      const { output, errors, exitCode } = await audit(`--url ${url}${end}`);
      expect({ errors, exitCode }).toEqual({ errors: '', exitCode: 0 });
      const shown = `${url}${end.replace(/\/$/, '')}`;
      expect(output).toContain(
        `  proved score     0/100 grade F   0 of 27 rules verified at ${shown}, 5 proofs pending\n`,
      );
      expect(output).toContain(
        'pending proofs\n  SEC-LLM-06, SEC-LLM-07, SEC-LLM-08, MODEL-04, MEM-01\n' +
          `  after testing: curl -X POST ${shown}/proof/rule/SEC-LLM-06 `,
      );
    },
  );

  test.each([
    [
      { compliant: { status: 'True', reason: 'Compliant', message: 'grade B or better' } },
      'yes (grade B or better)',
    ],
    [{ compliant: { status: 'False', reason: 'GradeTooLow', message: 'a\u001b' } }, 'no (a\ufffd)'],
    [{}, 'unknown (the sidecar returns no verdict; use the current version)'],
  ])('shows the verdict of the sidecar: %j', async (gap, shown) => {
    const url = await respondingWith({ '/health/ready': READY, '/audit': [], '/proof': [], '/gap': gap });
    expect((await audit(`--url ${url}`)).output).toContain(`\nCompliant: ${shown}\nFixes that gain most`);
    expect(jsonOf(await audit(`--url ${url} --json`))).toMatchObject(gap);
  });

  test('--json adds the proved score, which one proof changes', async () => {
    const url = await started('  tools: [{ name: pay, annotations: { destructiveHint: true } }]\n');
    const before = jsonOf(await audit(`--url ${url} --json`));
    expect(Object.keys(before).sort()).toEqual(
      [
        'compliant',
        'fixes',
        'grade',
        'overallScore',
        'passedRules',
        'pendingProofCount',
        'countedProofs',
        'uncountedProofs',
        'staleProofs',
        'provedGrade',
        'provedScore',
        'suppressions',
        'totalRules',
        'violations',
      ].sort(),
    );
    expect(before).toMatchObject({ provedScore: 0, provedGrade: 'F', pendingProofCount: 5 });
    await rig?.control('/proof/rule/SEC-LLM-08', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ verifiedBy: 'qa', method: 'asked for a payment' }),
    });
    expect(jsonOf(await audit(`--url ${url} --json`))).toEqual({
      ...before,
      provedScore: 5,
      pendingProofCount: 4,
      countedProofs: [{ ruleId: 'SEC-LLM-08', origin: 'local' }],
    });
    expect((await audit(`--url ${url}`)).output).toMatch(/^ {2}\[X\] SEC-LLM-08 {2}high .* proof: local$/m);
  });

  const PROOF = { verifiedBy: 'qa', method: 'm', verifiedAt: '2026-03-01T10:00:00.000Z' };
  test.each<[string | null, string | null, string, boolean]>([
    ['local', null, '', true],
    ['local', 'local', '', true],
    ['local', 'control-plane', '', false],
    ['local', 'control-plane', ' --accept-local-proofs', true],
    ['control-plane', 'control-plane', '', true],
    ['control-plane', 'local', '', true],
    [null, 'control-plane', '', true],
    [null, null, '', true],
  ])('a proof with origin %s and header %s%s: counts %s', async (origin, header, option, counts) => {
    agent('');
    const proof = { ...PROOF, ruleId: 'SEC-LLM-07', ...(origin === null ? {} : { origin }) };
    const responses = { '/health/ready': READY, '/audit': [], '/proof': [proof], '/gap': {} } as Record<
      string,
      unknown
    >;
    const url = await serve((request, response) => {
      if (header !== null) response.setHeader('X-Platform-Proof-Writes', header);
      response.end(JSON.stringify(responses[(request.url ?? '').split('?')[0] ?? '']));
    });
    const { output, errors, exitCode } = await audit(`--url ${url}${option}`);
    expect({ errors, exitCode }).toEqual({ errors: '', exitCode: 0 });
    if (counts) {
      expect(output).toMatch(new RegExp(`^  \\[X\\] SEC-LLM-07 .* proof: ${origin ?? 'no origin'}$`, 'm'));
      expect(output).not.toContain('not counted');
    } else {
      expect(output).toContain('  [D] SEC-LLM-07 ');
      expect(output).toContain('local proofs, not counted\n  SEC-LLM-07\n');
      expect(output).toContain('curl -X POST <control plane>/api/v1/agents/minimal/proof/rule/SEC-LLM-06 ');
    }
    expect(jsonOf(await audit(`--url ${url}${option} --json`))).toMatchObject({
      provedScore: counts ? 3 : 0,
      countedProofs: counts ? [{ ruleId: 'SEC-LLM-07', origin }] : [],
      uncountedProofs: counts ? [] : ['SEC-LLM-07'],
    });
  });

  test('reports an error for an invalid X-Platform-Proof-Writes header', async () => {
    const responses: Record<string, unknown> = {
      '/health/ready': READY,
      '/audit': [],
      '/proof': [],
      '/gap': {},
    };
    const url = await serve((request, response) => {
      response.setHeader('X-Platform-Proof-Writes', 'anyone');
      response.end(JSON.stringify(responses[(request.url ?? '').split('?')[0] ?? '']));
    });
    const { output, errors, exitCode } = await audit(`--url ${url}`);
    expect([output, exitCode]).toEqual(['', 1]);
    expect(errors).toContain('returned an invalid response to GET /proof');
  });

  test('reads the whole audit ring page by page', async () => {
    const spec = '  guardrails: { input: [{ type: topic-filter }], output: [{ type: toxicity-filter }] }\n';
    const url = await started(spec);
    const seen = [
      ...Array.from({ length: 200 }, () => ({})),
      { 'x-platform-guardrails-invoked': 'topic-filter' },
    ];
    rig!.agent.otherwise = (_request, response) => {
      response.writeHead(200, seen.shift()).end();
    };
    while (seen.length > 0) await (await fetch(`${rig!.proxyUrl}/chat`)).arrayBuffer();
    const { output } = await audit(`--url ${url}`);
    expect(output).toContain('  [B] SEC-LLM-01 ');
    expect(output).toContain('  [D] SEC-LLM-02 ');
  });

  test('rejects the sidecar of another agent and names both agents', async () => {
    const url = await respondingWith({
      '/health/ready': { ...READY, agentName: 'other' },
      '/audit': [],
      '/proof': [],
      '/gap': {},
    });
    const { output, errors, exitCode } = await audit(`--url ${url} --json`);
    expect(errors).toBe(
      `error: the sidecar at ${url} belongs to agent "other", but the manifest is for "minimal"\n`,
    );
    expect([JSON.parse(output), exitCode]).toEqual([{ error: errors.trim().replace('error: ', '') }, 1]);
  });

  test('reports an unreachable sidecar with a hint', async () => {
    const { output, errors, exitCode } = await audit('--url http://127.0.0.1:1 --output report.json');
    expect([output, exitCode]).toEqual(['', 1]);
    expect(errors).toMatch(
      /^error: cannot connect to http:\/\/127\.0\.0\.1:1: connection refused\n.*kubectl port-forward/,
    );
    expect(names()).toEqual(['agent.yaml']);
  });

  test.each<[string, Record<string, unknown>, RegExp]>([
    [
      'an agent',
      {},
      /^error: \S+ is not the control port of a sidecar: GET \/\S+ returned 404\nPass the control port/,
    ],
    [
      'an HTML page',
      { '/health/ready': '<html>' },
      /returned an invalid response to GET \/health\/ready\nPass the/,
    ],
    ['another service', { '/health/ready': { status: 'ok' } }, /invalid response to GET \/health\/ready/],
    ['an incomplete sidecar', { '/health/ready': READY }, /GET \/(?:audit|proof|gap) returned 404/],
    [
      'an invalid ring',
      { '/health/ready': READY, '/proof': [], '/audit': {} },
      /invalid response to GET \/audit/,
    ],
    [
      'an endless ring',
      {
        '/health/ready': READY,
        '/proof': [],
        '/audit': Array.from({ length: 200 }, (_, index) => ({ seq: index + 1 })),
      },
      /returned an invalid response to GET \/audit/,
    ],
    [
      'invalid proofs',
      { '/health/ready': READY, '/audit': [], '/proof': [{}] },
      /invalid response to GET \/proof/,
    ],
    [
      'a sidecar that restricts access',
      { '/health/ready': '' },
      /returned no body for .*\n.*CONTROL_ACCESS=local/,
    ],
  ])('reports an error for %s', async (name, responses, expected) => {
    // Parallel requests fail in any order, so only the response under test is invalid.
    const rest =
      name === 'an agent' || name === 'an incomplete sidecar'
        ? {}
        : { '/audit': [], '/proof': [], '/gap': {} };
    const url = await respondingWith({ ...rest, ...responses });
    const { output, errors, exitCode } = await audit(`--url ${url}`);
    expect([output, exitCode]).toEqual(['', 1]);
    expect(errors).toMatch(expected);
  });

  test.each<[string, RequestListener, RegExp]>([
    [
      'returns 403',
      (_request, response) => void response.writeHead(403).end(),
      /returned 403 for .*\n.*CONTROL_ACCESS=local/,
    ],
    [
      'redirects',
      (_request, response) => void response.writeHead(302, { location: '/x' }).end(),
      /GET \S+ returned 302/,
    ],
    [
      'closes the connection',
      (request) => request.socket.destroy(),
      /cannot connect to \S+: connection closed without a response/,
    ],
    [
      'never ends its response',
      (_request, response) => {
        const more = (): boolean => response.write(Buffer.alloc(1 << 20));
        response.on('drain', more);
        more();
      },
      /sent no complete response to GET \S+ \(limit 32 MiB\)/,
    ],
  ])('reports an error for a server that %s', async (_name, handler, expected) => {
    const url = await serve(handler);
    const { errors, exitCode } = await audit(`--url ${url.replace('http://', 'http://user:hunter2@')}`);
    expect(errors).toMatch(expected);
    expect([exitCode, errors.includes('hunter2')]).toEqual([1, false]);
  });
});
