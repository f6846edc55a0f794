import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runBuiltCommand } from '../testing/machine/built-command.ts';

/** The contract's command table and command rules, with the built command. The titles quote the contract. */

const KEY = { KEY: 'k' };
const HEAD = `apiVersion: platform.io/v1
kind: PlatformAgent
metadata: { name: shop, version: 1.0.0, description: Sells things. }
spec:
`;
const MODEL = '  model: { provider: openai, id: gpt-5, apiKey: $env:KEY }\n';
const GUARDRAIL = '  guardrails: { input: [{ type: pii-detector }] }\n';
const SERVICE = '  requires: { services: [{ name: db, address: "127.0.0.1:1" }] }\n';
const EVALUATION = '  evaluation: { framework: deepeval, datasets: [{ name: smoke, path: smoke.jsonl }] }\n';
const TRACING = '  observability: { tracing: { backend: langfuse } }\n';
const AGENT = HEAD + MODEL + GUARDRAIL + SERVICE + EVALUATION + TRACING;
const gated = (threshold: number) =>
  AGENT.replace('smoke.jsonl }]', `smoke.jsonl }], ciGate: true, thresholds: { pass_rate: ${threshold} }`);
const FILES: Readonly<Record<string, string>> = {
  'agent.yaml': AGENT,
  'same.yaml': AGENT,
  'bad.yaml': `${AGENT}  tols: []\n`,
  'low-gate.yaml': gated(0.5),
  'high-gate.yaml': gated(0.9),
  'old.yaml': AGENT.replace('platform.io/v1', 'platform.io/v1alpha1'),
  'pod.yaml': 'apiVersion: v1\nkind: Pod\n',
  'smoke.jsonl': ['Paris', 'Rome']
    .map((expected) => `${JSON.stringify({ input: 'x', expected })}\n`)
    .join(''),
};

let cwd: string;
let agent: Server;
let url: string;

