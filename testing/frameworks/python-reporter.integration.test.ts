// The reporter of generated Python projects gives the results of the reporter for Node.js.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseEventBatch } from '../../core/shapes/events.ts';
import type { Check } from '../../core/shapes/health.ts';
import { parseAgentReport } from '../../core/health/parse-agent-report.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { NO_CODE } from '../../authoring/scaffold/written-code.ts';
import { projectOf } from '../../authoring/scaffold/project.ts';
import { parseUsageReport } from '../../core/usage/parse-usage-report.ts';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { runChecks } from '../../reporter/health-checks.ts';
import { createRequestBehavior } from '../../reporter/request-behavior.ts';
import fc, { anyCharacter } from '../random/properties.ts';
import { pythonInterpreter } from '../machine/python-interpreter.ts';

const PYTHON = pythonInterpreter(11);
if (PYTHON === undefined)
  process.stderr.write('SKIPPED: Python 3.11 is missing: required by the Python reporter\n');
const withPython = PYTHON === undefined ? describe.skip : describe;

const folder = mkdtempSync(join(tmpdir(), 'python-reporter-'));
let api: Server;
let address: string;
let closed: number;
const batches: unknown[] = [];

beforeAll(async () => {
  [closed = 0] = await freePorts(1);
  api = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    request.on('end', () => {
      if (request.url === '/events') batches.push(JSON.parse(text));
      const isRejected = request.headers['x-api-key'] === 'rejected';
      response.writeHead(isRejected ? 401 : 200).end('{}');
    });
  });
  api.listen(0, '127.0.0.1');
  await once(api, 'listening');
  address = `127.0.0.1:${(api.address() as AddressInfo).port}`;
});
afterAll(() => {
  api?.close();
  rmSync(folder, { recursive: true, force: true });
});

const manifestText = (): string => `
apiVersion: platform.io/v1
kind: PlatformAgent
metadata: { name: orders, version: 1.0.0, description: Orders }
spec:
  model:
    provider: openai
    id: gpt-4o-mini
    apiKey: $secret:openai-key
    fallback: { provider: anthropic, id: claude, apiKey: $env:ANTHROPIC_API_KEY }
  prompts: { system: '$file:prompts/system.md', fallback: '$file:missing.md' }
  tools: [{ name: search }, { name: 'Löschen, alles' }, { name: missing }]
  mcp:
    servers:
      - { name: closed, transport: http, host: 127.0.0.1, port: ${closed} }
      - { name: process, transport: stdio, command: sh }
      - { name: no-process, transport: stdio, command: not-a-command, env: { KEY: $env:EMPTY } }
  memory:
    backend: store
    shortTerm: { maxTurns: 1 }
    longTerm: { backend: store, connectionString: $env:STORE_URL }
    vector: { backend: vectors }
  requires:
    envVars: [STORE_URL, UNSET]
    services:
      - { name: open, address: '${address}', critical: true }
      - { name: closed, address: 'tcp://user:pa@ss@127.0.0.1:${closed}/x' }
      - { type: queue }
      - { name: unset, address: $env:UNSET }
      - { name: no-port, address: 'unknown://host' }
      - { type: vectors, address: '${address}' }
  observability: { tracing: { backend: otel, endpoint: 'http://127.0.0.1:${closed}/v1', secretKey: $secret:missing } }
`;

const environment = (): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  OPENAI_BASE_URL: `http://${address}/v1`,
  ANTHROPIC_BASE_URL: `http://${address}`,
  ANTHROPIC_API_KEY: 'rejected',
  PLATFORM_SECRET_OPENAI_KEY: 'key',
  PLATFORM_SIDECAR_URL: `http://${address}`,
  STORE_URL: `store://${address}`,
  EMPTY: '',
});

