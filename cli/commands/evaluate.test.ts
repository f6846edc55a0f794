import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdirSync } from 'node:fs';
import { type IncomingMessage, type ServerResponse } from 'node:http';
import { json as readJson } from 'node:stream/consumers';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import type { CliContext } from '../context.ts';
import { commandFolder } from '../../testing/cli/command-folder.ts';
import { TestServers } from '../../testing/http/sockets.ts';

const { at, read, run, write } = commandFolder();

interface Body {
  message?: string;
  messages?: { content: string }[];
  model?: string;
}
type Respond = (body: Body, response: ServerResponse, request: IncomingMessage) => void;

const CAPITALS: Readonly<Record<string, string>> = { France: 'Paris', Italy: 'Rome', Spain: 'Madrid' };
const SAMPLES = Object.entries(CAPITALS).map(([input, expected]) => ({
  input,
  expected,
  tags: input === 'Italy' ? ['south'] : [],
}));

const servers = new TestServers();
let url: string;
/** What the agent received. */
let received: { path: string; body: Body; headers: IncomingMessage['headers'] }[];
let respond: Respond;

const sendJson = (response: ServerResponse, value: unknown, status = 200) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
const questionOf = ({ message, messages }: Body) => message ?? messages?.[0]?.content ?? '';
/** An agent that speaks the OpenAI format and returns all capitals. */
const openAi: Respond = (body, response) => {
  if (body.messages === undefined) return sendJson(response, { error: 'messages is missing' }, 400);
  return sendJson(response, {
    object: 'chat.completion',
    model: 'gpt',
    choices: [{ message: { content: `It is ${(CAPITALS[questionOf(body)] ?? '').toUpperCase()}.` } }],
    usage: { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 },
  });
};

beforeEach(async () => {
  received = [];
  respond = openAi;
  const port = await servers.http((request, response) => {
    void readJson(request).then((body) => {
      received.push({ path: request.url ?? '', body: body as Body, headers: request.headers });
      respond(body as Body, response, request);
    });
  });
  url = `http://127.0.0.1:${port}`;
  write('data.jsonl', SAMPLES.map((sample) => `${JSON.stringify(sample)}\n`).join(''));
  manifest('    datasets: [{ name: smoke, path: data.jsonl }]\n');
});

afterEach(() => servers.close());

const manifest = (evaluation: string, rest = '') =>
  write('agent.yaml', manifestText(`  evaluation:\n${evaluation}${rest}`));
function evaluate(args: readonly string[] = [], context: Partial<CliContext> = {}) {
  const command = ['evaluate', 'agent.yaml', '--url', url, '--dataset', 'smoke', ...args];
  return run(command, context);
}
const reportOf = async (args: readonly string[] = [], context: Partial<CliContext> = {}) =>
  JSON.parse((await evaluate([...args, '--json'], context)).output) as {
    totalSamples: number;
    metrics: { pass_rate: number };
    samples: { line: number; passed: boolean; error?: string; response?: string }[];
    tokens: { total: number; samplesWithoutTokens: number };
    interrupted?: true;
  };

