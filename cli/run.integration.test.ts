import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { freePorts } from '../examples/demo/free-ports.ts';
import { runBuiltCommand, type Ended } from '../testing/machine/built-command.ts';
import { stopProcess } from '../testing/machine/stop-process.ts';
import { manifestText } from '../testing/sidecar/sidecar-rig.ts';

/** An agent that calls its model once after it was probed, and ends with the response. */
const AGENT = `
const { createServer } = require('node:http');
const probed = new Set();
const server = createServer((request, response) => {
  response.statusCode = request.url === '/platform/health' ? 404 : 200;
  response.end('{}', () => {
    probed.add(request.url);
    if (probed.size === 4) void last();
  });
});
server.listen(Number(process.env.PORT), '127.0.0.1');
async function last() {
  const response = await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-5', messages: [] }),
  });
  await response.text();
  process.exit(3);
}
`;
const RESPONSE = {
  ...{ object: 'chat.completion', model: 'gpt-5', usage: { prompt_tokens: 3, completion_tokens: 4 } },
  choices: [
    {
      index: 0,
      finish_reason: 'tool_calls',
      message: {
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'drop_orders', arguments: '{}' } }],
      },
    },
  ],
};

interface RunReport {
  exitCode: number;
  gap: { issues: { property: string }[] };
  matrix: { name: string; verdict: string }[];
}

let vendor: Server;
let cwd: string;

beforeAll(async () => {
  vendor = createServer((_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(RESPONSE)),
  );
  await new Promise<void>((resolve) => vendor.listen(0, '127.0.0.1', resolve));
  cwd = mkdtempSync(join(tmpdir(), 'run-'));
  writeFileSync(join(cwd, 'agent.yaml'), manifestText({ tools: [{ name: 'search' }] }));
  writeFileSync(join(cwd, 'agent.cjs'), AGENT);
});
afterAll(async () => {
  rmSync(cwd, { recursive: true });
  vendor.closeAllConnections();
  await new Promise((resolve) => vendor.close(resolve));
});

async function run(): Promise<Ended & { report: RunReport }> {
  const [agent = 0, proxy = 0, control = 0, egress = 0] = await freePorts(4);
  const ports = { agent, proxy, control, egress };
  const options = Object.entries(ports).flatMap(([name, port]) => [`--${name}-port`, String(port)]);
  const { port } = vendor.address() as AddressInfo;
  const env = { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, PORT: String(agent) };
  const command = [process.execPath, 'agent.cjs'];
  const ended = await runBuiltCommand(['run', '--report', 'run.json', ...options, '--', ...command], {
    cwd,
    env,
  });
  return { ...ended, report: JSON.parse(readFileSync(join(cwd, 'run.json'), 'utf8')) as RunReport };
}

test('platform run reports the last call of an agent that ends with it, and the endpoints as it served them', async () => {
  const { report, exitCode, output } = await run();
  expect({ exitCode, reported: report.exitCode }).toEqual({ exitCode: 3, reported: 3 });
  expect(report.gap.issues.map(({ property }) => property)).toEqual([
    'tools.undeclared.drop_orders',
    'auditable',
  ]);
  expect(output).toMatch(/tools\.undeclared\.drop_orders: [^]*drop_orders .* undeclared/);
  expect(report.matrix).toContainEqual(
    expect.objectContaining({ name: 'drop_orders', verdict: 'undeclared' }),
  );
});

/** Calls its model once and ends. Never listens. */
const SCRIPT = `
fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'gpt-5', messages: [] }),
}).then((response) => response.text());
`;

/** The environment of an agent whose vendor is the fake one. */
const vendorEnv = () => ({
  OPENAI_API_KEY: 'k',
  OPENAI_BASE_URL: `http://127.0.0.1:${(vendor.address() as AddressInfo).port}/v1`,
});

const start = (args: readonly string[], command: readonly string[], env = {}): Promise<Ended> =>
  runBuiltCommand(['run', ...args, '--', process.execPath, ...command], {
    cwd,
    env: { ...vendorEnv(), ...env },
  });

describe('a script that ends', () => {
  test('has no issue about endpoints, and its tokens are observed', async () => {
    const { output, errors, exitCode } = await start([], ['-e', SCRIPT]);
    expect(exitCode).toBe(0);
    expect(output).toContain('The agent never listened on port');
    expect(output).not.toMatch(/healthcheckable|discoverable/);
    expect(output).toMatch(/tokens +prompt +\? +\? +3 /);
    expect(output).toMatch(
      /Not stopped, because --mode is track:\n {2}1 call: tool_not_declared \(drop_orders\)\n/,
    );
    expect(output).toContain('Seen and not declared:\n  tool drop_orders\n');
    expect(errors).toMatch(/first call with model gpt-5\n/);
    expect(errors).toMatch(/first call with tool drop_orders - not declared\n/);
    expect(errors).toMatch(/violates tool_not_declared\n/);
  });

  test('gets its empty arguments', async () => {
    const { output } = await start([], ['-e', 'console.log(process.argv.slice(1))', 'a', '', 'b']);
    expect(output).toContain("[ 'a', '', 'b' ]");
  });

  test('without a call through a lane has the reason', async () => {
    writeFileSync(
      join(cwd, 'client.py'),
      'client = OpenAI(\n    base_url="https://api.example.com/v1",\n)\n',
    );
    const { output } = await start([], ['-e', '0']);
    rmSync(join(cwd, 'client.py'));
    expect(output).toContain('client.py:2 sets a base URL in the code');
    expect((await start([], ['-e', '0'])).output).toContain('does not read OPENAI_BASE_URL');
    expect((await start(['--no-lanes'], ['-e', '0'])).output).toContain('Leave out --no-lanes');
  });
});

