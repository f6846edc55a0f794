import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { startAgentServers, type AgentServers } from '../testing/sidecar/agent-servers.ts';
import { COMMAND_BUNDLE } from '../testing/machine/built-command.ts';
import { COMPILE_CACHE } from '../testing/machine/compile-cache.ts';
import { manifestText } from '../testing/manifests/manifest-text.ts';
import { McpTestClient } from '../testing/sidecar/mcp-client.ts';

/** The built command over stdio, with the official client, a real sidecar and a real control plane. */

let servers: AgentServers;
let cwd: string;
let client: McpTestClient | null = null;

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'mcp-bundle-'));
  writeFileSync(join(cwd, 'agent.yaml'), manifestText());
  writeFileSync(join(cwd, 'shop.yaml'), manifestText().replace('name: minimal', 'name: shop'));
  servers = await startAgentServers();
  await servers.report('travel', {
    usage: { windowStartedAt: '2026-03-01T09:59:00.000Z', models: [], totalTokens: 0, totalCalls: 0 },
  });
});
afterEach(async () => {
  await client?.close();
  client = null;
});
afterAll(async () => {
  await servers?.close();
  rmSync(cwd, { recursive: true, force: true });
});

async function connect(args: readonly string[], env: Record<string, string>): Promise<McpTestClient> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [COMMAND_BUNDLE, 'mcp', ...args],
    cwd,
    env: { ...COMPILE_CACHE, ...env },
    stderr: 'inherit',
  });
  client = await McpTestClient.connect(transport);
  return client;
}

test('every tool works in sidecar mode, and the resources', async () => {
  const call = await connect(['--allow-writes'], { PLATFORM_SIDECAR_URL: servers.sidecarUrl });
  const tools = (await call.client.listTools()).tools.map(({ name }) => name);
  expect(tools).toHaveLength(10);
  const proof = { ruleId: 'SEC-LLM-08', verifiedBy: 'qa', method: 'tested' };
  expect(await call.result('submit_proof', proof)).toMatchObject({ ...proof, origin: 'local' });
  expect(await call.result('get_proofs')).toMatchObject({ proofs: [proof] });
  expect(await call.result('get_gap', { agentName: 'shop' })).toMatchObject({ grade: expect.any(String) });
  expect(await call.result('get_health')).toMatchObject({ agentName: 'shop' });
  expect(await call.result('get_usage')).toMatchObject({ totalCalls: 0 });
  expect(await call.result('explain_rule', { rule: 'SEC-LLM-08' })).toMatchObject({ rule: 'SEC-LLM-08' });
  expect(await call.result('validate_manifest', { path: 'agent.yaml' })).toMatchObject({ valid: true });
  expect(await call.result('audit_manifest', { path: 'shop.yaml', proved: true })).toMatchObject({
    countedProofs: [{ ruleId: 'SEC-LLM-08', origin: 'local' }],
  });
  const paths = { from: { path: 'agent.yaml' }, to: { path: 'shop.yaml' } };
  expect(await call.result('diff_manifests', paths)).toMatchObject({
    changes: [{ property: 'metadata.name', code: 'other-change' }],
  });
  expect(await call.failure('validate_manifest', { path: '/etc/passwd' })).toMatch(/outside/);
  const { resources } = await call.client.listResources();
  expect(resources.map(({ name }) => name)).toEqual(['schema', 'rules', 'agent.yaml']);
  expect(JSON.parse(await call.resource('agent-compliance://schema'))).toMatchObject({ type: 'object' });
});

test('every tool about agents works in operator mode, where arguments override the environment', async () => {
  const { controlPlaneUrl, adminKey } = servers;
  const call = await connect([], {
    PLATFORM_CONTROL_PLANE_URL: 'http://127.0.0.1:9',
    PLATFORM_ADMIN_KEY: 'a-wrong-key-of-the-environment',
  });
  const target = { controlPlaneUrl, adminKey };
  expect(await call.result('list_agents', target)).toMatchObject({
    agents: [{ agentName: 'travel' }],
    total: 1,
  });
  const agent = { agentName: 'travel', ...target };
  expect(await call.result('get_gap', agent)).toMatchObject({ score: 100, instance: 'i-1' });
  expect(await call.result('get_health', agent)).toMatchObject({ status: 'healthy' });
  expect(await call.result('get_usage', agent)).toMatchObject({ totalTokens: 0 });
  expect(await call.result('get_proofs', agent)).toMatchObject({ proofs: [] });
  expect(await call.failure('submit_proof', agent)).toMatch(/not found/);
  expect(await call.failure('get_gap', { agentName: 'travel' })).toMatch(
    /cannot connect to the control plane/,
  );
});

const HELLO = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a-test', version: '1' } },
};

/** Starts the command without a client library. */
function start(): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [COMMAND_BUNDLE, 'mcp'], {
    cwd,
    env: { ...COMPILE_CACHE },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.write(`${JSON.stringify(HELLO)}\n`);
  return child;
}

test('standard output contains only the protocol, and the process ends with standard input', async () => {
  const child = start();
  child.stdin.end();
  const [output, errors, [exitCode]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  expect(JSON.parse(output)).toMatchObject({ id: 1, result: { serverInfo: { name: 'agent-compliance' } } });
  expect([errors, exitCode]).toEqual(['', 0]);
});

test('the process ends at SIGTERM, while standard input is open', async () => {
  const child = start();
  await once(child.stdout, 'data');
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});

test('only this command loads the SDK: the bundle of the other commands does not contain it', () => {
  const inputsOf = (part: string): string[] => {
    const path = join(dirname(COMMAND_BUNDLE), '..', part, 'meta.json');
    return Object.keys((JSON.parse(readFileSync(path, 'utf8')) as { inputs: object }).inputs);
  };
  const isOfSdk = (input: string) => /node_modules\/(?:@modelcontextprotocol|zod)\//.test(input);
  expect(inputsOf('cli').filter(isOfSdk)).toEqual([]);
  expect(inputsOf('cli-mcp').some(isOfSdk)).toBe(true);
});