describe('the report', () => {
  test('--json has the fields of the contract', async () => {
    const { output, errors, exitCode } = await evaluate(['--json']);
    expect(JSON.parse(output)).toMatchObject({
      dataset: 'smoke',
      agentUrl: url,
      totalSamples: 3,
      metrics: { pass_rate: 1 },
      threshold: null,
      ciGateResult: 'PASS',
      latencyMs: { p50: expect.any(Number), p95: expect.any(Number), p99: expect.any(Number) },
      tokens: { total: 15, samplesWithoutTokens: 0 },
      samples: [
        { line: 1, input: 'France', expected: 'Paris', passed: true, response: 'It is PARIS.', tokens: 5 },
        { line: 2, passed: true },
        { line: 3, passed: true },
      ],
    });
    expect({ errors, exitCode }).toEqual({ errors: '', exitCode: 0 });
    expect((await evaluate()).output).toContain('\n  PASS  3 of 3 passed (100.0 %)\n');
  });

  test('the text lists the failed samples', async () => {
    respond = (body, response) =>
      sendJson(response, { answer: body.messages?.[0]?.content === 'Italy' ? 'Milan' : 'Paris or Madrid' });
    const { output, exitCode } = await evaluate();
    expect(output).toContain(`smoke at ${url}\n  1 FAILED  2 of 3 passed (66.7 %)\n  latency p50 `);
    expect(output).toContain('tokens 0, unknown for 3 samples\n');
    expect(output).toMatch(/\nLINE +INPUT +FAILURE\n2 +Italy +expected "Rome" in "Milan"\n$/);
    expect(exitCode).toBe(0);
  });

  test('the text has the number of samples without tokens', async () => {
    respond = (_body, response) => sendJson(response, { answer: 'Paris' });
    expect((await evaluate(['--sample-size', '1'])).output).toContain('tokens 0, unknown for 1 sample\n');
  });

  test('--junit /dev/null is written in place', async () => {
    expect(await evaluate(['--junit', '/dev/null'])).toMatchObject({
      errors: 'wrote /dev/null\n',
      exitCode: 0,
    });
  });

  test('--junit has one test case per sample', async () => {
    respond = (_body, response) => sendJson(response, { answer: 'Rome' });
    expect((await evaluate(['--junit', 'out.xml'])).errors).toBe('wrote out.xml\n');
    const xml = read('out.xml');
    expect(xml).toContain('tests="3" failures="2"');
    expect(xml).toContain('<testcase name="smoke:2" classname="smoke"/>');
    expect(xml).toContain('expected &quot;Paris&quot; in &quot;Rome&quot;');
  });

  test.each([
    ['none/out.xml', 'its directory does not exist'],
    ['agent.yaml', 'it is an input of this command; choose another file'],
    ['data.jsonl', 'it is an input of this command; choose another file'],
  ])('--junit %s is refused before the first request', async (file, reason) => {
    expect(await evaluate(['--junit', file])).toEqual({
      output: '',
      errors: `error: cannot write ${file}: ${reason}\n`,
      exitCode: 1,
    });
    expect(received).toEqual([]);
  });

  test('shows progress', async () => {
    const lines: string[] = [];
    await evaluate(['--concurrency', '1'], { progress: (line) => lines.push(line) });
    expect(lines).toEqual(['1/3, 1 passed', '2/3, 2 passed', '3/3, 3 passed']);
  });
});