describe('without a manifest', () => {
  test('the commands that make one are named', async () => {
    const { errors, exitCode } = await start(['--manifest', 'none.yaml'], ['-e', '0']);
    expect(exitCode).toBe(1);
    expect(errors).toContain('error: none.yaml does not exist\n');
    expect(errors).toMatch(/platform run --learn -- .* '-e' 0\n[^]*platform scan --dir \. --no-llm\n/);
  });

  test('--learn writes what the agent did, and overwrites nothing', async () => {
    const before = readFileSync(join(cwd, 'agent.yaml'), 'utf8');
    const { output, exitCode } = await start(['--learn'], ['-e', SCRIPT]);
    expect(exitCode).toBe(0);
    expect(output).toContain('wrote agent.learned.yaml\n');
    expect(readFileSync(join(cwd, 'agent.yaml'), 'utf8')).toBe(before);
    const learned = readFileSync(join(cwd, 'agent.learned.yaml'), 'utf8');
    expect(learned).toContain('id: gpt-5 # requested once on lane openai\n');
    expect(learned).toContain('- name: drop_orders # called once\n');
    expect((await start(['--learn'], ['-e', SCRIPT])).output).toContain('wrote agent.learned-2.yaml\n');
    const again = await start(['--manifest', 'agent.learned.yaml'], ['-e', SCRIPT]);
    expect(again.output).not.toContain('undeclared');
  });

  test('--learn writes no agent.yaml next to a manifest with another usual name', async () => {
    renameSync(join(cwd, 'agent.yaml'), join(cwd, 'agent.yml'));
    try {
      expect((await start(['--learn'], ['-e', SCRIPT])).output).toContain('wrote agent.learned-3.yaml\n');
    } finally {
      renameSync(join(cwd, 'agent.yml'), join(cwd, 'agent.yaml'));
    }
  });

  test.each([[['--learn']], [[]]])('with %j, --output is not the manifest', async (options) => {
    const before = readFileSync(join(cwd, 'agent.yaml'), 'utf8');
    const { exitCode, errors } = await start([...options, '--output', 'agent.yaml'], ['-e', SCRIPT]);
    expect({ exitCode, errors }).toEqual({
      exitCode: 1,
      errors: expect.stringContaining('error: cannot write agent.yaml: '),
    });
    expect(readFileSync(join(cwd, 'agent.yaml'), 'utf8')).toBe(before);
  });

  test('--learn writes nothing if no call succeeded', async () => {
    const { errors, exitCode } = await start(['--learn', '--manifest', 'x.yaml'], ['-e', '0']);
    expect({ exitCode, exists: existsSync(join(cwd, 'x.yaml')) }).toEqual({ exitCode: 1, exists: false });
    expect(errors).toContain('no call succeeded');
  });
});

describe('each default port is taken', () => {
  const DEFAULTS = [8000, 4000, 4001, 4002];
  const OTHER = `
    const { createServer } = require('node:http');
    const answer = (request, response) => response.end('{"status":"ok","error":"of another program"}');
    for (const port of [${DEFAULTS.join()}]) createServer(answer).listen(port, '127.0.0.1').on('error', () => {});
    setTimeout(() => require('node:fs').writeFileSync('taken', ''), 200);
  `;

  const until = async (isReady: () => boolean): Promise<void> => {
    while (!isReady()) await sleep(20);
  };
  const isTaken = () => existsSync(join(cwd, 'taken'));

  async function expectOwnRun(): Promise<void> {
    const { output, errors, exitCode } = await start([], ['agent.cjs']);
    expect({ exitCode, errors }).toEqual({
      exitCode: 3,
      errors: expect.stringMatching(/8000 is in use[^]*4001 is in use[^]*4002 is in use/),
    });
    expect(errors).toContain('(4000 is in use)');
    expect(output).toMatch(/tool +drop_orders +no +\? +yes +undeclared/);
    expect(errors + output).not.toMatch(/another program|never listened/);
  }

  let other: ChildProcess | null = null;
  const startOther = async (): Promise<ChildProcess> => {
    other = spawn(process.execPath, ['-e', OTHER], { cwd });
    await until(isTaken);
    return other;
  };

  afterEach(async () => {
    other?.kill('SIGKILL');
    if (other?.exitCode === null) await once(other, 'close');
    other = null;
    rmSync(join(cwd, 'taken'), { force: true });
  });

  test('by another program', async () => {
    await startOther();
    await expectOwnRun();
  });

  test('by a process that does not run any more', async () => {
    await stopProcess((await startOther()).pid ?? 0);
    await expectOwnRun();
  });

  test('by another sidecar', async () => {
    const wait = `
      const { existsSync, writeFileSync } = require('node:fs');
      require('node:http').createServer((_, response) => response.end('of another program')).listen(8000, '127.0.0.1', () => {
        writeFileSync('taken', '');
        setInterval(() => existsSync('taken') || process.exit(), 20);
      }).on('error', () => process.exit(1));
    `;
    const sidecar = start([], ['-e', wait]);
    await Promise.race([until(isTaken), sidecar]);
    await expectOwnRun();
    rmSync(join(cwd, 'taken'));
    expect((await sidecar).exitCode).toBe(0);
  });

  test('and given by an option, is an error', async () => {
    await startOther();
    const { errors, exitCode } = await start(['--control-port', '4001'], ['-e', '0']);
    expect({ errors, exitCode }).toEqual({
      exitCode: 1,
      errors: 'error: port 4001 (--control-port) is in use or not allowed; choose another one\n',
    });
  });
});
