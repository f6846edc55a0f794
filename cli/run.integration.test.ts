import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { freePorts } from '../examples/demo/free-ports.ts';
import { runBuiltCommand, type Ended } from '../testing/built-command.ts';
import { manifestText } from '../testing/sidecar-rig.ts';

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
const ANSWER = {
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
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(ANSWER)),
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

test('platform run reports the last call of an agent that ends with it, and the endpoints as it answered them', async () => {
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