describe('the request', () => {
  test('has the user message and the model of the manifest, and goes to the chat endpoint', async () => {
    manifest(
      '    datasets: [{ name: smoke, path: data.jsonl }]\n',
      '  api: { chatEndpoint: { path: /ask } }\n',
    );
    await evaluate(['--sample-size', '1']);
    expect(received.map(({ path, body }) => ({ path, body }))).toEqual([
      { path: '/ask', body: { model: 'gpt-4.1', messages: [{ role: 'user', content: 'France' }] } },
    ]);
  });

  test('goes to /v1/chat by default, below the path of the URL', async () => {
    url += '/agents/shop';
    await evaluate(['--sample-size', '1']);
    expect(received[0]?.path).toBe('/agents/shop/v1/chat');
  });

  test('an agent that does not accept one form gets the other, once', async () => {
    respond = (body, response) =>
      body.message === undefined
        ? sendJson(response, { detail: 'message is missing' }, 422)
        : sendJson(response, { reply: CAPITALS[body.message] });
    expect((await reportOf()).metrics.pass_rate).toBe(1);
    expect(received.map(({ body }) => Object.keys(body)[0])).toEqual([
      'model',
      'message',
      'message',
      'message',
    ]);
  });

  test.each([
    ['--body plain', ['--body', 'plain'], '', 'message'],
    ['--body openai', ['--body', 'openai'], '', 'model'],
    ['protocol: custom', [], '  api: { chatEndpoint: { protocol: custom } }\n', 'message'],
    [
      'protocol: openai-compatible',
      [],
      '  api: { chatEndpoint: { protocol: openai-compatible } }\n',
      'model',
    ],
  ])('%s sets the form', async (_what, args, api, member) => {
    manifest('    datasets: [{ name: smoke, path: data.jsonl }]\n', api);
    await evaluate([...args, '--sample-size', '1']);
    expect(received.map(({ body }) => Object.keys(body)[0])).toEqual([member]);
  });

  test('has the selected samples', async () => {
    await evaluate(['--tag', 'south']);
    expect(received.map(({ body }) => questionOf(body))).toEqual(['Italy']);
  });

  test('at most --concurrency requests are in flight', async () => {
    write('data.jsonl', `${JSON.stringify(SAMPLES[0])}\n`.repeat(12));
    let [inFlight, most] = [0, 0];
    respond = (body, response, request) => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      setImmediate(() => {
        inFlight -= 1;
        openAi(body, response, request);
      });
    };
    expect((await reportOf(['--concurrency', '3'])).totalSamples).toBe(12);
    expect(most).toBeLessThanOrEqual(3);
  });

  test('is not repeated after an error', async () => {
    respond = (_body, response) => sendJson(response, { error: 'overloaded' }, 503);
    const { samples } = await reportOf(['--sample-size', '1']);
    expect(samples[0]).toMatchObject({ passed: false, error: 'HTTP 503: {"error":"overloaded"}' });
    expect(received).toHaveLength(1);
  });
});

describe('the response', () => {
  test('may be a stream, with its tokens', async () => {
    respond = (body, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const chunk = (value: object) =>
        `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', model: 'gpt', ...value })}\n\n`;
      for (const letter of CAPITALS[questionOf(body)] ?? '')
        response.write(chunk({ choices: [{ delta: { content: letter } }] }));
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
      response.end(`${chunk({ choices: [], usage })}data: [DONE]\n\n`);
    };
    expect(await reportOf()).toMatchObject({
      metrics: { pass_rate: 1 },
      tokens: { total: 6, samplesWithoutTokens: 0 },
    });
  });

  test.each<[string, Respond, RegExp]>([
    ['does not come', () => undefined, /^no response within 0\.05 s$/],
    ['does not end', (_body, response) => void response.writeHead(200).write('Par'), /50 ms/],
    ['is cut', (_body, response) => response.destroy(), /connection|reset|closed|hang up/],
  ])('a sample fails if it %s', async (_what, act, error) => {
    respond = act;
    const { samples } = await reportOf(['--timeout', '50', '--sample-size', '1']);
    expect(samples[0]).toMatchObject({ passed: false, error: expect.stringMatching(error) as unknown });
  });
});

describe('the CI gate', () => {
  const half: Respond = (_body, response) => sendJson(response, { answer: 'Paris' });
  test.each([
    ['1 below the threshold', '    ciGate: true\n    thresholds: { pass_rate: 0.5 }\n', 1, 'FAIL'],
    ['0 at the threshold', '    ciGate: true\n    thresholds: { pass_rate: 0.3 }\n', 0, 'PASS'],
    ['0 without ciGate', '    thresholds: { pass_rate: 0.5 }\n', 0, 'PASS'],
    ['0 without a threshold', '    ciGate: true\n', 0, 'PASS'],
  ])('exits with %s', async (what, gate, exitCode, ciGateResult) => {
    manifest(`    datasets: [{ name: smoke, path: data.jsonl }]\n${gate}`);
    respond = half;
    const result = await evaluate(['--json']);
    expect(result.exitCode).toBe(exitCode);
    expect(JSON.parse(result.output)).toMatchObject({ ciGateResult, metrics: { pass_rate: 1 / 3 } });
    expect(result.errors).toBe(exitCode === 1 ? 'error: pass_rate 0.333 is below the threshold 0.5\n' : '');
    const { output } = await evaluate();
    expect(/^ {2}(.*) {2}1 of 3 passed/m.exec(output)?.[1]).toBe(what.startsWith('1') ? 'FAIL' : '2 FAILED');
    expect(output).not.toContain('PASS');
  });
});