/** Runs a program that has `manifest`, `reporter` and `given`. Returns the JSON that it prints. */
async function python(manifest: Manifest, program: string, given: unknown = null): Promise<unknown> {
  const input = { manifest, manifestText: manifestText(), framework: 'langgraph', written: NO_CODE } as const;
  for (const { path, content } of projectOf({ ...input, version: '' }).files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  const head = `import json, sys
from pathlib import Path
from platform_reporter import References, Reporter
manifest, given = json.load(sys.stdin)
reporter = Reporter(manifest, References(Path(".")), tools=lambda: ["search", "Löschen, alles"])
`;
  writeFileSync(join(folder, 'program.py'), head + program);
  const child = spawn(PYTHON ?? '', ['program.py'], {
    cwd: folder,
    env: { ...environment(), PYTHONDONTWRITEBYTECODE: '1', PYTHONIOENCODING: 'utf-8' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let [output, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  child.stdin.end(JSON.stringify([manifest, given]));
  await once(child, 'close');
  if (child.exitCode !== 0) throw new Error(errors);
  return JSON.parse(output);
}

function parsed(): Manifest {
  const result = parseManifest(manifestText());
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.manifest;
}

const outcomes = (checks: readonly Check[]) =>
  checks.map(({ id, category, status, severity }) => `${id} ${category} ${status} ${severity}`).toSorted();

withPython('the reporter for Python', () => {
  test('has the checks of the reporter for Node.js', async () => {
    const manifest = parsed();
    const found = await python(manifest, 'print(json.dumps(reporter.report()))');
    const report = parseAgentReport(found, { agentName: 'orders', at: new Date() });
    if (!report.ok) throw new Error(JSON.stringify(report.invalid));
    const registeredTools = new Set(['search', 'Löschen, alles']);
    const { health } = await runChecks(
      { manifest, now: () => new Date(), registeredTools },
      folder,
      environment(),
    );
    expect(outcomes((found as { checks: Check[] }).checks)).toEqual(outcomes(health.checks));
    expect(found).toMatchObject({ status: health.status, summary: health.summary });
    expect(health.checks.length).toBeGreaterThan(20);
  });

  test('encodes names in headers as the reporter for Node.js', async () => {
    const name = fc.string({ unit: anyCharacter(), maxLength: 30 }).map((text) => `n${text}`);
    const lists = [
      ...fc.sample(fc.array(name, { maxLength: 8 }), 200),
      [],
      ['a', 'a', 'x,y', '100%', 'löschen'],
      Array.from({ length: 60 }, (_, index) => `${index}`.repeat(60)),
    ];
    const program = `
def headers(names):
    behavior = reporter.behavior(None)
    for name in names:
        behavior.guardrail(name)
        behavior.tool(name)
    behavior.confirmed(len(names) == 0)
    return behavior.headers()

print(json.dumps([headers(names) for names in given]))
`;
    const found = (await python(parsed(), program, lists)) as Record<string, string>[];
    const lowerCase = (headers: Record<string, string>) =>
      Object.fromEntries(Object.entries(headers).map(([key, value]) => [key.toLowerCase(), value]));
    expect(found.map(lowerCase)).toEqual(lists.map(nodeHeaders));
  });

  test('sends events that the sidecar accepts, and counts tokens', async () => {
    batches.length = 0;
    const program = `
behavior = reporter.behavior("r-1")
behavior.guardrail("toxicity-filter", blocked=False, score=0.25)
behavior.guardrail("custom", invoked=False)
behavior.tool("Löschen, alles", success=True, latency_ms=12)
behavior.model("gpt-4o-mini", 3, 2)
behavior.model("gpt-4o-mini", -1, True)
behavior.headers()
for number in range(30):
    behavior.tool("late" * 200)
behavior.send()
without = reporter.behavior(None)
without.tool("search", success=True)
without.model("gpt-4o-mini", 10, 20)
without.send()
reporter.stop()
print(json.dumps(reporter.usage()))
`;
    const usage = await python(parsed(), program);
    expect(parseUsageReport(usage)).toMatchObject({ totalTokens: 35, totalCalls: 2 });
    const read = batches.map(parseEventBatch);
    expect(read.map(({ ok }) => ok)).toEqual([true, true, true]);
    const events = read.flatMap((each) => (each.ok ? each.value.events : []));
    expect(events.slice(0, 4)).toEqual([
      { type: 'guardrail', guardrailType: 'toxicity-filter', invoked: true, blocked: false, score: 0.25 },
      { type: 'guardrail', guardrailType: 'custom', invoked: false },
      { type: 'tool', name: 'Löschen, alles', success: true, latencyMs: 12 },
      { type: 'model', modelId: 'gpt-4o-mini', promptTokens: 3, completionTokens: 2 },
    ]);
    expect(events).toHaveLength(35);
    expect(batches.at(-1)).toMatchObject({
      requestId: null,
      agentName: 'orders',
      events: [{ promptTokens: 10 }],
    });
  });
});

/** The headers that the reporter for Node.js sets for these names. */
function nodeHeaders(names: readonly string[]): Record<string, string> {
  const behavior = createRequestBehavior({
    response: null,
    sendEvent: () => true,
    countUsage: () => true,
    onLost: () => undefined,
  });
  for (const name of names) {
    behavior.guardrail(name);
    behavior.tool(name);
  }
  behavior.confirmed(names.length === 0);
  return behavior.headers();
}