beforeAll(async () => {
  agent = createServer((_request, response) => response.end(JSON.stringify({ response: 'It is paris.' })));
  await new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(agent.address() as AddressInfo).port}`;
  cwd = mkdtempSync(join(tmpdir(), 'contract-'));
});
afterAll(async () => {
  rmSync(cwd, { recursive: true, force: true });
  agent.closeAllConnections();
  await new Promise((resolve) => agent.close(resolve));
});
beforeEach(() => {
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(cwd, name), text);
});

const read = (name: string) => readFileSync(join(cwd, name), 'utf8');
const platform = (command: string, env: Record<string, string> = {}) =>
  runBuiltCommand(command.replace('URL', url).split(' '), { cwd, env });

describe('exit codes', () => {
  test.each<[title: string, command: string, code: 0 | 1, shows: RegExp, env?: Record<string, string>]>([
    ['init: --yes minimal manifest without prompts', 'init first --yes', 0, /wrote first\/agent\.yaml/],
    ['init: never overwrites', 'init . --yes', 1, /already exists/],
    ['validate: 0 valid', 'validate agent.yaml', 0, /is valid/],
    ['validate: 1 invalid', 'validate bad.yaml', 1, /bad\.yaml:\d+:\d+ spec\.tols/],
    ['validate: --json', 'validate bad.yaml --json', 1, /"valid": false/],
    ['health: 0 healthy or degraded by default', 'health agent.yaml --no-model', 0, /degraded/, KEY],
    ['health: --fail-on', 'health agent.yaml --no-model --fail-on warning', 1, /degraded/, KEY],
    ['health: 1 when the threshold is met', 'health agent.yaml --no-model --json', 1, /"unhealthy"/],
    ['audit: 0 complete', 'audit agent.yaml', 0, /declared score +\d+\/100 grade [A-F]/],
    ['audit: --pack', 'audit agent.yaml --pack observability --json', 0, /"pack": "observability"/],
    ['audit: 1 below threshold', 'audit agent.yaml --fail-below 100', 1, /below 100/],
    ['generate: 1 unknown framework', 'generate agent.yaml --framework x', 1, /langgraph, crewai, mastra/],
    ['generate: 1 unknown deploy target', 'generate agent.yaml --deploy x', 1, /k8s, helm/],
    ['generate: 1 missing key', 'generate agent.yaml --framework crewai', 1, /ANTHROPIC_API_KEY/],
    ['generate: --dry-run', 'generate agent.yaml --deploy k8s --dry-run', 0, /kind: Deployment/],
    ['generate-policy: --json prints the rule set', 'generate-policy agent.yaml --json', 0, /^\{/],
    ['export: agentcard', 'export agent.yaml --format agentcard', 0, /"name": "shop"/],
    ['export: agents-md-block', 'export agent.yaml --format agents-md-block', 0, /<!--/],
    ['scan: 1 auth missing', 'scan --dir .', 1, /no |error/],
    ['provider-status: 1 otherwise', 'provider-status --json', 1, /"selected": null/],
    [
      'provider-status: 0 when at least one is ready',
      'provider-status',
      0,
      /anthropic-api/,
      { ANTHROPIC_API_KEY: 'sk-ant-0123456789' },
    ],
    ['diff: 0 no drift', 'diff agent.yaml same.yaml --exit-code', 0, /no change/],
    ['diff: 0 drift without --exit-code', 'diff agent.yaml low-gate.yaml', 0, /LOW|MEDIUM/],
    ['diff: 1 drift with --exit-code', 'diff agent.yaml low-gate.yaml --exit-code', 1, /LOW|MEDIUM/],
    ['evaluate: 0 no ciGate', 'evaluate agent.yaml --url URL --dataset smoke', 0, /1 of 2 passed/],
    [
      'evaluate: 0 complete',
      'evaluate low-gate.yaml --url URL --dataset smoke',
      0,
      /1 FAILED +1 of 2 passed/,
    ],
    ['evaluate: 1 ciGate threshold not met', 'evaluate high-gate.yaml --url URL --dataset smoke', 1, /FAIL/],
    ['evaluate: --url required', 'evaluate agent.yaml --dataset smoke', 1, /--url/],
    ['migrate: 0 up to date', 'migrate agent.yaml', 0, /current|up to date/],
    ['migrate: 0 migrated', 'migrate old.yaml', 0, /apiVersion/],
    ['migrate: 1 no migration path', 'migrate pod.yaml', 1, /no migration exists/],
  ])('%s', async (_title, command, ...wanted) => {
    const [code, shows, env = {}] = wanted;
    const { output, errors, exitCode } = await platform(command, { HOME: cwd, ...env });
    expect({ exitCode, shown: output + errors }).toEqual({
      exitCode: code,
      shown: expect.stringMatching(shows),
    });
    if (command.endsWith('--json')) expect(() => JSON.parse(output) as unknown).not.toThrow();
  });
});

describe('files', () => {
  test('generate-policy: --out writes policy.rego and data.json', async () => {
    await platform('generate-policy agent.yaml --out policy');
    expect(read('policy/policy.rego')).toContain('pii_detector_not_invoked');
    expect(JSON.parse(read('policy/data.json'))).toEqual(expect.any(Object));
  });

  test('generate: --push writes .env.platform with placeholders', async () => {
    await platform('generate agent.yaml --push --output pushed');
    expect(read('pushed/.env.platform')).toMatch(/^PLATFORM_URL=<?\S+[^]*^PLATFORM_KEY=<PLATFORM_KEY>$/m);
  });

  test('audit: --output <file>', async () => {
    await platform('audit agent.yaml --json --output audit.json');
    expect(JSON.parse(read('audit.json'))).toMatchObject({ totalRules: 27 });
  });

  test('migrate: --dry-run changes nothing, -o writes another file, without them the file is replaced', async () => {
    const old = read('old.yaml');
    await platform('migrate old.yaml --dry-run');
    expect(read('old.yaml')).toBe(old);
    await platform('migrate old.yaml -o lifted.yaml');
    expect([read('old.yaml'), read('lifted.yaml')]).toEqual([old, AGENT]);
    await platform('migrate old.yaml');
    expect(read('old.yaml')).toBe(AGENT);
    await platform('migrate agent.yaml');
    expect(read('agent.yaml')).toBe(AGENT);
    expect(existsSync(join(cwd, 'agent.yaml.new'))).toBe(false);
  });
});

describe('diff: scoreFrom is always 100; severity and impact', () => {
  test.each<[change: string, text: string, severity: string, most: number, least: number]>([
    ['guardrail removed', AGENT.replace(GUARDRAIL, ''), 'HIGH', -15, -10],
    ['key reference removed', AGENT.replace('$env:KEY', 'literal'), 'HIGH', -15, -10],
    ['model name changed', AGENT.replace('gpt-5', 'gpt-4'), 'MEDIUM', -8, -5],
    ['provider changed', AGENT.replace('openai', 'groq'), 'MEDIUM', -8, -5],
    ['eval hooks removed', AGENT.replace(EVALUATION, ''), 'MEDIUM', -8, -5],
    ['tool added', `${AGENT}  tools: [{ name: search }]\n`, 'LOW', -3, 0],
    ['observability removed', AGENT.replace(TRACING, ''), 'LOW', -3, 0],
  ])('%s', async (_change, text, severity, ...range) => {
    writeFileSync(join(cwd, 'next.yaml'), text);
    const { output } = await platform('diff agent.yaml next.yaml --json');
    const report = JSON.parse(output) as {
      scoreFrom: number;
      changes: { severity: string; scoreImpact: number }[];
    };
    expect(report.scoreFrom).toBe(100);
    const [worst] = report.changes;
    expect(worst?.severity).toBe(severity);
    expect(worst?.scoreImpact).toBeGreaterThanOrEqual(range[0]);
    expect(worst?.scoreImpact).toBeLessThanOrEqual(range[1]);
  });
});