describe('--submit', () => {
  const proofs = () => received.filter(({ path }) => path.includes('proof'));
  beforeEach(() => {
    respond = (body, response, request) =>
      request.url?.includes('/proof/') ? sendJson(response, {}, 201) : openAi(body, response, request);
  });

  test('posts the proof to the control port without an admin key', async () => {
    const { errors, exitCode } = await evaluate(['--submit', '--control-url', url]);
    expect(exitCode).toBe(0);
    expect(errors).toBe(`submitted the proof of EVAL-01 to ${url}/proof/rule/EVAL-01\n`);
    expect(proofs()[0]).toMatchObject({
      path: '/proof/rule/EVAL-01',
      body: {
        verifiedBy: expect.stringContaining('platform evaluate ') as unknown,
        method: 'Dataset smoke: 3 of 3 samples passed, pass_rate 1.000, no threshold.',
        expiresAt: '2026-02-01T03:04:05.000Z',
      },
    });
  });

  test('posts it to the control plane with the admin key', async () => {
    const env = { PLATFORM_CONTROL_PLANE_URL: url, PLATFORM_ADMIN_KEY: 'an-admin-key-of-tests' };
    expect((await evaluate(['--submit'], { env })).exitCode).toBe(0);
    expect(proofs()[0]).toMatchObject({
      path: '/api/v1/agents/minimal/proof/rule/EVAL-01',
      headers: { 'x-admin-key': 'an-admin-key-of-tests' },
    });
  });

  test('a rejected proof is an error', async () => {
    respond = (body, response, request) =>
      request.url?.includes('/proof/')
        ? sendJson(response, { detail: 'use the admin route' }, 403)
        : openAi(body, response, request);
    expect(await evaluate(['--submit', '--control-url', url])).toMatchObject({
      errors: `error: ${url}/proof/rule/EVAL-01 rejected the proof (403: use the admin route)\n`,
      exitCode: 1,
    });
  });

  test.each([
    ['--tag', 'south'],
    ['--sample-size', '1'],
  ])('is refused with %s, because a proof of a part would look like one of the whole', async (...part) => {
    expect(await evaluate([...part, '--submit', '--control-url', url])).toEqual({
      output: '',
      errors:
        'error: --submit cannot be used with --tag or --sample-size, because a proof is for the whole dataset\n(run platform evaluate --help for usage)\n',
      exitCode: 1,
    });
    expect(received).toEqual([]);
  });

  test('a failed evaluation is not submitted', async () => {
    manifest(
      '    datasets: [{ name: smoke, path: data.jsonl }]\n    ciGate: true\n    thresholds: { pass_rate: 1 }\n',
    );
    respond = (_body, response) => sendJson(response, { answer: 'Paris' });
    const { errors } = await evaluate(['--submit', '--control-url', url]);
    expect(errors).toContain('the proof of EVAL-01 was not submitted\n');
    expect(proofs()).toEqual([]);
  });
});

test('an interrupted run reports what it has', async () => {
  const interrupt = new AbortController();
  respond = (body, response, request) => {
    if (questionOf(body) === 'France') openAi(body, response, request);
    else interrupt.abort();
  };
  const { output, errors, exitCode } = await evaluate(['--json', '--concurrency', '1'], {
    onInterrupt: () => interrupt.signal,
  });
  expect(JSON.parse(output)).toMatchObject({ totalSamples: 1, interrupted: true, metrics: { pass_rate: 1 } });
  expect({ errors, exitCode }).toEqual({
    errors: 'error: interrupted: 1 of 3 samples have a result\n',
    exitCode: 1,
  });
});

