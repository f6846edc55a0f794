import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { commandFolder } from '../../testing/cli/command-folder.ts';
import type { Rendered } from '../rendered.ts';
import { TestServers } from '../../testing/http/sockets.ts';

const { run } = commandFolder();

const ITEM = { kind: 'service', name: 'orders-db' };
const BODY = {
  score: 75,
  grade: 'B',
  source: 'agent-sdk',
  issues: [
    {
      severity: 'high',
      property: 'service:orders-db',
      description: 'The service is unreachable.',
      recommendation: 'Start the service, or correct its address.',
    },
    {
      severity: 'low',
      property: 'evaluated',
      description: 'The evaluation was not run.\u001b[2J',
      recommendation: 'Run the evaluation.',
    },
    {
      severity: 'high',
      property: 'tone',
      description: 'The prompt contradicts the description.',
      recommendation: 'Change the prompt.',
      source: 'llm',
    },
  ],
  evidence: {
    shown: 1.5,
    declared: 4,
    reported: 1,
    items: [
      { kind: 'model', name: 'gpt-5', tier: 'observed', shownBy: 'usage in responses' },
      { kind: 'tool', name: 'search', tier: 'reported', shownBy: "the agent's report" },
      { ...ITEM, tier: 'none', contradictedBy: 'sidecar probe: connection refused' },
      { kind: 'tool', name: 'calculator', tier: 'none' },
    ],
  },
  compliant: {
    status: 'Unknown',
    reason: 'NotShown',
    message: 'less than 50 % of the declared items have evidence',
  },
  added: 'later',
};

const servers = new TestServers();
let host: string;
let body: unknown;

beforeEach(async () => {
  body = BODY;
  const port = await servers.http((request, response) =>
    response.writeHead(request.url === '/gap' ? 200 : 404).end(JSON.stringify(body)),
  );
  host = `127.0.0.1:${port}`;
});
afterEach(() => servers.close());

const gap = (args = ''): Promise<Rendered> => run(`gap --url ${host} ${args}`);

describe('platform gap', () => {
  test('prints the verdict first, then lost points with fixes, then the evidence', async () => {
    expect(await gap()).toEqual({
      output: `Compliant: unknown (less than 50 % of the declared items have evidence)
75/100 B, 25 points lost:
  -20  service:orders-db  The service is unreachable.
       fix: Start the service, or correct its address.
   -5  evaluated          The evaluation was not run.\ufffd[2J
       fix: Run the evaluation.
   -0  tone               The prompt contradicts the description.
       fix: Change the prompt.

37 % of 4 declared items have evidence of the last 24 hours
EVIDENCE      ITEM               SOURCE
observed      model gpt-5        usage in responses
reported      tool search        the agent's report
contradicted  service orders-db  sidecar probe: connection refused
none          tool calculator
`,
      errors: '',
      exitCode: 0,
    });
  });

  test('without an issue', async () => {
    body = { ...BODY, score: 100, grade: 'A', issues: [], evidence: null };
    expect((await gap()).output).toMatch(/^Compliant: .*\n100\/100 A, no points lost\n$/);
  });

  test('a sidecar of an older version does not report the verdict', async () => {
    body = { ...BODY, compliant: undefined };
    expect((await gap()).output).toMatch(/^Compliant: unknown \(the sidecar does not report it/);
  });

  test('--json prints the response as it is', async () => {
    expect(JSON.parse((await gap('--json')).output)).toEqual(BODY);
  });

  test.each([
    ['', 0, ''],
    ['--fail-below 75', 0, ''],
    ['--fail-below 76', 1, 'error: the score 75 is below 76\n'],
  ])('exit code of "%s": %i', async (args, exitCode, errors) => {
    const ended = await gap(args);
    expect(ended).toMatchObject({ exitCode, errors });
    expect(ended.output).toContain('75/100 B');
  });

  test('a response of something else, and an unreachable sidecar', async () => {
    body = { score: 'A' };
    expect(await gap()).toMatchObject({
      output: '',
      errors: expect.stringContaining(`http://${host} returned an invalid response to GET /gap`),
      exitCode: 1,
    });
    const nowhere = await run('gap --url 127.0.0.1:1 --format json');
    expect(nowhere.exitCode).toBe(1);
    expect(JSON.parse(nowhere.output)).toEqual({ error: expect.stringMatching(/^cannot connect to http:/) });
  });
});