describe('errors', () => {
  test.each<[string, string[], string]>([
    [
      'an unknown dataset',
      ['--dataset', 'none'],
      'error: agent.yaml declares no dataset "none"; declared: smoke\n',
    ],
    ['no sample with the tag', ['--tag', 'north'], 'error: no sample has the tag "north"\n'],
    [
      'a value that is not a number',
      ['--timeout', '1s'],
      "error: option '--timeout <ms>' argument '1s' is invalid. Must be a whole number from 1.\n(run platform evaluate --help for usage)\n",
    ],
  ])('%s', async (_what, args, errors) => {
    expect(await evaluate(args)).toEqual({ output: '', errors, exitCode: 1 });
    expect(received).toEqual([]);
  });

  test('no --url', async () => {
    const { errors, exitCode } = await run('evaluate agent.yaml --dataset smoke');
    expect(errors).toContain("required option '--url <url>' not specified");
    expect(exitCode).toBe(1);
  });

  test('a bad line of the dataset is named by line and column', async () => {
    write('data.jsonl', '{"input":"a","expected":"b"}\n{"input":1}\nhello\n');
    expect((await evaluate()).errors).toMatch(
      /^error: data\.jsonl:2:2: input must be a text that is not empty\nerror: data\.jsonl:3:1: is not valid JSON\n$/,
    );
  });

  test('the path of a dataset is shown from the working directory', async () => {
    write('shop/agent.yaml', read('agent.yaml'));
    expect((await run(`evaluate shop/agent.yaml --url ${url} --dataset smoke`)).errors).toBe(
      'error: cannot read dataset shop/data.jsonl: does not exist\n',
    );
  });

  test.each([
    ['missing.jsonl', 'does not exist'],
    ['directory', 'is a directory'],
    ['$file:missing.jsonl', 'does not exist'],
  ])('the dataset file %s', async (path, why) => {
    mkdirSync(at('directory'));
    manifest(`    datasets: [{ name: smoke, path: ${path} }]\n`);
    expect((await evaluate()).errors).toBe(
      `error: cannot read dataset ${path.replace('$file:', '')}: ${why}\n`,
    );
  });

  test('an agent that is not there', async () => {
    await servers.close();
    const { errors, exitCode } = await evaluate();
    expect(errors).toMatch(/^error: no sample got a response to compare; the first: .*refused/);
    expect(exitCode).toBe(1);
  });
});

describe('--header', () => {
  const BEARER = ['--header', 'Authorization: Bearer $env:TOKEN', '--header', 'X-Team:red'];

  test('is sent with every request, with variables of the environment, and never printed', async () => {
    const { output, errors, exitCode } = await evaluate([...BEARER, '--json'], { env: { TOKEN: 's3cret' } });
    expect(exitCode).toBe(0);
    expect(received).toHaveLength(3);
    for (const { headers } of received)
      expect(headers).toMatchObject({ authorization: 'Bearer s3cret', 'x-team': 'red' });
    expect(output + errors).not.toContain('s3cret');
  });

  test.each<[string, string[], string]>([
    ['an unset variable', BEARER, '--header authorization: the variable TOKEN is not set'],
    ['a text without a name', ['--header', 'Bearer s3cret'], '--header number 1 must be "Name: value"'],
    ['an empty text', ['--header', ''], '--header number 1 must be "Name: value"'],
    ['an invalid name', ['--header', 'a b: s3cret'], '--header number 1 must be "Name: value"'],
    ['a header of the body', ['--header', 'Content-Length: 1'], '--header cannot set content-length'],
    [
      'a line break',
      ['--header', 'X-A: s3cret\r\nX-B: 1'],
      '--header x-a: the value must be printable ASCII',
    ],
  ])('%s is an error that does not show the value', async (_what, args, reason) => {
    expect(await evaluate(args)).toEqual({ output: '', errors: `error: ${reason}\n`, exitCode: 1 });
    expect(received).toEqual([]);
  });
});
